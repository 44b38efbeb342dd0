"""Tiles that are configured to a K below the instruction's: no product is made of elements that are not there."""

from dataclasses import replace

import numpy as np
import pytest
from reference.designs import reference_result

from mmaproof.algorithms.plans import matmul as plan_matmul  # noqa: F401
