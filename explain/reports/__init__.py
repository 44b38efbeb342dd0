"""Answers of commands as one HTML file: tables that can be sorted, and witnesses that fold open to their pictures.

``record`` reads the JSON that commands print, ``page`` writes tables and documents, ``witnesses`` draws operands,
``answers`` are those about one question, and ``kinds`` knows the outputs of the other commands. A page needs nothing
but itself: no other file, no network, and no script to be read (a script only sorts).
"""
