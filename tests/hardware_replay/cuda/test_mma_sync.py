"""mma.sync: every design compiles to the instruction that it names, and its operands lie where the PTX ISA says."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_warp import Warp

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.hardware_replay.cuda.device import CompilationError, compile_kernels
from mmaproof.hardware_replay.cuda.mma_sync import kernel, rejected
from mmaproof.hardware_replay.kernels.kernel import Fragment, Kernel
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw

ARCHITECTURES = ["volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx-blackwell"]
DESIGNS = [
    x for x in load_catalogue().designs.values() if x.architecture in ARCHITECTURES and x.instruction.startswith("mma.")
]
KERNELS = [kernel(x) for x in DESIGNS if rejected(x) is None]


def kernels_of(architecture: str) -> list[Kernel]:
    return [x for x in KERNELS if x.design.architecture == architecture]


def layout_of(of: Kernel) -> tuple[object, ...]:
    """What tells two layouts apart."""
    fragments = sorted(of.fragments.items())
    return tuple((name, x.shape, x.shift, x.places.shape, x.places.tobytes()) for name, x in fragments)


ONE_OF_EACH_LAYOUT = list({layout_of(x): x for x in KERNELS}.values())


def test_every_architecture_has_kernels_and_every_kernel_one() -> None:
    assert {x.design.architecture for x in KERNELS} == set(ARCHITECTURES)
    assert len({x.name for x in KERNELS}) == len(KERNELS)


def test_an_instruction_that_the_assembler_rejects_has_no_kernel(nvrtc: None) -> None:
    (design,) = (x for x in DESIGNS if rejected(x) is not None)
    with pytest.raises(InputError, match=r"block32.*ptxas takes scales of ue4m3 with blocks of 16 only"):
        kernel(design)
    accepted = kernel(find_design("rtx-blackwell/mma.m16n8k64.block32.f32.e2m1.e2m1.f32.ue8m0"))
    compile_kernels([accepted])
    source = accepted.source.replace(".ue8m0", ".ue4m3")
    assert source != accepted.source
    with pytest.raises(CompilationError, match=r"Illegal modifier '\.scale_vec::2X'"):
        compile_kernels([replace(accepted, source=source)])


@pytest.mark.few(1)
@pytest.mark.slow_values("rtx-blackwell")
@pytest.mark.parametrize("architecture", ARCHITECTURES[1:])
def test_compiles_to_its_instruction(
    architecture: str, disassemble: Callable[[Sequence[Kernel]], dict[str, str]]
) -> None:
    text = disassemble(kernels_of(architecture))
    assert not [x.name for x in kernels_of(architecture) if not re.search(x.machine_code, text[x.name])]


def test_kernels_of_volta_compile(nvrtc: None) -> None:
    # nvdisasm of CUDA 13, the first one with a package, does not read their machine code
    try:
        cubin = compile_kernels(kernels_of("volta"))
    except TargetUnavailable as error:
        pytest.skip(str(error))
    assert all(x.name.encode() in cubin for x in kernels_of("volta"))


def random_matrices(of: Kernel, name: str) -> Patterns:
    fmt = dict(zip("abcd", of.design.formats, strict=True)).get(name) or of.design.scale_format
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << fmt.bits, (2, *of.fragments[name].shape), dtype=np.uint64)
    return bits.astype(pattern_dtype(fmt))


def read(of: Kernel, name: str, fragment: Fragment, matrices: Patterns) -> Patterns:
    """The matrices as the warp reads them from the words that ``fragment`` packs them in."""
    words, warp = fragment.pack(matrices), Warp(of)
    return warp.read_scales(name, words) if name.startswith("scale") else warp.read(name, words)


@pytest.mark.few(1)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_element_is_where_the_warp_reads_it(architecture: str) -> None:
    for of in kernels_of(architecture):
        for name, fragment in of.fragments.items():
            matrices = random_matrices(of, name)
            assert np.array_equal(read(of, name, fragment, matrices), matrices), (of.name, name)


@pytest.mark.few(5)
@pytest.mark.parametrize("of", ONE_OF_EACH_LAYOUT, ids=lambda of: of.name)
def test_simulated_warp_returns_what_the_design_does(of: Kernel) -> None:
    rows = 3 * of.rows + 5
    batch = draw("normal", of.design, rows, of.design.k, np.random.default_rng(1))
    expected = evaluate_batch(of.design, batch)
    assert len(np.unique(expected)) > rows // 2
    assert np.array_equal(of.unpack(Warp(of).run(of.pack(batch)), rows), expected)


def swapped(places: np.ndarray, axis: int) -> np.ndarray:
    """The places with the first two words, or slots, exchanged."""
    first, second, *others = range(places.shape[axis])
    return places.take([second, first, *others], axis=axis)


@pytest.mark.parametrize(
    ("design", "name", "wrong"),
    [
        ("ampere/mma.m16n8k16.f32.f16.f16.f32", "a", lambda x: replace(x, places=swapped(x.places, 0))),
        ("ampere/mma.m16n8k16.f32.f16.f16.f32", "b", lambda x: replace(x, places=swapped(x.places, 1))),
        ("volta/mma.m8n8k4.f32.f16.f16.f32", "c", lambda x: replace(x, places=swapped(x.places, 0))),
        ("hopper/mma.m16n8k8.f64.f64.f64.f64", "b", lambda x: replace(x, places=swapped(x.places, 0))),
        ("rtx-blackwell/mma.m16n8k32.f32.e2m1.e3m2.f32", "a", lambda x: replace(x, shift=0)),
        ("rtx-blackwell/mma.m16n8k32.f32.e2m1.e3m2.f32", "b", lambda x: replace(x, shift=2)),
        (
            "rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3",
            "scale_a",
            lambda x: replace(x, places=swapped(x.places, 1)),
        ),
    ],
)
def test_wrong_layout_is_noticed(design: str, name: str, wrong) -> None:
    of = kernel(find_design(design))
    matrices = random_matrices(of, name)
    with pytest.raises(AssertionError):
        assert np.array_equal(read(of, name, wrong(of.fragments[name]), matrices), matrices)
