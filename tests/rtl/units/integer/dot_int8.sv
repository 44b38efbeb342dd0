// d = c + sum of a[k] * b[k] of signed 8-bit integers; the sum wraps in 32 bits, or saturates once at the end.
// Baugh and Wooley's multipliers: no sign extension, two constant ones.
module signed_multiplier #(
    parameter int N = 8
) (
    input  logic [  N-1:0] x,
    input  logic [  N-1:0] y,
    output logic [2*N-1:0] product
);
  logic [N-1:0] row;
  always @* begin
    // the constants of both signs: 2**N and 2**(2N - 1)
    product = ((2 * N)'(1) << N) + ((2 * N)'(1) << (2 * N - 1));
    for (int i = 0; i < N; i++) begin
      // the top bit of a row is inverted, and so is all of the last row
      row = (x & {N{y[i]}}) ^ ((N)'(1) << (N - 1)) ^ {N{i == N - 1}};
      product = product + ((2 * N)'(row) << i);
    end
  end
endmodule

module dot_int8 #(
    parameter int L = 16,
    parameter int SATURATE = 0
) (
    input  logic signed [31:0]   c,
    input  logic [8*L-1:0]       a,
    input  logic [8*L-1:0]       b,
    output logic [31:0]          d
);
  localparam int SW = 17 + $clog2(L);
  wire [L-1:0][15:0] product;
  for (genvar k = 0; k < L; k++) begin : g_lane
    signed_multiplier #(8) multiply (a[8*k+:8], b[8*k+:8], product[k]);
  end
  logic signed [SW-1:0] sum;
  always @* begin
    sum = '0;
    for (int k = 0; k < L; k++) sum = sum + SW'($signed(product[k]));
  end
  wire signed [32:0] total = 33'(sum) + 33'(c);
  if (SATURATE != 0) begin : g_saturate
    assign d = total[32] == total[31] ? total[31:0] : {total[32], {31{!total[32]}}};
  end else begin : g_wrap
    assign d = total[31:0];
  end
endmodule
