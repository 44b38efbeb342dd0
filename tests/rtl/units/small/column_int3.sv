// A column of two rows of a systolic array that is small enough to try all of its values. The sum goes down, a and b
// go in skewed. Each row has two registers on every path.
module row_int3 (
    input  logic              clk,
    input  logic signed [2:0] a,
    input  logic signed [2:0] b,
    input  logic        [6:0] above,
    output logic        [6:0] below
);
  logic [6:0] product, sum;
  logic [6:0] above_q;
  logic signed [2:0] a_q, b_q;
  always_ff @(posedge clk) begin
    a_q <= a;
    b_q <= b;
    above_q <= above;
  end
  assign product = 7'(a_q * b_q);
  assign sum = above_q + product;
  always_ff @(posedge clk) below <= sum;
endmodule

module column_int3 (
    input  logic              clk,
    input  logic        [5:0] a,
    input  logic        [5:0] b,
    input  logic        [6:0] c,
    output logic        [6:0] d
);
  logic [6:0] half;
  row_int3 first (
      .clk,
      .a(a[2:0]),
      .b(b[2:0]),
      .above(c),
      .below(half)
  );
  row_int3 second (
      .clk,
      .a(a[5:3]),
      .b(b[5:3]),
      .above(half),
      .below(d)
  );
endmodule
