// The products are aligned at their largest exponent, truncated to F fraction bits and added. Their sum, with F2 fraction
// bits, and c, with F, are then rounded down at the larger of both exponents, added, and rounded to nearest even.
module dot_late_join #(
    parameter int L = 4,
    parameter int F = 24,
    parameter int F2 = 31,
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15
) (
    input  logic [L-1:0][EXP+FRAC:0] a,
    input  logic [L-1:0][EXP+FRAC:0] b,
    input  logic [31:0]              c,
    output logic [31:0]              d
);
  localparam int PW = 2 * FRAC + 2;
  localparam int H = $clog2(4 * L + 2);   // integer bits of either sum
  localparam int SW = 1 + H + F;          // the sum of the products
  localparam int TW = 1 + H + F2;         // the sum with c

  function automatic logic [8:0] exponent_of(input logic [EXP-1:0] field, input logic zero);
    // offset by 126, the exponent that a zero reads
    if (zero) return 9'd0;
    return 9'(126 - BIAS) + (field == '0 ? 9'd1 : 9'(field));
  endfunction

  logic [L-1:0] negative, invalid, infinite;
  logic [9:0] exponent[0:L-1];  // offset by 252
  logic [PW-1:0] product[0:L-1];
  for (genvar k = 0; k < L; k++) begin : g_product
    wire a_negative, b_negative;
    wire [EXP-1:0] ea, eb;
    wire [FRAC-1:0] fa, fb;
    assign {a_negative, ea, fa} = a[k];
    assign {b_negative, eb, fb} = b[k];
    wire a_zero = {ea, fa} == '0;
    wire b_zero = {eb, fb} == '0;
    wire a_top = &ea;
    wire b_top = &eb;
    assign negative[k] = a_negative ^ b_negative;
    assign infinite[k] = (a_top && fa == '0) || (b_top && fb == '0);
    assign invalid[k]  = (a_top && fa != '0) || (b_top && fb != '0) || (infinite[k] && (a_zero || b_zero));
    assign exponent[k] = {1'b0, exponent_of(ea, a_zero)} + {1'b0, exponent_of(eb, b_zero)};
    assign product[k]  = PW'({ea != '0, fa}) * PW'({eb != '0, fb});
  end

  // the largest exponent: it is not below any other one
  logic [L-1:0][L-1:0] lower;
  logic [L-1:0][9:0] marked;
  for (genvar i = 0; i < L; i++) begin : g_largest
    for (genvar j = 0; j < L; j++) begin : g_other
      assign lower[i][j] = exponent[i] < exponent[j];
    end
    assign marked[i] = exponent[i] & {10{lower[i] == '0}};
  end
  logic [9:0] e_products;
  always @* begin
    e_products = '0;
    for (int i = 0; i < L; i++) e_products = e_products | marked[i];
  end

  logic [L-1:0][SW-1:0] term;
  for (genvar k = 0; k < L; k++) begin : g_term
    wire [F+1:0] kept = {product[k], {(F - 2 * FRAC) {1'b0}}} >> (e_products - exponent[k]);
    assign term[k] = negative[k] ? ~SW'(kept) + SW'(1) : SW'(kept);
  end
  logic signed [SW-1:0] of_products;
  always @* begin
    of_products = '0;
    for (int k = 0; k < L; k++) of_products = of_products + term[k];
  end

  // both are rounded towards minus infinity
  wire c_normal = |c[30:23];
  wire [9:0] e_c = 10'(c[30:23]) + (c_normal ? 10'd125 : 10'd126);
  wire c_above = e_c > e_products;
  wire [9:0] e_max = c_above ? e_c : e_products;
  wire signed [TW-1:0] wide_products = {of_products, {(F2 - F) {1'b0}}};
  wire signed [TW-1:0] first = wide_products >>> (e_max - e_products);
  wire [F:0] c_magnitude = {c_normal, c[22:0], {(F - 23) {1'b0}}};
  wire signed [F+1:0] c_signed = c[31] ? -$signed({1'b0, c_magnitude}) : $signed({1'b0, c_magnitude});
  wire signed [F+1:0] c_down = c_signed >>> (e_max - e_c);
  wire signed [TW-1:0] second = $signed({{(TW - F2 - 2) {c_down[F+1]}}, c_down, {(F2 - F) {1'b0}}});
  wire signed [TW-1:0] total = first + second;

  // normalised, at most down to the smallest exponent; then guard and sticky bits decide
  wire below = total < 0;
  wire [TW-1:0] magnitude = below ? -total : total;
  wire [9:0] most = e_max + 10'(TW - 1 - F2) - 10'd126;
  logic [9:0] leading;
  always @* begin
    leading = 10'(TW);
    for (int i = 0; i < TW; i++) if (magnitude[i]) leading = 10'(TW - 1 - i);
  end
  wire [9:0] places = leading < most ? leading : most;
  wire [TW-1:0] normal = magnitude << places;
  wire [9:0] field = normal[TW-1] ? most + 10'd1 - places : '0;
  wire half = normal[TW-25];
  wire above_half = |normal[TW-26:0];
  wire odd = normal[TW-24];
  wire [32:0] rounded = {field, normal[TW-2-:23]} + 33'(half && (above_half || odd));
  wire [30:0] rest = rounded[32:23] > 10'd254 ? 31'h7f800000 : rounded[30:0];

  wire c_special = &c[30:23];
  wire c_infinite = c_special && c[22:0] == '0;
  wire plus = |(infinite & ~negative) || (c_infinite && !c[31]);
  wire minus = |(infinite & negative) || (c_infinite && c[31]);
  wire nan = |invalid || (c_special && !c_infinite) || (plus && minus);
  assign d = nan ? 32'h7fc00000 : plus ? 32'h7f800000 : minus ? 32'hff800000 : {below, rest};
endmodule
