// The functions of the CUDA runtime that a generated program calls, on the host: a "GPU" with one thread at a time.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>

typedef int cudaError_t;
enum { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
struct dim3 {
    unsigned x;
    dim3(unsigned x) : x(x) {}
};
#define __global__
static dim3 blockIdx(0), threadIdx(0);

static const char *cudaGetErrorString(cudaError_t) { return "no error"; }
static cudaError_t cudaMalloc(void **memory, std::size_t size) {
    *memory = std::malloc(size);
    return cudaSuccess;
}
static cudaError_t cudaMemcpy(void *to, const void *from, std::size_t size, cudaMemcpyKind) {
    std::memcpy(to, from, size);
    return cudaSuccess;
}
static cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

typedef const unsigned *Words;
typedef void (*Kernel)(Words, Words, Words, Words, Words, unsigned *);
static cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, std::size_t, int) {
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x)
            ((Kernel)kernel)(*(Words *)arguments[0], *(Words *)arguments[1], *(Words *)arguments[2],
                             *(Words *)arguments[3], *(Words *)arguments[4], *(unsigned **)arguments[5]);
    return cudaSuccess;
}
