"""What tests share: designs and operands, stand-ins for solvers, and how commands are run and read."""
