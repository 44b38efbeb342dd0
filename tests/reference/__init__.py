"""An independent exact model, used by the tests alone."""
