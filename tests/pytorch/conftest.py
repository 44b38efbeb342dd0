"""Kernels of Triton are interpreted in all tests of this folder: PyTorch imports Triton, which looks at this once."""

import os

os.environ["TRITON_INTERPRET"] = "1"
