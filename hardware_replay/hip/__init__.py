"""The instructions of AMD GPUs as kernels: operand layouts and source, for HIP programs that others compile and run."""
