"""A model in CUDA C++: a header for host and device with a kernel over rows, and a program that tests both."""

from __future__ import annotations

from mmaproof.generators.formats.selection import plain
from mmaproof.generators.models import c_model
from mmaproof.generators.models.model import Model, SelfTest

_HEADER = """\
// {about}
//
// {name}_dot is for host and device, {name}_rows is a kernel. It is plain C++11 for a compiler of the host.
// Test it:  nvcc -o selftest {name}_test.cu && ./selftest
// Without a GPU:  g++ -x c++ -o selftest {name}_test.cu && ./selftest
{wide}//
// Operands and results are bit patterns, one to a word of the narrowest type that holds the format:
{formats}
// Bits above the format's are not read and are 0 in d.
#ifndef {upper}_CUH
#define {upper}_CUH

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#ifndef FLT_RADIX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#endif
#else
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#endif

#ifndef MMA_FUNCTION
#ifdef __CUDACC__
#define MMA_FUNCTION static __host__ __device__ __forceinline__
#else
#define MMA_FUNCTION static inline
#endif
#endif

// elements of a and of b in one dot product
#define {upper}_K {k}
{blocks}
{helpers}
{cores}
// Return d of one dot product: a and b point to K elements{and_scales}.
MMA_FUNCTION {d} {name}_dot({dot})
{{
    return {call_dot};
}}
{later}
#ifdef __CUDACC__
// d[i] of the dot product of row i, for i below rows: a and b are rows x K{shapes_of_rows}, c and d have rows elements.
// Any number of blocks and threads, in one dimension.
extern "C" __global__ void {name}_rows(size_t rows, {arrays})
{{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < rows; i += threads)
        d[i] = {call_row};
}}
#endif

#endif
"""

_LATER = """
// Likewise for an instruction that follows in a chain: its c is the d of the one before.
MMA_FUNCTION {d} {name}_next({dot})
{{
    return {call};
}}
"""

_SELF_TEST = """\
// {about}
//
// Compares {name} with what mmaproof's integer interpretation returns: status 0 and PASS, or 1 and FAIL; 3 where the
// GPU cannot be used. Compiled by nvcc, it runs on the host and on the GPU.
//   nvcc -o selftest {name}_test.cu && ./selftest
//   g++ -x c++ -o selftest {name}_test.cu && ./selftest
#include "{name}.cuh"

#include <cstdio>
#include <cstdlib>

#define DESIGN "{design}"
enum {{ ROWS = {rows}, SHOWN = 10 }};

{arrays}
static unsigned long different;

static void compare(const char *where, const {d} *returned)
{{
    for (unsigned long i = 0; i < ROWS; i++)
        if (returned[i] != d[i] && ++different <= SHOWN)
            std::printf("row %lu on the %s: d = 0x%0{digits}llx, expected 0x%0{digits}llx\\n", i + 1, where,
                        (unsigned long long)returned[i], (unsigned long long)d[i]);
}}

#ifdef __CUDACC__
static void check(cudaError_t status, const char *what)
{{
    if (status != cudaSuccess) {{
        std::fprintf(stderr, "%s: %s\\n", what, cudaGetErrorString(status));
        std::exit(3);
    }}
}}

static void *on_device(const void *words, std::size_t size)
{{
    void *copy = nullptr;
    check(cudaMalloc(&copy, size), "allocation");
    check(cudaMemcpy(copy, words, size, cudaMemcpyHostToDevice), "copy to the device");
    return copy;
}}
#endif

int main()
{{
    static {d} returned[ROWS];
    for (unsigned long i = 0; i < ROWS; i++)
        returned[i] = {name}_dot({row});
    compare("host", returned);
#ifdef __CUDACC__
    {d} *on_gpu = static_cast<{d} *>(on_device(d, sizeof d));
    check(cudaMemset(on_gpu, 0x55, sizeof d), "memset");
    {name}_rows<<<(ROWS + 127) / 128, 128>>>(ROWS, {copies}, on_gpu);
    check(cudaGetLastError(), "launch");
    check(cudaMemcpy(returned, on_gpu, sizeof returned, cudaMemcpyDeviceToHost), "copy from the device");
    compare("device", returned);
#endif
    if (different > 0) {{
        std::printf("FAIL: %lu results differ from %s\\n", different, DESIGN);
        return 1;
    }}
    std::printf("PASS: %d rows as %s\\n", ROWS, DESIGN);
    return 0;
}}
"""


def cuda_files(model: Model, test: SelfTest) -> dict[str, str]:
    """Return the header and the self-test by file name."""
    return {f"{model.name}.cuh": _header(model), f"{model.name}_test.cu": _self_test(model, test)}


def _header(model: Model) -> str:
    name, d = model.name, c_model.c_type(model.design.d_format)
    given = c_model.pointers(model.first)
    once = {p.name: p.name for p in given}
    row = {p.name: "c[i]" if p.name == "c" else f"{p.name} + i * {p.count}" for p in given}
    formats = {p.name: x.format for p, x in zip(given, model.columns, strict=True)} | {"d": model.design.d_format}
    scales = model.design.scale_format is not None
    later = ""
    if model.later is not model.first:
        call = c_model.core_call(model.later, c_model.later_name(model), once, "1")
        later = _LATER.format(d=d, name=name, dot=c_model.dot_parameters(model.later), call=call)
    return _HEADER.format(
        about="\n// ".join(model.about()),
        name=name,
        upper=name.upper(),
        wide="// Its words of 128 bits need unsigned __int128 (NVRTC: --device-int128).\n"
        if 128 in model.lanes
        else "",
        formats="\n".join(
            f"//   {x:<8} {fmt.name:<8} {fmt.bits} bits in {c_model.c_type(fmt)}" for x, fmt in formats.items()
        ),
        k=model.k,
        blocks=f"// scales of a and of b in one dot product\n#define {name.upper()}_BLOCKS {model.blocks}\n"
        if scales
        else "",
        helpers=c_model.helpers(model.nodes, "MMA_FUNCTION", device=True),
        cores=c_model.cores(model, "MMA_FUNCTION"),
        and_scales=", scale_a and scale_b to BLOCKS scales" if scales else "",
        shapes_of_rows=", the scales rows x BLOCKS" if scales else "",
        d=d,
        dot=c_model.dot_parameters(model.first),
        call_dot=c_model.core_call(model.first, f"{name}_first", once, "1"),
        call_row=c_model.core_call(model.first, f"{name}_first", row, "1"),
        arrays=c_model.array_parameters(model.first),
        later=later,
    )


def _self_test(model: Model, test: SelfTest) -> str:
    names = [p.name for p in c_model.pointers(model.first)]
    return _SELF_TEST.format(
        about="\n// ".join(test.selection.about()),
        name=model.name,
        design=plain(model.design.name),
        rows=len(test.selection.vectors),
        arrays=c_model.row_arrays(model, test),
        d=c_model.c_type(model.design.d_format),
        digits=model.design.d_format.hex_digits,
        row=", ".join("c[i]" if x == "c" else f"{x}[i]" for x in names),
        copies=", ".join(
            f"static_cast<const {p.type} *>(on_device({p.name}, sizeof {p.name}))"
            for p in c_model.pointers(model.first)
        ),
    )
