"""Questions about designs: the claim, its operands, and what a witness means."""
