// Where the highest set bit of x - y is, x >= y, before the subtraction: the highest set bit of f is there, or one to its left.
module lza #(
    parameter int W = 25
) (
    input  logic [W-1:0] x,
    input  logic [W-1:0] y,
    output logic [W-1:0] f
);
  wire [W-1:0] differ = x ^ ~y;
  wire [W-1:0] both = x & ~y;
  wire [W-1:0] neither = ~x & y;
  // what the neighbours are; beyond both ends the numbers agree
  wire [W-1:0] above = {1'b1, differ[W-1:1]};
  wire [W-1:0] both_below = {both[W-2:0], 1'b0};
  wire [W-1:0] neither_below = {neither[W-2:0], 1'b0};
  assign f = (above & ((both & ~neither_below) | (neither & ~both_below))) |
      (~above & ((neither & ~neither_below) | (both & ~both_below)));
endmodule

// How many zeros are above the highest set bit; W if there is none. A tree of halves.
module count_zeros #(
    parameter int W = 25,
    parameter int SW = $clog2(W + 1)
) (
    input  logic [ W-1:0] x,
    output logic [SW-1:0] zeros
);
  localparam int N = 1 << $clog2(W + 1);  // ones fill it up below
  localparam int LEVELS = $clog2(N);
  logic [N-1:0] word;
  logic [SW-1:0] count;
  always_comb begin
    word = {x, {(N - W) {1'b1}}};
    count = '0;
    for (int i = LEVELS - 1; i >= 0; i--) begin
      if (word >> (N - (1 << i)) == 0) begin
        count[i] = 1'b1;
        word = word << (1 << i);
      end
    end
  end
  assign zeros = count;
endmodule
