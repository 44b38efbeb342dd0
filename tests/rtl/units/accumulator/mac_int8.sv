// Four products a cycle: the operands are registered, the sum of products is added to a register that saturates.
// A start clears without losing a cycle; a drain loads what comes from the neighbour.
module mac_int8 (
    input  logic                    clk,
    input  logic                    start,
    input  logic                    valid,
    input  logic                    drain,
    input  logic signed [3:0][ 7:0] a,
    input  logic signed [3:0][ 7:0] b,
    input  logic signed [     31:0] above,
    output logic signed [     31:0] below
);
  logic signed [3:0][7:0] a_q, b_q;
  always_ff @(posedge clk) begin
    a_q <= a;
    b_q <= b;
  end

  logic signed [17:0] products;
  always_comb begin
    products = '0;
    for (int i = 0; i < 4; i++) products += 18'($signed(a_q[i]) * $signed(b_q[i]));
  end

  logic signed [31:0] acc;
  logic signed [32:0] total;
  assign total = 33'(start ? 32'sd0 : acc) + 33'(products);
  assign below = acc;

  always_ff @(posedge clk)
    if (drain) acc <= above;
    else if (valid) begin
      if (total > 33'sh07fffffff) acc <= 32'sh7fffffff;
      else if (total < -33'sh080000000) acc <= 32'sh80000000;
      else acc <= total[31:0];
    end else if (start) acc <= '0;
endmodule
