"""Answers of commands as one HTML file: tables that can be sorted, and witnesses that fold open to their pictures.

``page`` writes each kind of answer as tables and documents, and ``witnesses`` draws operands. A page
needs nothing but itself: no other file, no network, and no script to be read (a script only sorts).
"""
