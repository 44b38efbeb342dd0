"""What no recording decides of the rows of the catalogue, and the vectors that would."""
