// A column of a weight-stationary array. An element of a arrives one clock cycle after the one before it; the sum goes
// down through a register for each. Weights stay: at a port, or in registers that are written through it.
module pe (
    input  logic               clk,
    input  logic signed [ 7:0] a,
    input  logic signed [ 7:0] b,
    input  logic signed [31:0] above,
    output logic signed [31:0] below
);
  always_ff @(posedge clk) below <= above + 32'(a * b);
endmodule

module column_int8 #(
    parameter int N = 4,
    parameter bit KEEPS = 0
) (
    input  logic               clk,
    input  logic               write,
    input  logic [N-1:0][ 7:0] a,
    input  logic [N-1:0][ 7:0] b,
    input  logic        [31:0] c,
    output logic        [31:0] d
);
  logic [31:0] sums[N+1];
  assign sums[0] = c;
  for (genvar i = 0; i < N; i++) begin : rows
    logic signed [7:0] weight;
    if (KEEPS) begin : keeps
      always_ff @(posedge clk) if (write) weight <= b[i];
    end else begin : shows
      assign weight = b[i];
    end
    pe cell_ (.clk, .a(a[i]), .b(weight), .above(sums[i]), .below(sums[i+1]));
  end
  assign d = sums[N];
endmodule
