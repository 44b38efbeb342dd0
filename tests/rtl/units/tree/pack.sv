// The magnitude of a sum, with LZ leading zeros, in units of 2**(e_max - F), truncated to fp32 with KEEP fraction bits.
module pack #(
    parameter int W = 29,
    parameter int CW = 6,
    parameter int XW = 9,
    parameter int F = 23,
    parameter int KEEP = 23
) (
    input  logic          negative,
    input  logic [ W-1:0] magnitude,
    input  logic [CW-1:0] zeros,
    input  logic [XW-1:0] e_max,     // offset by 252
    output logic [  31:0] d
);
  localparam int SW = XW + 3;
  localparam int PAD = W < 24 ? 24 : W;
  // exponent field of the top bit, were there no limits
  wire signed [SW-1:0] field = $signed(SW'(e_max)) + SW'(W - 1 - F + 127 - 252) - $signed(SW'(zeros));
  wire        [ W-1:0] shifted = magnitude << zeros;
  wire      [PAD-1:0] top = PAD'(shifted) << (PAD - W);
  wire           [23:0] significand = top[PAD-1-:24];
  wire                  tiny = field < 1;
  wire       [SW-1:0] down = SW'(1) - field;
  wire           [23:0] moved = tiny ? significand >> down : significand;
  wire           [22:0] fraction = moved[22:0] & ~23'((1 << (23 - KEEP)) - 1);
  wire           [30:0] finite = {tiny ? 8'd0 : field[7:0], fraction};
  wire                  beyond = field > 254;
  wire           [30:0] bits = magnitude == '0 ? '0 : beyond ? 31'h7f800000 : finite;
  assign d = {negative && bits != '0, bits};
endmodule
