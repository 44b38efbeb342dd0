// Product of two unsigned numbers of N bits: radix-4 Booth digits of y, a Wallace tree and a prefix adder.
module booth_multiplier #(
    parameter int N = 11
) (
    input  logic [  N-1:0] x,
    input  logic [  N-1:0] y,
    output logic [2*N-1:0] product
);
  localparam int DIGITS = N / 2 + 1;
  localparam int W = 2 * N;
  wire [2*DIGITS:0] digits = {{(2 * DIGITS - N) {1'b0}}, y, 1'b0};
  wire [(DIGITS+1)*W-1:0] row;
  wire [W-1:0] one_more;  // completes the negated rows
  for (genvar i = 0; i < DIGITS; i++) begin : g_digit
    wire [2:0] digit = digits[2*i+:3];
    wire once = digit[1] ^ digit[0];
    wire twice = (digit == 3'b011) || (digit == 3'b100);
    wire minus = digit[2] && !(digit[1] && digit[0]);
    wire [W-1:0] multiple = once ? W'(x) : twice ? W'({x, 1'b0}) : '0;
    assign row[W*i+:W] = (minus ? ~multiple : multiple) << (2 * i);
    // the places below the row, inverted with it, would add 2**(2i) - 1: the one is added at its own place
    if (2 * i < W) begin : g_one
      assign one_more[2*i] = minus;
      if (2 * i + 1 < W) begin : g_zero
        assign one_more[2*i+1] = 1'b0;
      end
    end
  end
  for (genvar i = 2 * DIGITS; i < W; i++) begin : g_above
    assign one_more[i] = 1'b0;
  end
  assign row[DIGITS*W+:W] = one_more;
  wire [W-1:0] sum, carry;
  wallace #(DIGITS + 1, W) compress (row, sum, carry);
  prefix_adder #(W) add (sum, carry, product);
endmodule
