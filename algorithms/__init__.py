"""Error-corrected GEMM algorithms, as programs over the units that designs describe."""
