"""Answers about error-corrected GEMM algorithms: comparisons, checks of splits, statistics and bounds."""
