"""Designs as machine operations: lowered to a graph, compiled for this CPU, run on rows and on matrices."""
