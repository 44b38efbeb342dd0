// d = x * y, rounded to nearest even: Booth's digits and a Wallace tree; the product is normalised, and half a unit is
// injected before it is cut.
module fmul_booth #(
    parameter int E = 8,
    parameter int M = 23
) (
    input  logic [E+M:0] x,
    input  logic [E+M:0] y,
    output logic [E+M:0] d
);
  localparam int P = M + 1;
  localparam int W = 2 * P;
  localparam int SW = $clog2(W + 1);
  localparam int XW = E + 3;
  localparam int BIAS = (1 << (E - 1)) - 1;

  wire [E-1:0] fx = x[M+:E], fy = y[M+:E];
  wire sub_x = fx == 0, sub_y = fy == 0;
  wire [P-1:0] mx = {!sub_x, x[M-1:0]}, my = {!sub_y, y[M-1:0]};
  wire [W-1:0] product;
  booth_multiplier #(P) multiply (mx, my, product);

  wire [SW-1:0] zeros;
  count_zeros #(W, SW) count (product, zeros);
  // the exponent of the highest bit of the product's word
  wire signed [XW-1:0] exponent_top = $signed({3'b0, fx}) + $signed({{(XW - 1) {1'b0}}, sub_x}) + $signed({3'b0, fy}) +
      $signed({{(XW - 1) {1'b0}}, sub_y}) + XW'(1 - BIAS);
  wire signed [XW-1:0] room = exponent_top - XW'(1);  // places to the left that keep a normal exponent
  wire to_right = room < 0;
  wire held = room < $signed({{(XW - SW) {1'b0}}, zeros});
  wire [XW-1:0] left = to_right ? '0 : held ? room : XW'(zeros);
  wire [XW-1:0] right = to_right ? -room : '0;
  wire [W-1:0] up = product << left;
  wire [W-1:0] placed = up >> right;
  wire lost = (placed << right) != up;

  wire [W:0] injected = {1'b0, placed} + {{(P + 1) {1'b0}}, 1'b1, {(W - P - 1) {1'b0}}};
  wire tie = placed[W-P-1] && placed[W-P-2:0] == 0 && !lost;
  wire [P:0] cut = {injected[W:W-P+1], injected[W-P] & ~tie};
  wire signed [XW-1:0] exponent = exponent_top - $signed(left) + $signed({{(XW - 1) {1'b0}}, cut[P]}) + $signed(right);
  wire normal = cut[P] || cut[P-1];
  wire [M-1:0] fraction = cut[P] ? cut[M:1] : cut[M-1:0];
  wire too_large = exponent > XW'((1 << E) - 2);

  wire sign = x[E+M] ^ y[E+M];
  wire zero_x = mx == 0, zero_y = my == 0;
  wire inf_x = &fx && x[M-1:0] == 0, inf_y = &fy && y[M-1:0] == 0;
  wire nan = &fx && !inf_x || &fy && !inf_y || inf_x && zero_y || zero_x && inf_y;
  wire infinite = inf_x || inf_y || (normal && too_large && !zero_x && !zero_y);
  assign d = nan ? {1'b0, {E{1'b1}}, 1'b1, {(M - 1) {1'b0}}} :
      infinite ? {sign, {E{1'b1}}, {M{1'b0}}} : {sign, normal ? exponent[E-1:0] : {E{1'b0}}, fraction};
endmodule
