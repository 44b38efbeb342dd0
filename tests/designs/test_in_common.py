"""What two architectures have in common."""

from mmaproof.designs.arithmetic import in_common
from mmaproof.designs.catalogue import load_catalogue


def test_pairs_have_one_signature_and_say_how_they_differ() -> None:
    pairs = in_common(load_catalogue(), "hopper", "blackwell")
    held = {(x.first.a_format.name, x.first.d_format.name): x for x in pairs}
    assert all(x.first.signature == x.second.signature for x in pairs)
    fp8 = held["e4m3", "fp32"]
    assert (fp8.first.instruction, fp8.second.instruction) == (
        "wgmma.m64n8k32.f32.e4m3.e4m3",
        "tcgen05.mma.m64n8k32.f32.e4m3.e4m3",
    )
    ours, theirs = (x.settings["fraction_bits"] for x in (fp8.first, fp8.second))
    assert ours != theirs
    assert fp8.differences["fraction_bits"] == (str(ours), str(theirs))
    assert not fp8.same
    assert held["fp16", "fp32"].same
    assert not held["fp16", "fp32"].differences
    assert "e2m1" not in {a for a, _ in held}, "the first has no such unit"
