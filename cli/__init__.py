"""The command line; see the contract in the README. No logic of its own."""
