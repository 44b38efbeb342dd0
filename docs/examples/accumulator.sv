// A unit around an exported module: an accumulator that takes one instruction of K = 16 in each cycle, and a run of it.
//
//     mmaproof export hopper/wgmma.m64n8k16.f32.f16.f16 --format sv-model -o model
//     iverilog -g2012 -s run -o simulation model/hopper_wgmma_m64n8k16_f32_f16_f16.sv accumulator.sv && vvp simulation
module accumulator (
    input  logic clk,
    input  logic start,  // take c, not the sum so far
    input  logic [255:0] a,
    input  logic [255:0] b,
    input  logic [31:0] c,
    output logic [31:0] sum
);
    logic [31:0] next;

    hopper_wgmma_m64n8k16_f32_f16_f16 dot (
        .a(a),
        .b(b),
        .c(start ? c : sum),
        .d(next)
    );

    always_ff @(posedge clk) sum <= next;
endmodule

// Two instructions: c is 1, and each of 32 products is 2^-26, which is cut, or 2^-25, which is not.
module run;
    logic clk = 0, start;
    logic [15:0] x;
    logic [31:0] sum;

    accumulator unit (.clk(clk), .start(start), .a({16{16'h0800}}), .b({16{x}}), .c(32'h3f800000), .sum(sum));

    task automatic accumulate(input logic [15:0] of_b);
        x = of_b;
        for (int i = 0; i < 2; i++) begin
            start = i == 0;
            #1 clk = 1;
            #1 clk = 0;
        end
        $display("d = 0x%h", sum);
    endtask

    initial begin
        accumulate(16'h0800);
        accumulate(16'h0c00);
        $finish;
    end
endmodule
