// A unit for a test bench of `mmaproof export --format readmemh`: d = c + sum of a[i]*b[i] in 32-bit integers that wrap
// around, as turing/mma.m8n8k16.s32.s8.s8.s32 has it.
module dut (
    input  logic [vectors_pkg::K*vectors_pkg::A_BITS-1:0] a,
    input  logic [vectors_pkg::K*vectors_pkg::B_BITS-1:0] b,
    input  logic [vectors_pkg::C_BITS-1:0] c,
    output logic [vectors_pkg::D_BITS-1:0] d
);
    import vectors_pkg::*;
    a_t x;
    b_t y;

    always_comb begin
        d = c;
        for (int i = 0; i < K; i++) begin
            x = a[i*A_BITS +: A_BITS];
            y = b[i*B_BITS +: B_BITS];
            d = d + D_BITS'(x) * D_BITS'(y);
        end
    end
endmodule
