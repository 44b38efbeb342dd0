"""What a unit has answered so far, and how well designs agree with it.

The unit that is to be identified: it takes batches of operands and returns patterns of d.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands, constant_operands
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.generators.identify.space import Behaviour, Interface
from mmaproof.hardware_replay.target import Numbered, Rows, Target
from mmaproof.smt.evaluate import SharedBatch, equal_patterns, evaluate_batch

Mask = npt.NDArray[np.bool_]


@dataclass
class Evidence:
    """Rows that a unit has answered, with the kind of each; NaNs are equal whatever their codes.

    ``agreement`` remembers what was computed for a design, as far as the rows went then.
    """

    interface: Interface
    batch: OperandBatch
    d: Patterns
    kinds: tuple[str, ...]
    _known: dict[Behaviour, Mask] = field(default_factory=dict)
    _shared: dict[int, SharedBatch] = field(default_factory=dict)
    """the rows from an index on, as they are now"""
    _kind_of_row: npt.NDArray[np.intp] = field(init=False)
    """the number of each row's kind, in the order in which kinds came"""

    def __post_init__(self) -> None:
        self._number_kinds()

    def __len__(self) -> int:
        return len(self.batch)

    def add(self, batch: OperandBatch, d: Patterns, kind: str) -> None:
        """Add rows."""
        self.batch = OperandBatch.concatenate([self.batch, batch]) if len(self) else batch
        self.d = np.concatenate([self.d, d])
        self.kinds += (kind,) * len(batch)
        self._shared.clear()
        self._number_kinds()

    def first(self, rows: int) -> Evidence:
        """Return the first rows as evidence of their own."""
        return Evidence(self.interface, self.batch.select(slice(rows)), self.d[:rows], self.kinds[:rows])

    def _number_kinds(self) -> None:
        numbers = {kind: i for i, kind in enumerate(dict.fromkeys(self.kinds))}
        self._kind_of_row = np.array([numbers[kind] for kind in self.kinds], dtype=np.intp)

    def agrees(self, behaviour: Behaviour) -> Mask:
        """Return for each row whether the design that behaves so returns what the unit did."""
        known = self._known.get(behaviour, np.empty(0, dtype=bool))
        if len(known) < len(self):
            new = self._rows_from(len(known))
            same = self.same(self.interface.design(behaviour), new, self.d[len(known) :])
            known = np.concatenate([known, same])
            self._known[behaviour] = known
        return known

    def _rows_from(self, first: int) -> SharedBatch:
        if first not in self._shared:
            self._shared[first] = SharedBatch.of(self.batch.select(slice(first, None)))
        return self._shared[first]

    def same(self, design: Design, batch: OperandBatch, d: Patterns) -> Mask:
        """Return for each row whether ``design`` returns d."""
        return equal_patterns(design.d_format, evaluate_batch(design, batch), d, nan_codes=False)

    def fits(self, behaviour: Behaviour) -> bool:
        """Return whether the design returns what the unit did, in every row."""
        known = self._known.get(behaviour)
        # one that was wrong before stays wrong, whatever was added
        return (known is None or bool(known.all())) and bool(self.agrees(behaviour).all())

    def remaining(self) -> npt.NDArray[np.intp]:
        """Return how many of the designs that were tried agree with the first n rows: n = 0, 1, ..., shape (rows + 1,).

        A design that was wrong in some row is not computed further.
        """
        wrong = np.zeros(len(self) + 1, dtype=np.intp)
        for behaviour, known in list(self._known.items()):
            agrees = known if not known.all() else self.agrees(behaviour)
            if not agrees.all():
                wrong[int(np.argmin(agrees)) + 1] += 1
        counts: npt.NDArray[np.intp] = len(self._known) - np.cumsum(wrong)
        return counts

    def score(self, behaviour: Behaviour) -> float:
        """Return how well the design agrees: the sum over the kinds of rows of the part that does."""
        agreeing = np.bincount(self._kind_of_row, weights=self.agrees(behaviour))
        return float(sum((agreeing / np.bincount(self._kind_of_row)).tolist()))

    def shift(self, behaviour: Behaviour) -> list[int]:
        """Return the power of two by which the unit's products are shifted, judging by the exponents of d; or nothing.

        It is the one that most results are away from those of the design that behaves so. The design's own is included.
        """
        design = self.interface.design(behaviour)
        fmt = design.d_format
        at, top = fmt.fraction_bits + fmt.ignored_bits, (1 << fmt.exponent_bits) - 1
        ours, theirs = ((x.astype(np.int64) >> at) & top for x in (evaluate_batch(design, self.batch), self.d))
        normal = (ours > 0) & (ours < top) & (theirs > 0) & (theirs < top)
        away, counts = np.unique((theirs - ours)[normal], return_counts=True)
        return [behaviour["product_shift"] + int(x) for x in away[np.argsort(-counts)][:2]]

    def contradiction(self, behaviour: Behaviour) -> int | None:
        """Return the row of fewest nonzero products that the design gets wrong, None where there is none."""
        wrong = np.flatnonzero(~self.agrees(behaviour))
        if not len(wrong):
            return None
        return int(wrong[np.argmin(self.nonzero_products[wrong])])

    @property
    def nonzero_products(self) -> npt.NDArray[np.intp]:
        """Number of products of each row whose operands are both not +0."""
        counts: npt.NDArray[np.intp] = ((self.batch.a != 0) & (self.batch.b != 0)).sum(axis=1)
        return counts

    def row(self, index: int) -> tuple[Operands, int]:
        """Return operands and d of a row."""
        return self.batch.row(index), int(self.d[index])

    def nan_codes(self) -> tuple[int, ...]:
        """Return the patterns of the NaNs that the unit returned."""
        fmt = self.interface.signature.d
        if fmt.is_integer:
            return ()
        return tuple(x for x in np.unique(self.d).tolist() if fmt.is_nan(x))

    def has_nan_codes(self, behaviour: Behaviour) -> bool:
        """Return whether the design returns the NaNs that the unit did, bit for bit."""
        design = self.interface.design(behaviour)
        rows = np.isin(self.d, self.nan_codes())
        d = evaluate_batch(design, self.batch.select(rows))
        return bool(equal_patterns(design.d_format, d, self.d[rows], nan_codes=True).all())


@dataclass
class Oracle:
    """A target, and what was asked of it so far; ``seconds`` are those it took to answer."""

    target: Target
    interface: Interface
    fixed: Mapping[str, int] = field(default_factory=dict)
    """the pattern of each element of the operands that the target does not have"""
    batches: int = 0
    operands: int = 0
    seconds: float = 0.0
    problem: str | None = None
    unanswered: int = 0
    """rows of the validation that came without an answer"""

    @property
    def where(self) -> tuple[str, ...]:
        """The preconditions of everything that is found out: what operands are that the target does not have."""
        return constant_operands(self.fixed)

    def ask(self, batch: OperandBatch) -> tuple[OperandBatch, Patterns]:
        """Return the rows that were answered, and their d; ``problem`` says why others were not.

        Operands that the target does not have are its constants in these rows.

        Raises InputError where the target does not take the interface.
        """
        started = time.monotonic()
        batch = batch.with_constants(self.fixed)
        rows = self.rows(batch)
        self.target.design_of(rows)
        ran = self.target.run(rows)
        self.seconds += time.monotonic() - started
        self.batches += 1
        self.operands += len(batch)
        self.problem = ran.problem or self.problem
        answered = np.flatnonzero(ran.answered)
        return batch.select(answered), ran.d[answered]

    def rows(self, batch: OperandBatch) -> Rows:
        """Return operands as rows of the interface, meant for no design."""
        return Rows(
            batch=batch,
            formats=self.interface.signature.formats,
            labels=Numbered("row", 1, len(batch)),
            whence="identification",
            scale_format=self.interface.signature.scale,
        )

    @property
    def rate(self) -> float:
        """Rows a second so far."""
        return self.operands / max(self.seconds, 1e-9)
