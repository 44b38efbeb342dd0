// The sum of four products and a register, of which the adder tree is that of dot_comb; an asynchronous reset clears it.
module acc_fp16 (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        en,
    input  logic [63:0] a,
    input  logic [63:0] b,
    output logic [31:0] sum
);
  logic [31:0] acc, following;
  dot_comb #(
      .L(4),
      .F(23)
  ) tree (
      .a(a),
      .b(b),
      .c(acc),
      .d(following)
  );
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) acc <= '0;
    else if (en) acc <= following;
  assign sum = acc;
endmodule
