"""The instructions of NVIDIA GPUs as kernels: operand layouts, source, compilation, and the devices that run them."""
