"""Answers as data: one frozen dataclass for each kind, of which text, JSON, the JSON schema and pages are renderings.

``answer`` says what an answer is, and writes, describes and reads one as JSON. ``parts`` has what several kinds share,
``verdicts`` the answers to one question, and ``others`` those that list or count. ``commands`` says what each command
prints.
"""
