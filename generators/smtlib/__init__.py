"""The project's questions as benchmarks of SMT solvers, in the form of the SMT-LIB collection.

``questions.py`` chooses them, ``status.py`` says what is known of each and how, and ``write.py`` writes them.
"""
