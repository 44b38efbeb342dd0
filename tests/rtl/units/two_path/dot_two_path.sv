// d = c + sum of a[k] * b[k]: terms aligned at the largest exponent, truncated to F fraction bits, added exactly and
// truncated once. c goes its own way beside the products; magnitudes of positive and of negative terms are added apart
// and subtracted once; sums of 2**e_max and more are normalised by a short shifter, smaller ones by a long one.
// Five registers, held while STALL is set. Lane 0 of a is its highest one.
module dot_two_path #(
    parameter int L = 4,
    parameter int F = 23,
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15,
    parameter int IEEE = 1
) (
    input  logic                           clk,
    input  logic                           stall,
    input  logic [0:L-1][EXP+FRAC:0]       a,
    input  logic [L-1:0][EXP+FRAC:0]       b,
    input  logic [31:0]                    c,
    output logic [31:0]                    d
);
  localparam int W = EXP + FRAC + 1;
  localparam int PW = 2 * FRAC + 2;
  localparam int XW = 11;                  // signed
  localparam int H = $clog2(4 * L + 2);    // integer bits of the sum
  localparam int MW = F + H;               // a sum of magnitudes
  localparam int TW = F + 2;               // the magnitude of a term
  localparam int DW = $clog2(TW + 1);      // a distance, clamped

  typedef logic signed [XW-1:0] exponent_t;

  function automatic exponent_t clamped(input exponent_t distance);
    return distance > exponent_t'(TW) ? exponent_t'(TW) : distance;
  endfunction

  // 1: products, and what decides about special values
  logic [L-1:0][PW-1:0] product_1, product;
  logic [L-1:0][XW-1:0] exponent_1, exponent;
  logic [L-1:0] negative_1, negative;
  logic nan_1, plus_1, minus_1, nan, plus, minus;
  logic c_negative_1;
  logic [23:0] c_significand_1, c_significand;
  exponent_t c_exponent_1, c_exponent;

  always_comb begin
    nan   = 1'b0;
    plus  = 1'b0;
    minus = 1'b0;
    for (int k = 0; k < L; k++) begin
      logic [W-1:0] x, y;
      logic x_zero, y_zero, x_special, y_special, x_infinite, y_infinite;
      exponent_t x_exponent, y_exponent;
      x = a[k];
      y = b[k];
      x_zero = x[W-2:0] == '0;
      y_zero = y[W-2:0] == '0;
      x_special = IEEE != 0 ? &x[W-2:FRAC] : &x[W-2:0];
      y_special = IEEE != 0 ? &y[W-2:FRAC] : &y[W-2:0];
      x_infinite = IEEE != 0 && x_special && x[FRAC-1:0] == '0;
      y_infinite = IEEE != 0 && y_special && y[FRAC-1:0] == '0;
      if (x_special && !x_infinite || y_special && !y_infinite) nan = 1'b1;
      if (x_infinite && y_zero || y_infinite && x_zero) nan = 1'b1;
      negative[k] = x[W-1] ^ y[W-1];
      if ((x_infinite || y_infinite) && negative[k]) minus = 1'b1;
      if ((x_infinite || y_infinite) && !negative[k]) plus = 1'b1;
      x_exponent = exponent_t'(x[W-2:FRAC]) - exponent_t'(BIAS);
      y_exponent = exponent_t'(y[W-2:FRAC]) - exponent_t'(BIAS);
      if (x[W-2:FRAC] == '0) x_exponent = x_zero ? -exponent_t'(126) : exponent_t'(1 - BIAS);
      if (y[W-2:FRAC] == '0) y_exponent = y_zero ? -exponent_t'(126) : exponent_t'(1 - BIAS);
      exponent[k] = x_exponent + y_exponent;
      product[k] = PW'({|x[W-2:FRAC], x[FRAC-1:0]}) * PW'({|y[W-2:FRAC], y[FRAC-1:0]});
    end
    if (&c[30:23] && |c[22:0]) nan = 1'b1;
    if (c[30:0] == 31'h7f800000 && c[31]) minus = 1'b1;
    if (c[30:0] == 31'h7f800000 && !c[31]) plus = 1'b1;
    if (plus && minus) nan = 1'b1;
    c_significand = {|c[30:23], c[22:0]};
    c_exponent = |c[30:23] ? exponent_t'(c[30:23]) - exponent_t'(127) : -exponent_t'(126);
  end
  always_ff @(posedge clk) begin
    if (!stall) begin
      {product_1, exponent_1, negative_1} <= {product, exponent, negative};
      {nan_1, plus_1, minus_1} <= {nan, plus, minus};
      {c_negative_1, c_significand_1, c_exponent_1} <= {c[31], c_significand, c_exponent};
    end
  end

  // 2: the largest exponent of the products, then that with c; distances
  exponent_t e_products, e_max, e_max_2, e_max_3, e_max_4, e_max_5, ahead, behind;
  logic [L:0][DW-1:0] distance, distance_2;
  logic [L-1:0][PW-1:0] product_2;
  logic [23:0] c_significand_2;
  logic [L:0] negative_2, negative_3;
  logic [2:0] special_2, special_3, special_4, special_5;
  always_comb begin
    e_products = exponent_t'(exponent_1[0]);
    for (int k = 1; k < L; k++) if (exponent_t'(exponent_1[k]) > e_products) e_products = exponent_t'(exponent_1[k]);
    ahead  = c_exponent_1 > e_products ? c_exponent_1 - e_products : '0;
    behind = c_exponent_1 > e_products ? '0 : e_products - c_exponent_1;
    e_max  = e_products + ahead;
    for (int k = 0; k < L; k++) distance[k] = DW'(clamped(e_products - exponent_t'(exponent_1[k]) + ahead));
    distance[L] = DW'(clamped(behind));
  end
  always_ff @(posedge clk) begin
    if (!stall) begin
      {product_2, c_significand_2, distance_2, e_max_2} <= {product_1, c_significand_1, distance, e_max};
      {negative_2, special_2} <= {c_negative_1, negative_1, nan_1, plus_1, minus_1};
    end
  end

  // 3: aligned magnitudes
  logic [L:0][TW-1:0] kept, kept_3;
  always_comb begin
    for (int k = 0; k < L; k++) kept[k] = (TW'(product_2[k]) << (F - 2 * FRAC)) >> distance_2[k];
    kept[L] = TW'({c_significand_2, {F{1'b0}}} >> 23) >> distance_2[L];
  end
  always_ff @(posedge clk) begin
    if (!stall) {kept_3, negative_3, e_max_3, special_3} <= {kept, negative_2, e_max_2, special_2};
  end

  // 4: positive and negative terms by themselves
  logic [MW-1:0] positives, negatives, positives_4, negatives_4;
  always_comb begin
    positives = '0;
    negatives = '0;
    for (int k = 0; k <= L; k++) begin
      positives = positives + (MW'(kept_3[k]) & {MW{!negative_3[k]}});
      negatives = negatives + (MW'(kept_3[k]) & {MW{negative_3[k]}});
    end
  end
  always_ff @(posedge clk) begin
    if (!stall) {positives_4, negatives_4, e_max_4, special_4} <= {positives, negatives, e_max_3, special_3};
  end

  // 5: one difference, and the same with its sign turned
  logic [MW-1:0] magnitude_5;
  logic below_5;
  wire [MW:0] forwards = {1'b0, positives_4} - {1'b0, negatives_4};
  wire [MW-1:0] backwards = negatives_4 - positives_4;
  always_ff @(posedge clk) begin
    if (!stall) begin
      magnitude_5 <= forwards[MW] ? backwards : forwards[MW-1:0];
      {below_5, e_max_5, special_5} <= {forwards[MW], e_max_4, special_4};
    end
  end

  // two paths of normalisation: bits above the point, bits below
  wire is_far = |magnitude_5[MW-1:F];
  logic [MW-1:0] far, near;
  exponent_t far_place, near_place;
  always_comb begin
    far = magnitude_5;
    far_place = '0;
    for (int i = 0; i < H; i++) begin
      if (magnitude_5[F+i]) begin
        far = magnitude_5 << (H - 1 - i);
        far_place = exponent_t'(i);
      end
    end
    near = '0;
    near_place = '0;
    for (int i = 0; i < F; i++) begin
      if (magnitude_5[i]) begin
        near = {magnitude_5[F-1:0], {H{1'b0}}} << (F - 1 - i);
        near_place = exponent_t'(i - F);
      end
    end
  end
  wire [MW-1:0] normal = is_far ? far : near;
  wire exponent_t field = e_max_5 + (is_far ? far_place : near_place) + exponent_t'(127);
  wire is_subnormal = field <= 0;
  wire exponent_t missing = exponent_t'(1) - field;
  wire [MW+23:0] wide = {normal, 24'b0};
  wire [23:0] significand = wide[MW+23-:24];
  wire [23:0] moved = is_subnormal ? significand >> missing : significand;
  logic [30:0] rest;
  always_comb begin
    rest = {is_subnormal ? 8'b0 : field[7:0], moved[22:0]};
    if (field > exponent_t'(254)) rest = 31'h7f800000;
    if (magnitude_5 == '0) rest = '0;
    casez (special_5)
      3'b1??: d = 32'h7fffffff;
      3'b01?: d = 32'h7f800000;
      3'b001: d = 32'hff800000;
      3'b000: d = {below_5 && |rest, rest};
      default: d = 'x;
    endcase
  end
endmodule
