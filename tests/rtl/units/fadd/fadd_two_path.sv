// d = x + y, rounded to nearest even. Near path: a subtraction of neighbouring exponents, whose leading zeros are
// anticipated and whose result is exact. Far path: anything else, normalised by one place and rounded.
module fadd_two_path #(
    parameter int E = 8,
    parameter int M = 23
) (
    input  logic [E+M:0] x,
    input  logic [E+M:0] y,
    output logic [E+M:0] d
);
  localparam int P = M + 1;
  localparam int W = P + 3;
  localparam int SW = $clog2(P + 2);

  wire [E-1:0] ex = x[M+:E] | E'(x[M+:E] == 0);
  wire [E-1:0] ey = y[M+:E] | E'(y[M+:E] == 0);
  wire [P-1:0] mx = {x[M+:E] != 0, x[M-1:0]};
  wire [P-1:0] my = {y[M+:E] != 0, y[M-1:0]};
  wire sx = x[E+M], sy = y[E+M];
  wire subtract = sx ^ sy;
  wire [E:0] apart = {1'b0, ex} - {1'b0, ey};
  wire y_above = apart[E];
  wire [E-1:0] distance = y_above ? -apart[E-1:0] : apart[E-1:0];
  wire [E-1:0] exponent = y_above ? ey : ex;

  // near: the two exponents are equal, or differ by one
  wire [P:0] near_x = y_above ? {1'b0, mx} : {mx, 1'b0};
  wire [P:0] near_y = !y_above && apart[0] ? {1'b0, my} : {my, 1'b0};
  wire y_larger = near_y > near_x;
  wire [P:0] upper = y_larger ? near_y : near_x;
  wire [P:0] lower = y_larger ? near_x : near_y;
  wire [P:0] difference = upper - lower;
  wire [P:0] indicator;
  lza #(P + 1) anticipate (upper, lower, indicator);
  wire [SW-1:0] zeros;
  count_zeros #(P + 1, SW) count (indicator, zeros);
  wire [E-1:0] most = exponent - 1'b1;
  wire limited = E'(zeros) >= most;
  wire [E-1:0] by = limited ? most : E'(zeros);
  wire [P:0] first = difference << by;
  wire again = !first[P] && !limited;
  wire [P:0] near = again ? first << 1 : first;
  wire [E-1:0] near_field = near[P] ? exponent - by - E'(again) : '0;
  wire near_up = near[0] && near[1];  // a tie, to even
  wire [E+M-1:0] near_result = {near_field, near[P-1:1]} + (E + M)'(near_up);
  wire near_sign = difference != 0 && (y_larger ? sy : sx);

  // far
  wire [P-1:0] top = y_above ? my : mx;
  wire [P-1:0] low = y_above ? mx : my;
  wire beyond = distance > E'(W);
  wire [2*W-1:0] moved = beyond ? (2 * W)'(low != 0) : {low, {(2 * W - P) {1'b0}}} >> distance;
  wire [W-1:0] aligned = {moved[2*W-1:W+1], moved[W:0] != 0};
  wire [W:0] operand = subtract ? ~{1'b0, aligned} : {1'b0, aligned};
  wire [W:0] total = {1'b0, top, 3'b000} + operand + (W + 1)'(subtract);
  // a carry moves the result to the right, a borrow to the left
  wire carried = total[W];
  wire borrowed = !total[W] && !total[W-1] && exponent != 1;
  wire [W:0] placed = carried ? total : borrowed ? total << 2 : total << 1;
  wire [E-1:0] far_field = carried ? exponent + 1'b1 : borrowed ? exponent - 1'b1 : placed[W] ? exponent : '0;
  wire far_up = placed[3] && (placed[4] || placed[2:0] != 0);
  wire [E+M:0] far_rounded = {1'b0, far_field, placed[W-1-:M]} + (E + M + 1)'(far_up);
  wire too_large = &far_rounded[M+:E];
  wire [E+M-1:0] far_result = too_large ? {{E{1'b1}}, {M{1'b0}}} : far_rounded[E+M-1:0];
  wire far_sign = y_above ? sy : sx;

  wire is_near = subtract && distance < 2;
  wire x_special = &x[M+:E], y_special = &y[M+:E];
  wire nan = x_special && x[M-1:0] != 0 || y_special && y[M-1:0] != 0 || x_special && y_special && subtract;
  assign d = nan ? {1'b0, {E{1'b1}}, 1'b1, {(M - 1) {1'b0}}} : x_special ? x : y_special ? y :
      is_near ? {near_sign, near_result} : {far_sign, far_result};
endmodule
