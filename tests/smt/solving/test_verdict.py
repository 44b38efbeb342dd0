import pytest

from mmaproof.smt.solving.verdict import Cause, Outcome, Reply, SolverIdentity, Status, Verdict

SOLVER = SolverIdentity("z3", "5.4.0")


def test_verdicts_and_answers_are_never_bools() -> None:
    with pytest.raises(TypeError, match="status"):
        bool(Verdict(Status.PROVED, 1.0))
    with pytest.raises(TypeError, match="outcome"):
        bool(Reply(Outcome.UNSAT, SOLVER, 1.0))


@pytest.mark.parametrize("status", [Status.PROVED, Status.REFUTED, Status.VACUOUS])
def test_only_unknown_verdicts_have_a_reason(status: Status) -> None:
    model = {"a": 1} if status is Status.REFUTED else None
    Verdict(status, 1.0, witness=model, solver=SOLVER)
    with pytest.raises(ValueError, match="inconsistent"):
        Verdict(status, 1.0, reason="timeout: 1 s", witness=model)
    with pytest.raises(ValueError, match="inconsistent"):
        Verdict(Status.UNKNOWN, 1.0)


@pytest.mark.parametrize("status", [Status.PROVED, Status.UNKNOWN, Status.VACUOUS])
def test_only_refuted_verdicts_have_a_model(status: Status) -> None:
    reason = "memory: full" if status is Status.UNKNOWN else None
    Verdict(status, 1.0, reason=reason)
    with pytest.raises(ValueError, match="inconsistent"):
        Verdict(status, 1.0, reason=reason, witness={})
    with pytest.raises(ValueError, match="inconsistent"):
        Verdict(Status.REFUTED, 1.0)


def test_only_the_matching_outcome_has_a_model_or_a_reason() -> None:
    Reply(Outcome.SAT, SOLVER, 1.0, model={})
    Reply(Outcome.UNKNOWN, SOLVER, 1.0, reason="interrupted: by hand")
    wrong: list[tuple[Outcome, dict[str, int] | None, str | None]] = [
        (Outcome.SAT, None, None),
        (Outcome.UNSAT, {}, None),
        (Outcome.UNKNOWN, None, None),
        (Outcome.UNSAT, None, "timeout: 1 s"),
    ]
    for outcome, model, reason in wrong:
        with pytest.raises(ValueError, match="inconsistent"):
            Reply(outcome, SOLVER, 1.0, model=model, reason=reason)


def test_a_reason_begins_with_its_cause() -> None:
    assert Cause.TIMEOUT.reason("no answer\n within 1 s") == "timeout: no answer within 1 s"
    with pytest.raises(ValueError, match="begin with its cause"):
        Reply(Outcome.UNKNOWN, SOLVER, 1.0, reason="it took long")


def test_an_identity_reads_as_name_and_version() -> None:
    assert str(SOLVER) == "z3 5.4.0"


def test_only_unsat_is_certified() -> None:
    Reply(Outcome.UNSAT, SOLVER, 1.0, certified_by=SOLVER, certificate="00")
    for outcome, model, reason in ((Outcome.SAT, {}, None), (Outcome.UNKNOWN, None, "timeout: 1 s")):
        for certified_by, certificate in ((SOLVER, None), (None, "00")):
            with pytest.raises(ValueError, match="only unsat is certified"):
                Reply(outcome, SOLVER, 1.0, model, reason, certified_by=certified_by, certificate=certificate)
