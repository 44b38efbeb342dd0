"""Vectors made on purpose: suites, disputes, coverage, identification, and the files that hold them."""
