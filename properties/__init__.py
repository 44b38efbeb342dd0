"""Questions about designs: what is asked, for which operands, and what a witness means."""
