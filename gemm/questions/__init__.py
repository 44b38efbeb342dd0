"""Questions about error-corrected GEMM algorithms: what they return, and what their splits lose."""
