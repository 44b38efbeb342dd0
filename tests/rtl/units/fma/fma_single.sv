// d = a * b + c, rounded to nearest even once: one path, the addend aligned from the left of the product.
module fma_single #(
    parameter int SE = 5,   // exponent bits of a and b
    parameter int SM = 10,  // and their fraction bits
    parameter int DE = 8,   // the same of c and d
    parameter int DM = 23
) (
    input  logic [SE+SM:0] a,
    input  logic [SE+SM:0] b,
    input  logic [DE+DM:0] c,
    output logic [DE+DM:0] d
);
  localparam int P = DM + 1;
  localparam int PS = SM + 1;
  localparam int W = 3 * P + 4;  // the window: the addend, two bits, the product, two bits
  localparam int XW = DE + 3;
  localparam int BS = (1 << (SE - 1)) - 1;
  localparam int BD = (1 << (DE - 1)) - 1;
  localparam int SW = $clog2(W + 1);

  wire sa = a[SE+SM], sb = b[SE+SM], sc = c[DE+DM];
  wire [SE-1:0] xa = a[SM+:SE], xb = b[SM+:SE];
  wire [DE-1:0] xc = c[DM+:DE];
  wire na = xa != 0, nb = xb != 0, nc = xc != 0;
  wire [PS-1:0] ma = {na, a[SM-1:0]}, mb = {nb, b[SM-1:0]};
  wire [P-1:0] mc = {nc, c[DM-1:0]};
  wire top_a = &xa, top_b = &xb, top_c = &xc;
  wire zero_a = ma == 0, zero_b = mb == 0;
  wire inf_a = top_a && a[SM-1:0] == 0, inf_b = top_b && b[SM-1:0] == 0, inf_c = top_c && c[DM-1:0] == 0;
  wire nan_a = top_a && !inf_a, nan_b = top_b && !inf_b, nan_c = top_c && !inf_c;

  // exponents with the bias of d; that of a product that is zero lies below all others
  wire sp = sa ^ sb;
  wire signed [XW-1:0] exponent_c = $signed(XW'(xc)) + $signed({{(XW - 1) {1'b0}}, !nc});
  wire signed [XW-1:0] exponent_p = (zero_a || zero_b) ? XW'(2 - 2 * BS) :
      $signed(XW'(xa)) + $signed({{(XW - 1) {1'b0}}, !na}) + $signed(XW'(xb)) + $signed({{(XW - 1) {1'b0}}, !nb}) +
      XW'(BD - 2 * BS);
  wire signed [XW-1:0] apart = exponent_c - exponent_p;
  wire anchored = apart >= XW'(P + 3);
  wire beyond = apart < -XW'(2 * P + 1);
  wire [SW-1:0] right = anchored ? '0 : beyond ? SW'(W) : SW'(XW'(P + 3) - apart);

  wire [2*PS-1:0] product = ma * mb;
  wire [W-1:0] product_at = W'(product) << (2 + 2 * (P - PS));
  wire [W+P-1:0] moved = {mc, {W{1'b0}}} >> right;
  wire [W-1:0] addend = moved[P+:W];
  wire sticky_low = moved[P-1:0] != 0;

  wire subtract = sp ^ sc;
  wire [W:0] sum = {1'b0, product_at} + (subtract ? {1'b1, ~addend} : {1'b0, addend}) + (W + 1)'(subtract && !sticky_low);
  wire negative = sum[W];
  wire [W-1:0] magnitude = negative ? -sum[W-1:0] : sum[W-1:0];
  wire sign = subtract ? (negative ? sc : sp) : sp;

  // the exponent of the highest bit of the window, and how far the highest set bit lies below it
  logic [SW-1:0] zeros;
  always_comb begin
    zeros = SW'(W);
    for (int i = 0; i < W; i++) if (magnitude[i]) zeros = SW'(W - 1 - i);
  end
  wire signed [XW-1:0] exponent_top = anchored ? exponent_c : exponent_p + XW'(P + 3);
  wire signed [XW-1:0] exponent = exponent_top - $signed(XW'(zeros));
  wire subnormal = exponent < 1;
  wire signed [XW-1:0] to_lowest = exponent_top - XW'(1);
  wire far_below = to_lowest < 0;
  wire [XW-1:0] left = subnormal ? (far_below ? '0 : to_lowest) : XW'(zeros);
  wire [XW-1:0] down = far_below ? -to_lowest : '0;
  wire [W-1:0] top = magnitude << left;
  wire [W-1:0] placed = top >> down;
  wire sticky = sticky_low || placed[W-P-2:0] != 0 || (placed << down) != top;
  wire [DM-1:0] fraction = placed[W-2-:DM];
  wire [DE+DM-1:0] cut = {subnormal ? '0 : exponent[DE-1:0], fraction};
  wire half = placed[W-P-1];
  wire [DE+DM-1:0] rounded = cut + (DE + DM)'(half && (sticky || fraction[0]));
  wire too_large = exponent >= $signed(XW'((1 << DE) - 1)) || &rounded[DE+DM-1:DM];
  wire [DE+DM-1:0] finite = too_large ? {{DE{1'b1}}, {DM{1'b0}}} : rounded;

  wire exact_zero = magnitude == 0 && !sticky_low;
  wire invalid = inf_a && zero_b || zero_a && inf_b || (inf_a || inf_b) && inf_c && subtract;
  wire nan = nan_a || nan_b || nan_c || invalid;
  wire infinite = inf_a || inf_b || inf_c;
  assign d = nan ? {1'b0, {DE{1'b1}}, 1'b1, {(DM - 1) {1'b0}}} :
      infinite ? {inf_c ? sc : sp, {DE{1'b1}}, {DM{1'b0}}} :
      exact_zero ? {sp && sc, {(DE + DM) {1'b0}}} : {sign, finite};
endmodule
