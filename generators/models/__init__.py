"""Models for other tools: the graph of a design printed in C, CUDA C++ and SystemVerilog, with files that test it."""
