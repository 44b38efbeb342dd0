// A multiply-accumulate unit of two products a cycle. The last cycle of a chain hands the register on to another one, and
// clears it; who reads it has the time of the next chain.
module drained_int8 (
    input  logic               clk,
    input  logic               rst_n,
    input  logic               last,
    input  logic               en,
    input  logic        [15:0] a,
    input  logic        [15:0] b,
    output logic signed [19:0] sum
);
  logic signed [19:0] acc, held;
  logic signed [16:0] products;
  assign products = $signed(a[7:0]) * $signed(b[7:0]) + $signed(a[15:8]) * $signed(b[15:8]);
  assign sum = held;

  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) begin
      acc  <= '0;
      held <= '0;
    end else if (last) begin
      acc  <= '0;
      held <= acc;
    end else if (en) acc <= acc + 20'(products);
endmodule
