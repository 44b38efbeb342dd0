// The sum of four products and a register of 22 bits: sign, 8 exponent bits and 13 fraction bits. The adder tree is that
// of dot_comb, which takes and gives fp32; what it gives is cut.
module acc_e8m13 (
    input  logic        clk,
    input  logic        clr,
    input  logic        en,
    input  logic [63:0] a,
    input  logic [63:0] b,
    output logic [31:0] sum
);
  logic [21:0] acc;
  logic [31:0] following;
  dot_comb #(
      .L(4),
      .F(23)
  ) tree (
      .a(a),
      .b(b),
      .c({acc, 10'b0}),
      .d(following)
  );
  always_ff @(posedge clk)
    if (clr) acc <= '0;
    else if (en) acc <= following[31:10];
  assign sum = {acc, 10'b0};
endmodule
