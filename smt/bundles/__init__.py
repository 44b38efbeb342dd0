"""Proof bundles: everything that a stranger needs to check a proved claim again (docs/bundle.md)."""
