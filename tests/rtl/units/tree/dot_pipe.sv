// The unit with registers at the cuts that PIPE names (bit i: cut i), all held while EN is low.
module dot_pipe #(
    parameter int L = 4,
    parameter int F = 23,
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15,
    parameter int IEEE = 1,
    parameter int KEEP = 23,
    parameter int PIPE = 'h2a
) (
    input  logic                    clk,
    input  logic                    rst_n,
    input  logic                    en,
    input  logic                    valid_i,
    input  logic [L*(EXP+FRAC+1)-1:0] a,
    input  logic [L*(EXP+FRAC+1)-1:0] b,
    input  logic [            31:0] c,
    output logic                    valid_o,
    output logic [            31:0] d
);
  localparam int DEPTH = $countones(PIPE);
  logic [DEPTH-1:0] valid;
  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) valid <= '0;
    else if (en) valid <= {valid[DEPTH-2:0], valid_i};
  end
  assign valid_o = valid[DEPTH-1];
  dot_tree #(L, F, EXP, FRAC, BIAS, IEEE, KEEP, PIPE) u (.clk, .en, .a, .b, .c, .d);
endmodule
