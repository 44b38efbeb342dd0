/* A program on a model in C: d = c + a b for one row of a and two columns of b, K = 32 in two instructions.
 *
 *     mmaproof export hopper/wgmma.m64n8k16.f32.f16.f16 --format c-model -o model
 *     cc -std=c11 -O2 -I model -o gemm gemm_on_c_model.c model/hopper_wgmma_m64n8k16_f32_f16_f16.c
 *
 * c is 1. Every product of the first column is 2^-26, and the exact sum is 1 + 2^-21. The unit cuts each product below
 * 2^-25 before it adds them, so nothing is left of them. Products of the second column are 2^-25 and are all there.
 */
#include "hopper_wgmma_m64n8k16_f32_f16_f16.h"

#include <stdio.h>

enum { INSTRUCTIONS = 2, K = INSTRUCTIONS * HOPPER_WGMMA_M64N8K16_F32_F16_F16_K };

int main(void)
{
    static uint16_t a[1][K], b[K][2];
    const uint32_t c[1][2] = {{0x3f800000u, 0x3f800000u}}; /* 1, 1 */
    uint32_t d[1][2];
    for (int k = 0; k < K; k++) {
        a[0][k] = 0x0800;    /* 2^-13 */
        b[k][0] = 0x0800;    /* 2^-13 */
        b[k][1] = 0x0c00;    /* 2^-12 */
    }
    hopper_wgmma_m64n8k16_f32_f16_f16_tile(1, 2, INSTRUCTIONS, a[0], b[0], c[0], d[0]);
    printf("d = 0x%08x 0x%08x\n", (unsigned)d[0][0], (unsigned)d[0][1]);
    return 0;
}
