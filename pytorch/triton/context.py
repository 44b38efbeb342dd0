"""The context in which ``tl.dot`` and ``tl.dot_scaled`` of Triton's interpreter return the bits of a unit.

Triton makes all of a block of one ``tl.dot``: instructions take its k in turns, and the accumulator is handed on. Fp32
operands are split as ``lib/Dialect/TritonGPU/Transforms/F32DotTC.cpp`` does since pull request 4934: the small products
of the whole block come first, and the accumulator is added to the sum. FP8 sums of ``wgmma`` leave the unit after
``max_num_imprecise_acc`` elements (``DotOpToLLVM/WGMMA.cpp``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import triton.language as tl
from triton import knobs
from triton.runtime import interpreter

from mmaproof.designs.design import Design
from mmaproof.designs.errors import EmulationError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, patterns_of, values_of
from mmaproof.gemm.programs import Plan, read_plan
from mmaproof.gemm.programs.named import find_plan
from mmaproof.hardware_replay.emulation import matmul

_FORMATS = {
    "fp16": "fp16",
    "bf16": "bf16",
    "fp32": "fp32",
    "fp64": "fp64",
    "int8": "int8",
    "int32": "int32",
    "fp8e5": "e5m2",
    "fp8e4nv": "e4m3",
    "fp8e5b16": "e5m2fnuz",
    "fp8e4b8": "e4m3fnuz",
}
"""Types of Triton and their formats."""
_SPLIT = {
    "TF32X3": ("tf32", "3xtf32@schedule=gemm,c=last"),
    "BF16X3": ("bf16", "bf16x3@c=last"),
    "BF16X6": ("bf16", "bf16x6@c=last"),
}
"""``input_precision`` of fp32 operands that are split: the format of their words, and the algorithm."""
_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_NEVER = 1 << 30
"""What Triton takes for ``max_num_imprecise_acc`` on sm_90 where a kernel does not say it."""


@contextmanager
def emulating(*units: Design | Plan | str) -> Iterator[None]:
    """Let ``tl.dot`` and ``tl.dot_scaled`` of interpreted kernels return what these units and plans do.

    Which one is taken follows from the formats of the operands; no two may take the same. ``input_precision`` of fp32
    operands says whether a unit of tf32 or one of fp32 (``ieee``) takes them, or whether they are split into words of
    tf32 or bf16. The interpreter is one for all threads, so the context holds for all of them.

    Raises EmulationError, here or in a kernel, for what is not emulated: other formats, an accumulator that is none of
    the unit's, a block whose k is not a multiple of the instruction's; DesignError and InputError for what names no
    unit.
    """
    if not knobs.runtime.interpret or not isinstance(tl.cdiv, interpreter.InterpretedFunction):
        raise EmulationError(
            "kernels are not interpreted: set TRITON_INTERPRET=1 before Triton and PyTorch are imported"
        )
    dots = _Dots(_checked(units))
    builder = interpreter.interpreter_builder
    before = builder.options
    names = ("create_dot", "create_dot_scaled")
    held = {x: vars(builder)[x] for x in names if x in vars(builder)}
    builder.options = replace(before, allowed_dot_input_precisions=_PRECISIONS, max_num_imprecise_acc_default=_NEVER)
    builder.create_dot, builder.create_dot_scaled = dots.dot, dots.dot_scaled
    try:
        yield
    finally:
        builder.options = before
        for name in names:
            if name in held:  # of a context around this one
                setattr(builder, name, held[name])
            else:
                delattr(builder, name)


def _checked(units: Sequence[Design | Plan | str]) -> tuple[Plan, ...]:
    """Return the plans. Raises EmulationError for none, and for two that take the same."""
    plans = tuple(find_plan(x) for x in units)
    if not plans:
        raise EmulationError("emulating() needs a unit or a plan")
    taken: dict[Any, Plan] = {}
    for plan in plans:
        if plan.algorithm is not None:
            raise EmulationError(
                f"{plan.name} splits its operands: give its unit, and kernels say input_precision (tf32x3, bf16x3)"
            )
        plan.require()
        key = (*plan.formats[:3], plan.scale_format)
        if key in taken:
            raise EmulationError(f"{taken[key].name} and {plan.name} take the same formats: which should run?")
        taken[key] = plan
    return plans


@dataclass(frozen=True)
class _Dots:
    """What the interpreter calls in the place of its own products."""

    plans: tuple[Plan, ...]

    def dot(self, a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: int) -> Any:
        """Return ``a @ b + d``, as the interpreter's ``create_dot``."""
        of_a, of_b, of_d = (_format_of(x) for x in (a, b, d))
        precision = input_precision.name.upper()
        algorithm = None
        if of_a is of_b is FORMATS["fp32"] and precision != "IEEE":
            word, algorithm = _SPLIT.get(precision, ("tf32", None))
            of_a = of_b = FORMATS[word]
        plan = self._plan((of_a, of_b, of_d), None)
        if algorithm is not None:
            plan = _on_unit(plan, f"algorithm={algorithm}", f"input_precision={precision.lower()}")
        elif of_a.bits == of_b.bits == 8 and not of_a.is_integer and "/wgmma." in plan.unit.name:
            plan = _promoted(plan, max_num_imprecise_acc, a.data.shape[-1])
        found = _multiplied(plan, a.data, b.data, d.data)
        if algorithm is not None and np.isnan(values_of(patterns_of(found, of_d), of_d)).any():
            raise EmulationError(
                f"input_precision={precision.lower()}: a result is NaN, and Triton takes NaNs of the small products "
                "for zeros, which is not emulated"
            )
        return interpreter.TensorHandle(found, d.dtype.scalar)

    def dot_scaled(
        self,
        lhs: Any,
        lhs_scale: Any,
        lhs_format: Any,
        rhs: Any,
        rhs_scale: Any,
        rhs_format: Any,
        fast_math: bool,
        lhs_k_pack: bool,
        rhs_k_pack: bool,
        acc: Any,
    ) -> Any:
        """Return the product of blocks with scales, as the interpreter's ``create_dot_scaled``."""
        del fast_math  # of the emulation without scales in hardware
        a, of_a = _operand(lhs, lhs_format, -1 if lhs_k_pack else -2)
        b, of_b = _operand(rhs, rhs_format, -2 if rhs_k_pack else -1)
        scales = {_scale_of(x) for x in (lhs_scale, rhs_scale) if x is not None}
        if len(scales) != 1:
            raise EmulationError(f"tl.dot_scaled with scales of {len(scales)} formats: a unit takes one")
        (scale,) = scales
        plan = self._plan((of_a, of_b, _format_of(acc)), scale)
        blocks = a.shape[-1] // (plan.block or 1)
        of_lhs, of_rhs = (
            np.full((*x.shape[:-2], rows, blocks), scale.encode(1), np.uint8) if held is None else held.data
            for x, rows, held in ((a, a.shape[-2], lhs_scale), (b, b.shape[-1], rhs_scale))
        )
        found = _multiplied(plan, a, b, acc.data, (of_lhs.view(np.uint8), np.swapaxes(of_rhs, -1, -2).view(np.uint8)))
        return interpreter.TensorHandle(found, acc.dtype.scalar)

    def _plan(self, formats: tuple[Format, Format, Format], scale: Format | None) -> Plan:
        """Return the plan that takes these formats. Raises EmulationError where there is none."""
        for plan in self.plans:
            if (*plan.formats[:3], plan.scale_format) == (*formats, scale):
                if plan.formats[3] is not formats[2]:
                    raise EmulationError(
                        f"{plan.name} returns {plan.formats[3].name}: tl.dot returns {formats[2].name}"
                    )
                return plan
        a, b, c = (x.name for x in formats)
        scaled = "" if scale is None else f" with scales of {scale.name}"
        given = ", ".join(x.name for x in self.plans)
        raise EmulationError(f"a block of {a} by {b}{scaled} with an accumulator of {c} is not emulated by {given}")


def _format_of(handle: Any) -> Format:
    """Return the format of a tensor's numbers."""
    name = str(handle.dtype.scalar)
    if name not in _FORMATS:
        raise EmulationError(f"tl.dot on {name} is not emulated")
    return FORMATS[_FORMATS[name]]


def _operand(handle: Any, fmt: Any, axis: int) -> tuple[Patterns, Format]:
    """Return the patterns of an operand with scales and their format; numbers of e2m1 are two in a byte."""
    name = fmt.name.lower()
    if name != "e2m1":
        return handle.data, _format_of(handle)
    packed = np.moveaxis(handle.data, axis, -1)
    found = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)
    return np.ascontiguousarray(np.moveaxis(found, -1, axis)), FORMATS[name]


def _scale_of(handle: Any) -> Format:
    """Return the format of scales: patterns of e8m0 are integers."""
    name = str(handle.dtype.scalar)
    found = {"uint8": "e8m0", "int8": "e8m0", "fp8e4nv": "ue4m3"}.get(name)
    if found is None:
        raise EmulationError(f"scales of {name} are not emulated")
    return FORMATS[found]


def _on_unit(plan: Plan, settings: str, why: str) -> Plan:
    """Return the plan of a unit with settings. Raises EmulationError for a plan that has some."""
    if not plan.is_unit:
        raise EmulationError(f"{why} is a plan of its own: give the unit, not the plan {plan.name}")
    return read_plan(f"{plan.name} | {settings}")


def _promoted(plan: Plan, most: int, k: int) -> Plan:
    """Return the plan whose sums leave the unit after ``most`` elements of k, in whole instructions."""
    if most > k:
        return plan
    step = plan.unit.k
    return _on_unit(plan, f"promote={max(step, -(-most // step) * step)}", f"max_num_imprecise_acc={most}")


def _multiplied(
    plan: Plan, a: Patterns, b: Patterns, c: Patterns, scales: tuple[Patterns, Patterns] | None = None
) -> Any:
    """Return ``c + a @ b`` on a plan, in the type of c; of three dimensions the first is that of the products."""
    if a.ndim == 3:
        of_each = [None] * len(a) if scales is None else list(zip(*scales, strict=True))
        return np.stack([_multiplied(plan, *x) for x in zip(a, b, c, of_each, strict=True)])
    if a.shape[1] % plan.k_tile:
        raise EmulationError(f"a block of k = {a.shape[1]}: {plan.name} takes multiples of {plan.k_tile}")
    found = matmul(plan, *(np.ascontiguousarray(x) for x in (a, b, c, *(scales or ()))))
    return patterns_of(found, plan.formats[3]).view(c.dtype)
