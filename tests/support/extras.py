"""Why tests are skipped where an extra is not installed."""

PYTORCH = "PyTorch is not installed: make test-torch runs these tests in an environment that has it"
JAX = "JAX is not installed: pip install jax, and run these tests in that environment"
