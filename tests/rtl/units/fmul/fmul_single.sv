// d = x * y, rounded to nearest even: subnormal operands are normalised first.
module fmul_single #(
    parameter int E = 8,
    parameter int M = 23
) (
    input  logic [E+M:0] x,
    input  logic [E+M:0] y,
    output logic [E+M:0] d
);
  localparam int P = M + 1;
  localparam int SW = $clog2(P + 1);
  localparam int XW = E + 3;
  localparam int BIAS = (1 << (E - 1)) - 1;
  localparam int DW = $clog2(2 * P + 2);

  function automatic logic [SW-1:0] zeros_of(input logic [P-1:0] word);
    zeros_of = SW'(P);
    for (int i = 0; i < P; i++) if (word[i]) zeros_of = SW'(P - 1 - i);
  endfunction

  wire [E-1:0] fx = x[M+:E], fy = y[M+:E];
  wire [P-1:0] rx = {fx != 0, x[M-1:0]}, ry = {fy != 0, y[M-1:0]};
  wire [SW-1:0] zx = zeros_of(rx), zy = zeros_of(ry);
  wire [P-1:0] mx = rx << zx, my = ry << zy;
  wire signed [XW-1:0] exponent_x = $signed(XW'(fx)) + $signed({{(XW - 1) {1'b0}}, fx == 0}) - $signed(XW'(zx));
  wire signed [XW-1:0] exponent_y = $signed(XW'(fy)) + $signed({{(XW - 1) {1'b0}}, fy == 0}) - $signed(XW'(zy));

  wire [2*P-1:0] product = mx * my;
  wire high = product[2*P-1];
  wire [2*P-1:0] top = high ? product : product << 1;
  wire signed [XW-1:0] exponent = exponent_x + exponent_y - XW'(BIAS) + $signed({{(XW - 1) {1'b0}}, high});
  // a result below the normal ones moves to the right
  wire below = exponent < 1;
  wire signed [XW-1:0] deficit = XW'(1) - exponent;
  wire [DW-1:0] down = !below ? '0 : deficit > XW'(2 * P) ? DW'(2 * P) : deficit[DW-1:0];
  wire [4*P-1:0] wide = {top, {(2 * P) {1'b0}}} >> down;
  wire [2*P-1:0] placed = wide[4*P-1:2*P];
  wire sticky = wide[3*P-2:0] != 0;
  wire half = wide[3*P-1];
  wire [E-1:0] field = below ? '0 : exponent[E-1:0];
  wire [E+M-1:0] rounded = {field, placed[2*P-2-:M]} + (E + M)'(half && (sticky || placed[P]));
  wire too_large = exponent > XW'((1 << E) - 2) || &rounded[M+:E];

  wire sign = x[E+M] ^ y[E+M];
  wire zero_x = rx == 0, zero_y = ry == 0;
  wire inf_x = &fx && x[M-1:0] == 0, inf_y = &fy && y[M-1:0] == 0;
  wire nan = &fx && !inf_x || &fy && !inf_y || inf_x && zero_y || zero_x && inf_y;
  assign d = nan ? {1'b0, {E{1'b1}}, 1'b1, {(M - 1) {1'b0}}} :
      zero_x || zero_y ? {sign, {(E + M) {1'b0}}} :
      inf_x || inf_y || too_large ? {sign, {E{1'b1}}, {M{1'b0}}} : {sign, rounded};
endmodule
