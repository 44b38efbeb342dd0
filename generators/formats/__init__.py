"""File formats: vectors, programs and queries as text that other tools read."""
