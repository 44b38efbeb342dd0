"""`mmaproof gemm`: error-corrected GEMM algorithms on a unit."""
