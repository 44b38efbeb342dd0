"""Kernels of Triton: the matrix product of its tutorial, and blocks of one product. TRITON_INTERPRET=1 comes first."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k_all,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    rows: tl.constexpr,
    columns: tl.constexpr,
    some_k: tl.constexpr,
    group: tl.constexpr,
):
    """Multiply as the tutorial does: blocks of d in groups, the accumulator handed from one tl.dot to the next."""
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(m, rows)
    num_pid_n = tl.cdiv(n, columns)
    num_pid_in_group = group * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * group
    group_size_m = min(num_pid_m - first_pid_m, group)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * rows + tl.arange(0, rows)) % m
    offs_bn = (pid_n * columns + tl.arange(0, columns)) % n
    offs_k = tl.arange(0, some_k)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((rows, columns), dtype=tl.float32)
    for k in range(0, tl.cdiv(k_all, some_k)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < k_all - k * some_k, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < k_all - k * some_k, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += some_k * stride_ak
        b_ptrs += some_k * stride_bk
    c = accumulator.to(tl.float16)
    offs_cm = pid_m * rows + tl.arange(0, rows)
    offs_cn = pid_n * columns + tl.arange(0, columns)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < m) & (offs_cn[None, :] < n))


@triton.jit
def _at(pointer, rows: tl.constexpr, columns: tl.constexpr):
    return pointer + tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]


@triton.jit
def dot(a, b, c, d, m: tl.constexpr, n: tl.constexpr, k_all: tl.constexpr, precision: tl.constexpr, most: tl.constexpr):
    """Multiply matrices with one tl.dot."""
    start = tl.load(_at(c, m, n))
    found = tl.dot(
        tl.load(_at(a, m, k_all)),
        tl.load(_at(b, k_all, n)),
        start,
        input_precision=precision,
        max_num_imprecise_acc=most,
        out_dtype=start.dtype,
    )
    tl.store(_at(d, m, n), found)


@triton.jit
def dot_scaled(
    a,
    of_a,
    b,
    of_b,
    d,
    m: tl.constexpr,
    n: tl.constexpr,
    k_all: tl.constexpr,
    fmt: tl.constexpr,
    packed: tl.constexpr,
    both: tl.constexpr,
):
    """Multiply matrices of blocks with scales; b has scales of one where not both have them."""
    left, right = tl.load(_at(a, m, k_all // packed)), tl.load(_at(b, k_all // packed, n))
    scales = tl.load(_at(of_a, m, k_all // 32))
    if both:
        found = tl.dot_scaled(left, scales, fmt, right, tl.load(_at(of_b, n, k_all // 32)), fmt)
    else:
        found = tl.dot_scaled(left, scales, fmt, right, None, fmt)
    tl.store(_at(d, m, n), found)
