"""A query that solvers answer while its caller asks others. Its answer interrupts those."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Final

from pysmt.fnode import FNode

from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import Race
from mmaproof.smt.solving.verdict import Outcome, Reply
from mmaproof.smt.solving.work import add_work

if TYPE_CHECKING:
    from mmaproof.smt.solving.solving import Solving


_LOOK_SECONDS: Final = 0.02


class Overtaken(Exception):  # noqa: N818  (it is not an error)
    """A query was interrupted, or was not asked, because ``rival`` has an answer."""

    def __init__(self, rival: Rival) -> None:
        super().__init__("another query has an answer")
        self.rival = rival


class Rival:
    """A query that is answered in a thread of its own, for ``solving``. ``Solving.beside`` begins it.

    The thread only waits for solver processes. Formulas are built, and replies are kept and certified, by whoever calls
    ``ask``. If the answer is ``known``, there is nothing to wait for. A rival has to be ended.
    """

    def __init__(self, solving: Solving, race: Race, known: Reply | None = None) -> None:
        self.query = race.query
        self._solving, self._race = solving, race
        self._lock = threading.Lock()
        self._interrupt: Callable[[], None] | None = None
        self._reply: Future[Reply] = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)
        if known is None:
            self._thread.start()
        else:
            self._reply.set_result(known)

    @property
    def has_answer(self) -> bool:
        """Whether a solver said sat or unsat, or solvers disagree."""
        if not self._reply.done():
            return False
        return self._reply.exception() is not None or self._reply.result().outcome is not Outcome.UNKNOWN

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the solvers until they computed for N seconds more. Return whether there is an answer."""
        began = self._race.worked
        while self._race.worked - began < seconds and not self._race.has_ended:
            if wait([self._reply], _LOOK_SECONDS).done:
                break
        add_work(self._race.worked - began)
        return self.has_answer

    def ask(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        """Answer a query as ``Solving.ask`` does. If it is the one that was begun, wait for that."""
        return self._solving.ask(formula, symbols, limits=limits, begun=self)

    def reply(self) -> Reply:
        """Wait for the end of the solvers, which have a time limit, and return their reply.

        Raises what ``Race.run`` raises.
        """
        began = self._race.worked
        try:
            return self._reply.result()
        finally:
            add_work(self._race.worked - began)

    @contextlib.contextmanager
    def interrupting(self, stop: Callable[[], None]) -> Iterator[None]:
        """Within this context, call ``stop`` as soon as there is an answer, from another thread perhaps."""
        with self._lock:
            self._interrupt = stop
            if self.has_answer:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None

    def end(self) -> None:
        """End the solvers. Nothing of the query runs any more when this returns."""
        try:
            self._race.stop()
        finally:
            if self._thread.is_alive():
                self._thread.join()

    def _run(self) -> None:
        try:
            self._reply.set_result(self._race.run())
        except BaseException as problem:  # it is raised where the reply is asked for
            self._reply.set_exception(problem)
        with self._lock:
            if self.has_answer and self._interrupt is not None:
                self._interrupt()


def run_beside(race: Race, rivals: Sequence[Rival]) -> Reply:
    """Return the reply to a query.

    Raises ``Overtaken`` if a rival has an answer first, and what ``Race.run`` raises.
    """
    with contextlib.ExitStack() as stack:
        for rival in rivals:
            stack.enter_context(rival.interrupting(race.stop))
        try:
            reply = race.run()
        finally:
            add_work(race.worked)
    if reply.outcome is Outcome.UNKNOWN:
        for rival in rivals:
            if rival.has_answer:
                raise Overtaken(rival)
    return reply
