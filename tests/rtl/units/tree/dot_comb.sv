// The unit without registers.
module dot_comb #(
    parameter int L = 4,
    parameter int F = 23,
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15,
    parameter int IEEE = 1,
    parameter int KEEP = 23
) (
    input  logic [L*(EXP+FRAC+1)-1:0] a,
    input  logic [L*(EXP+FRAC+1)-1:0] b,
    input  logic [              31:0] c,
    output logic [              31:0] d
);
  dot_tree #(L, F, EXP, FRAC, BIAS, IEEE, KEEP, 0) u (.clk(1'b0), .en(1'b1), .a, .b, .c, .d);
endmodule
