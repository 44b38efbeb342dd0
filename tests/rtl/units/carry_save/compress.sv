// Adders of many rows. All are modulo 2**W.

// Row LEVEL of a carry-save tree has this many rows left of N: every three become two.
package rows_left_pkg;
  function automatic int rows_left(input int n, input int level);
    int rows;
    rows = n;
    for (int i = 0; i < level; i++) rows = 2 * (rows / 3) + rows % 3;
    return rows;
  endfunction

  function automatic int levels(input int n);
    int rows, depth;
    rows  = n;
    depth = 0;
    for (int i = 0; i < n; i++) begin
      if (rows > 2) begin
        rows  = 2 * (rows / 3) + rows % 3;
        depth = depth + 1;
      end
    end
    return depth;
  endfunction
endpackage

module full_adders #(
    parameter int W = 8
) (
    input  logic [W-1:0] x,
    input  logic [W-1:0] y,
    input  logic [W-1:0] z,
    output logic [W-1:0] sum,
    output logic [W-1:0] carry
);
  wire [W-1:0] majority = (x & y) | (x & z) | (y & z);
  assign sum   = x ^ y ^ z;
  assign carry = {majority[W-2:0], 1'b0};
endmodule

// N rows become two of the same sum (Wallace's tree).
module wallace #(
    parameter int N = 5,
    parameter int W = 8
) (
    input  logic [N*W-1:0] x,
    output logic [  W-1:0] sum,
    output logic [  W-1:0] carry
);
  import rows_left_pkg::*;
  localparam int DEPTH = levels(N);
  wire [N*W-1:0] at[0:DEPTH];
  assign at[0] = x;
  for (genvar i = 0; i < DEPTH; i++) begin : g_level
    localparam int ROWS = rows_left(N, i);
    localparam int TRIPLES = ROWS / 3;
    for (genvar j = 0; j < TRIPLES; j++) begin : g_triple
      full_adders #(W) add (
          .x(at[i][W*(3*j)+:W]),
          .y(at[i][W*(3*j+1)+:W]),
          .z(at[i][W*(3*j+2)+:W]),
          .sum(at[i+1][W*(2*j)+:W]),
          .carry(at[i+1][W*(2*j+1)+:W])
      );
    end
    for (genvar j = 0; j < ROWS % 3; j++) begin : g_rest
      assign at[i+1][W*(2*TRIPLES+j)+:W] = at[i][W*(3*TRIPLES+j)+:W];
    end
    for (genvar j = 2 * TRIPLES + ROWS % 3; j < N; j++) begin : g_none
      assign at[i+1][W*j+:W] = '0;
    end
  end
  assign sum   = at[DEPTH][W-1:0];
  assign carry = N > 1 ? at[DEPTH][W+:W] : '0;
endmodule

// Kogge-Stone: carries by a parallel prefix.
module prefix_adder #(
    parameter int W = 8
) (
    input  logic [W-1:0] x,
    input  logic [W-1:0] y,
    output logic [W-1:0] sum
);
  localparam int DEPTH = $clog2(W);
  wire [W-1:0] generates[0:DEPTH];
  wire [W-1:0] passes[0:DEPTH];
  assign generates[0] = x & y;
  assign passes[0]    = x ^ y;
  for (genvar i = 0; i < DEPTH; i++) begin : g_level
    assign generates[i+1] = generates[i] | (passes[i] & (generates[i] << (1 << i)));
    assign passes[i+1]    = passes[i] & ~(~passes[i] << (1 << i));
  end
  assign sum = passes[0] ^ {generates[DEPTH][W-2:0], 1'b0};
endmodule
