"""An instruction as a kernel, whatever the vendor: where its operands lie, and the source that issues it."""
