"""The algebra of words and truth values, and its interpretations.

``integers`` and ``arrays`` compute; ``terms`` builds formulas and is the only one that needs pySMT.
"""
