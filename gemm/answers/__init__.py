"""Verdicts on error-corrected GEMM algorithms: comparisons, checks of splits, measured errors and bounds."""
