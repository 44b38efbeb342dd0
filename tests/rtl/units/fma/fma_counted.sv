// d = a * b + c, rounded to nearest even once. The shift of the addend is clamped. Where terms may cancel, the sum is
// normalised by a count of its zeros, and one place at most where the addend is larger.
module fma_counted #(
    parameter int SE = 8,   // exponent bits of a and b
    parameter int SM = 7,   // and their fraction bits
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
  localparam int W = 3 * P + 4;
  localparam int LOW = 2 * P + 3;  // bits of the sum in which a sum that cancelled begins
  localparam int XW = (DE > SE ? DE : SE) + 3;
  localparam int SW = $clog2(W + 1);
  localparam int BIAS = (1 << (DE - 1)) - 1 - 2 * ((1 << (SE - 1)) - 1);

  typedef struct packed {
    logic normal, zero, infinite, nan;
  } kind_t;

  function automatic kind_t kind(input logic [DE+SE-1:0] field, input logic [DE+SE-1:0] top, input logic rest);
    kind.normal = field != 0;
    kind.zero = field == 0 && !rest;
    kind.infinite = field == top && !rest;
    kind.nan = field == top && rest;
  endfunction

  localparam int TOP_S = (1 << SE) - 1, TOP_D = (1 << DE) - 1;
  kind_t of_a, of_b, of_c;
  assign of_a = kind(a[SM+:SE], TOP_S, |a[SM-1:0]);
  assign of_b = kind(b[SM+:SE], TOP_S, |b[SM-1:0]);
  assign of_c = kind(c[DM+:DE], TOP_D, |c[DM-1:0]);
  wire minus = a[SE+SM] ^ b[SE+SM];
  wire opposite = minus ^ c[DE+DM];

  // exponents
  wire signed [XW-1:0] e_a = {1'b0, a[SM+:SE]}, e_b = {1'b0, b[SM+:SE]}, e_c = {1'b0, c[DM+:DE]};
  wire signed [XW-1:0] exponent_c = e_c + $signed({1'b0, !of_c.normal});
  wire signed [XW-1:0] exponent_p = of_a.zero || of_b.zero ? XW'(BIAS - TOP_D) :
      e_a + e_b + $signed({1'b0, !of_a.normal}) + $signed({1'b0, !of_b.normal}) + XW'(BIAS);
  wire signed [XW-1:0] above = exponent_c - exponent_p;
  wire [SW-1:0] amount = above <= -XW'(2 * P + 1) ? SW'(W) : above <= XW'(P + 2) ? SW'(XW'(P + 3) - above) : '0;

  // significands
  wire [PS-1:0] m_a = {of_a.normal, a[SM-1:0]}, m_b = {of_b.normal, b[SM-1:0]};
  wire [2*PS-1:0] product = m_a * m_b;
  wire [W-1:0] shifted_product = {{P{1'b0}}, 2'b00, product, {(2 * (P - PS) + 2) {1'b0}}};
  wire [W-1:0] addend;
  wire [P-1:0] beneath;
  assign {addend, beneath} = {of_c.normal, c[DM-1:0], {W{1'b0}}} >> amount;
  wire lost = |beneath;
  wire [W-1:0] inverted = opposite ? ~addend : addend;
  wire carry_in = opposite && !lost;
  wire [W:0] raw = shifted_product + inverted + carry_in;
  wire larger_c = opposite && !raw[W];
  wire [W-1:0] sum = larger_c ? -raw[W-1:0] : raw[W-1:0];
  wire sign = opposite ? (larger_c ? c[DE+DM] : minus) : minus;

  // normalisation
  logic [SW-1:0] zeros;
  always_comb begin
    zeros = SW'(LOW);
    for (int i = 0; i < LOW; i++) if (sum[i]) zeros = SW'(LOW - 1 - i);
  end
  wire near = above <= 0 || opposite && above <= 2;
  wire signed [XW-1:0] counted = exponent_p + XW'(2) - $signed({1'b0, zeros});
  wire enough = counted > 0;
  wire [SW-1:0] left = !near ? amount : enough ? SW'(P + 1) + zeros : SW'(XW'(P + 2) + exponent_p);
  wire signed [XW-1:0] first = !near ? exponent_c : enough ? counted : XW'(1);
  wire [W:0] moved = {1'b0, sum} << left;
  // one place to the right, none, or one to the left; the highest bit is the integer bit then
  wire right = moved[W], none = moved[W-1] || first <= 1;
  wire [W:0] placed = right ? moved : none ? moved << 1 : moved << 2;
  wire signed [XW-1:0] exponent = right ? first + XW'(1) : none ? first : first - XW'(1);
  wire [DE-1:0] field = placed[W] ? exponent[DE-1:0] : '0;

  // rounding
  wire half = placed[W-P];
  wire sticky = lost || |placed[W-P-1:0];
  wire [DE+DM-1:0] cut = {field, placed[W-1-:DM]};
  wire [DE+DM-1:0] rounded = cut + (DE + DM)'(half && (sticky || cut[0]));
  wire overflow = exponent >= XW'(TOP_D) || &rounded[DM+:DE];
  wire [DE+DM-1:0] finite = overflow ? {{DE{1'b1}}, {DM{1'b0}}} : rounded;

  wire invalid = of_a.infinite && of_b.zero || of_a.zero && of_b.infinite ||
      (of_a.infinite || of_b.infinite) && of_c.infinite && opposite;
  always_comb begin
    d = {sign, finite};
    if (sum == 0 && !lost) d = {minus && c[DE+DM], {(DE + DM) {1'b0}}};
    if (of_a.infinite || of_b.infinite) d = {minus, {DE{1'b1}}, {DM{1'b0}}};
    if (of_c.infinite) d = {c[DE+DM], {DE{1'b1}}, {DM{1'b0}}};
    if (of_a.nan || of_b.nan || of_c.nan || invalid) d = {1'b0, {DE{1'b1}}, 1'b1, {(DM - 1) {1'b0}}};
  end
endmodule
