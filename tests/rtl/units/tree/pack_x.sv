// As pack.sv, normalised by a table of shifts, whose result is undefined where the magnitude is zero. Nothing looks at it
// then, so d does not depend on what it is.
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
  logic [W-1:0] normal;
  always_comb begin
    normal = 'x;
    for (int i = 0; i < W; i++) if (zeros == CW'(i)) normal = magnitude << i;
  end
  wire signed [SW-1:0] field = $signed(SW'(e_max)) + SW'(W - 1 - F + 127 - 252) - $signed(SW'(zeros));
  wire [W+23:0] wide = {normal, 24'b0};
  wire [23:0] significand = wide[W+23-:24];
  wire is_subnormal = field < 1;
  wire [SW-1:0] down = SW'(1) - field;
  wire [23:0] moved = is_subnormal ? significand >> down : significand;
  wire [22:0] fraction = moved[22:0] & ~23'((1 << (23 - KEEP)) - 1);

  logic [30:0] bits;
  always_comb begin
    unique case ({magnitude == '0, field > 254})
      2'b00: bits = {is_subnormal ? 8'd0 : field[7:0], fraction};
      2'b01: bits = 31'h7f800000;
      2'b10: bits = '0;
      default: bits = 'x;  // zero has no exponent of infinity: e_max is that of a finite c or product
    endcase
  end
  assign d = {negative && bits != '0, bits};
endmodule
