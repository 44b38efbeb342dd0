"""mmaproof: a formal model and test generator for matrix-multiply-accumulate units."""
