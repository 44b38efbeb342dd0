// A kernel on a model in CUDA C++: d = c + a b, one thread for each element, instructions of K = 16 in a chain.
//
//     mmaproof export hopper/wgmma.m64n8k16.f32.f16.f16 --format cuda-model -o model
//     nvcc -I model -o gemm gemm_on_cuda_model.cu            on a GPU
//     g++ -x c++ -I model -o gemm gemm_on_cuda_model.cu      the same on the host
//
// The GPU may be of any kind: it computes with integers what the unit of another one returns.
#include "hopper_wgmma_m64n8k16_f32_f16_f16.cuh"

#ifndef __CUDACC__
#define __host__
#define __device__
#endif

// a is m x (16 instructions), b is (16 instructions) x n, all row by row
__host__ __device__ inline void element(int i, int n, int instructions, const uint16_t *a, const uint16_t *b,
                                        const uint32_t *c, uint32_t *d)
{
    const int row = i / n, column = i % n;
    uint32_t sum = c[i];
    for (int s = 0; s < instructions; s++) {
        uint16_t of_b[16];
        for (int k = 0; k < 16; k++)
            of_b[k] = b[(16 * s + k) * n + column];
        sum = hopper_wgmma_m64n8k16_f32_f16_f16_dot(a + (row * instructions + s) * 16, of_b, sum);
    }
    d[i] = sum;
}

#ifdef __CUDACC__
extern "C" __global__ void gemm(int elements, int n, int instructions, const uint16_t *a, const uint16_t *b,
                                const uint32_t *c, uint32_t *d)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements)
        element(i, n, instructions, a, b, c, d);
}
#endif

#ifndef __CUDACC_RTC__
#include <cstdio>

int main()
{
    static uint16_t a[32], b[32][2];
    const uint32_t c[2] = {0x3f800000u, 0x3f800000u};  // 1, 1
    uint32_t d[2] = {0, 0};
    for (int k = 0; k < 32; k++) {
        a[k] = 0x0800;     // 2^-13
        b[k][0] = 0x0800;  // 2^-13
        b[k][1] = 0x0c00;  // 2^-12
    }
#ifdef __CUDACC__
    void *held;  // one allocation on the GPU for a, b, c and d, in this order
    if (cudaMalloc(&held, sizeof a + sizeof b + sizeof c + sizeof d) != cudaSuccess) {
        std::fprintf(stderr, "no GPU, or no memory on it\n");
        return 3;
    }
    uint16_t *on_a = static_cast<uint16_t *>(held), *on_b = on_a + 32;
    uint32_t *on_c = reinterpret_cast<uint32_t *>(on_b + 64), *on_d = on_c + 2;
    cudaMemcpy(on_a, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(on_b, b, sizeof b, cudaMemcpyHostToDevice);
    cudaMemcpy(on_c, c, sizeof c, cudaMemcpyHostToDevice);
    gemm<<<1, 32>>>(2, 2, 2, on_a, on_b, on_c, on_d);
    if (cudaMemcpy(d, on_d, sizeof d, cudaMemcpyDeviceToHost) != cudaSuccess) {
        std::fprintf(stderr, "the kernel did not run\n");
        return 3;
    }
#else
    for (int i = 0; i < 2; i++)
        element(i, 2, 2, a, b[0], c, d);
#endif
    std::printf("d = 0x%08x 0x%08x\n", static_cast<unsigned>(d[0]), static_cast<unsigned>(d[1]));
    return 0;
}
#endif
