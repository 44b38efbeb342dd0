"""The reference pages of the documentation, written from the data that they are about."""
