// d = c + sum of a[k] * b[k]: terms aligned at the largest exponent, truncated to F fraction bits, added exactly and
// truncated once. Booth multipliers, one-hot largest exponent, carry-save sum of inverted terms, one-hot normalisation.
module dot_csa #(
    parameter int L = 4,
    parameter int F = 23,
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15,
    parameter int IEEE = 1,
    parameter int KEEP = 23
) (
    input  logic [L*(EXP+FRAC+1)-1:0] a,
    input  logic [L*(EXP+FRAC+1)-1:0] b,
    input  logic [              31:0] c,
    output logic [              31:0] d
);
  localparam int W = EXP + FRAC + 1;
  localparam int N = L + 1;
  localparam int XW = 10;
  localparam int PW = 2 * FRAC + 2;
  localparam int MW = F + 2;
  localparam int SW = 1 + F + $clog2(4 * L + 2);

  // classes of the operands
  wire [L-1:0] a_zero, b_zero, a_top, b_top, a_whole, b_whole, sign_of_product;
  wire [L-1:0] a_infinite, b_infinite, a_nan, b_nan;
  wire [N*XW-1:0] exponent;
  wire [N*MW-1:0] magnitude;
  wire [N-1:0] negative = {c[31], sign_of_product};

  for (genvar k = 0; k < L; k++) begin : g_lane
    wire [W-1:0] x = a[W*k+:W];
    wire [W-1:0] y = b[W*k+:W];
    wire x_normal = |x[W-2:FRAC];
    wire y_normal = |y[W-2:FRAC];
    assign a_zero[k]  = ~|x[W-2:0];
    assign b_zero[k]  = ~|y[W-2:0];
    assign a_top[k]   = &x[W-2:FRAC];
    assign b_top[k]   = &y[W-2:FRAC];
    assign a_whole[k] = IEEE != 0 ? ~|x[FRAC-1:0] : ~&x[FRAC-1:0];
    assign b_whole[k] = IEEE != 0 ? ~|y[FRAC-1:0] : ~&y[FRAC-1:0];
    assign sign_of_product[k] = x[W-1] ^ y[W-1];

    // exponents from -126 - 126 on; a subnormal's is one above its field, a zero's is -126
    wire [XW-1:0] x_exponent = XW'(x[W-2:FRAC]) + XW'(!x_normal) + XW'(126 - BIAS);
    wire [XW-1:0] y_exponent = XW'(y[W-2:FRAC]) + XW'(!y_normal) + XW'(126 - BIAS);
    assign exponent[XW*k+:XW] = (x_exponent & {XW{!a_zero[k]}}) + (y_exponent & {XW{!b_zero[k]}});

    wire [PW-1:0] product;
    booth_multiplier #(FRAC + 1) multiply ({x_normal, x[FRAC-1:0]}, {y_normal, y[FRAC-1:0]}, product);
    assign magnitude[MW*k+:MW] = {product, {(F - 2 * FRAC) {1'b0}}};
  end
  assign a_infinite = IEEE != 0 ? a_top & a_whole : '0;
  assign b_infinite = IEEE != 0 ? b_top & b_whole : '0;
  assign a_nan = a_top & ~a_whole;
  assign b_nan = b_top & ~b_whole;

  wire c_normal = |c[30:23];
  wire [23:0] c_significand = {c_normal, c[22:0]};
  assign exponent[XW*L+:XW] = XW'(c[30:23]) + XW'(!c_normal) + XW'(125);
  if (F >= 23) begin : g_wide_c
    assign magnitude[MW*L+:MW] = {1'b0, c_significand, {(F - 23) {1'b0}}};
  end else begin : g_narrow_c
    assign magnitude[MW*L+:MW] = {1'b0, c_significand[23:23-F]};
  end

  wire [XW-1:0] e_max;
  wire [ N-1:0] first;
  one_hot_max #(N, XW) find (exponent, e_max, first);

  // a negative term is inverted; the ones that are missing are one more row
  wire [(N+1)*SW-1:0] row;
  for (genvar k = 0; k < N; k++) begin : g_align
    wire [XW-1:0] distance = e_max - exponent[XW*k+:XW];
    wire [MW-1:0] kept;
    right_shifter #(MW, XW) shift (magnitude[MW*k+:MW], distance, kept);
    assign row[SW*k+:SW] = {{(SW - MW) {1'b0}}, kept} ^ {SW{negative[k]}};
  end
  logic [$clog2(N+1)-1:0] inverted;
  always_comb begin
    inverted = '0;
    for (int k = 0; k < N; k++) inverted = inverted + $bits(inverted)'(negative[k]);
  end
  assign row[SW*N+:SW] = SW'(inverted);

  wire [SW-1:0] sum, carry, total;
  wallace #(N + 1, SW) compress (row, sum, carry);
  prefix_adder #(SW) add (sum, carry, total);

  wire below = total[SW-1];
  wire [SW-1:0] absolute, one;
  prefix_adder #(SW) negate (total ^ {SW{below}}, SW'(below), absolute);
  leading_one #(SW) find_one (absolute, one);

  // normalised by the one-hot place of its top bit, whose exponent field follows from the same
  logic [SW-1:0] normal;
  logic [XW+1:0] place;
  always_comb begin
    normal = '0;
    place  = '0;
    for (int i = 0; i < SW; i++) begin
      normal |= one[i] ? absolute << (SW - 1 - i) : '0;
      place  |= one[i] ? (XW + 2)'(i) : '0;
    end
  end
  wire [XW+1:0] field = (XW + 2)'(e_max) + place - (XW + 2)'(125 + F);  // 252 - 127; two's complement
  wire [   SW+23:0] wide = {normal, 24'b0};
  wire [      23:0] significand = wide[SW+23-:24];
  wire              subnormal = field[XW+1] || field == '0;
  wire [  XW+1:0] missing = (XW + 2)'(1) - field;
  wire [      23:0] moved;
  right_shifter #(24, XW + 2) denormalise (significand, missing & {(XW + 2) {subnormal}}, moved);
  wire [22:0] fraction = moved[22:0] & ({23{1'b1}} << (23 - KEEP));

  wire overflow = !field[XW+1] && (field >= (XW + 2)'(255));
  wire [30:0] finite = {field[7:0] & {8{!subnormal}}, fraction};
  wire [30:0] bits = overflow ? 31'h7f800000 : finite;
  wire some = |one;

  wire c_infinite = &c[30:23] && ~|c[22:0];
  wire c_nan = &c[30:23] && |c[22:0];
  wire [N-1:0] infinite = {c_infinite, a_infinite | b_infinite};
  wire plus = |(infinite & ~negative);
  wire minus = |(infinite & negative);
  wire invalid = |(a_infinite & b_zero) || |(b_infinite & a_zero) || (plus && minus);
  wire nan = |a_nan || |b_nan || c_nan || invalid;

  always_comb begin
    if (nan) d = 32'h7fffffff;
    else if (plus || minus) d = {minus, 31'h7f800000};
    else if (!some) d = '0;
    else d = {below && |bits, bits};
  end
endmodule
