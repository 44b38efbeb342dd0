"""Matrix products as programs: plans and algorithms, questions about them, tolerances, and which kernel it was."""
