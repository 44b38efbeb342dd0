// d = c + sum of a[k] * b[k]: terms aligned at the largest exponent, truncated to F fraction bits, added exactly and
// truncated once. A term is aligned in two steps, at the largest exponent of its group of four and then at that of all
// groups: cut twice, it is cut as once. The normalising shift stops at the smallest exponent.

// Four exponents in descending order (a network of five comparators).
module sort_four #(
    parameter int W = 9
) (
    input  logic [4*W-1:0] x,
    output logic [4*W-1:0] descending
);
  logic [W-1:0] r0, r1, r2, r3, t;
  always @* begin
    {r3, r2, r1, r0} = x;
    t = '0;
    if (r0 < r1) begin t = r0; r0 = r1; r1 = t; end
    if (r2 < r3) begin t = r2; r2 = r3; r3 = t; end
    if (r0 < r2) begin t = r0; r0 = r2; r2 = t; end
    if (r1 < r3) begin t = r1; r1 = r3; r3 = t; end
    if (r1 < r2) begin t = r1; r1 = r2; r2 = t; end
    descending = {r3, r2, r1, r0};
  end
endmodule

// Rows of partial products, added one after the other.
module array_multiplier #(
    parameter int N = 11
) (
    input  logic [  N-1:0] x,
    input  logic [  N-1:0] y,
    output logic [2*N-1:0] product
);
  always @* begin
    product = '0;
    for (int i = 0; i < N; i++) if (y[i]) product = product + ((2 * N)'(x) << i);
  end
endmodule

// x shifted left until its top bit is set, but by LIMIT places at most.
module limited_normaliser #(
    parameter int W = 29,
    parameter int LW = 10
) (
    input  logic [ W-1:0] x,
    input  logic [LW-1:0] limit,
    output logic [ W-1:0] shifted,
    output logic [LW-1:0] places
);
  localparam int STAGES = $clog2(W);
  logic [LW-1:0] left;
  always @* begin
    shifted = x;
    places  = '0;
    left    = limit;
    for (int i = STAGES - 1; i >= 0; i--) begin
      // the top 2**i bits are empty: all of them are shifted out where the limit allows it
      if ((shifted >> (W - (1 << i))) == '0 && left >= LW'(1 << i)) begin
        shifted = shifted << (1 << i);
        places  = places + LW'(1 << i);
        left    = left - LW'(1 << i);
      end
    end
  end
endmodule

module dot_two_step #(
    parameter int L = 4,
    parameter int F = 23,
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15,
    parameter int IEEE = 1,
    parameter int KEEP = 23
) (
    input  logic [L-1:0]             a_sign,
    input  logic [L-1:0]             b_sign,
    input  logic [L*(EXP+FRAC)-1:0]  a_rest,
    input  logic [L*(EXP+FRAC)-1:0]  b_rest,
    input  logic                     c_sign,
    input  logic [7:0]               c_exponent,
    input  logic [22:0]              c_fraction,
    output logic                     d_sign,
    output logic [30:0]              d_rest
);
  localparam int R = EXP + FRAC;
  localparam int XW = 9;
  localparam int PW = 2 * FRAC + 2;
  localparam int MW = F + 2;
  localparam int GROUPS = L / 4 + 1;  // c is alone in the last one
  localparam int T = 4 * GROUPS;
  localparam int SW = 1 + F + $clog2(4 * L + 2);
  localparam int LW = 10;

  logic [T-1:0][XW-1:0] exponent;  // offset by 252
  logic [T-1:0][MW-1:0] whole;
  logic [T-1:0]         negative;
  logic [L-1:0]         invalid, infinite, a_is_nan, b_is_nan;

  for (genvar k = 0; k < L; k++) begin : g_product
    wire [ EXP-1:0] ea = a_rest[R*k+FRAC+:EXP];
    wire [ EXP-1:0] eb = b_rest[R*k+FRAC+:EXP];
    wire [FRAC-1:0] fa = a_rest[R*k+:FRAC];
    wire [FRAC-1:0] fb = b_rest[R*k+:FRAC];
    wire a_is_zero = a_rest[R*k+:R] == '0;
    wire b_is_zero = b_rest[R*k+:R] == '0;
    wire a_infinite = IEEE != 0 && &ea && fa == '0;
    wire b_infinite = IEEE != 0 && &eb && fb == '0;
    assign a_is_nan[k] = &ea && (IEEE != 0 ? |fa : &fa);
    assign b_is_nan[k] = &eb && (IEEE != 0 ? |fb : &fb);
    assign invalid[k]  = (a_infinite && b_is_zero) || (b_infinite && a_is_zero);
    assign infinite[k] = a_infinite || b_infinite;
    assign negative[k] = a_sign[k] != b_sign[k];

    logic [XW-1:0] xa, xb;
    always @* begin
      unique case (1'b1)
        a_is_zero: xa = '0;
        !a_is_zero && ea == '0: xa = XW'(127 - BIAS);
        default: xa = XW'(ea) + XW'(126 - BIAS);
      endcase
      unique case (1'b1)
        b_is_zero: xb = '0;
        !b_is_zero && eb == '0: xb = XW'(127 - BIAS);
        default: xb = XW'(eb) + XW'(126 - BIAS);
      endcase
    end
    assign exponent[k] = xa + xb;
    wire [PW-1:0] product;
    array_multiplier #(FRAC + 1) multiply ({|ea, fa}, {|eb, fb}, product);
    assign whole[k] = {product, {(F - 2 * FRAC) {1'b0}}};
  end

  // the group of c, and three empty places beside it
  wire c_normal = |c_exponent;
  assign exponent[L] = XW'(c_exponent) + (c_normal ? XW'(125) : XW'(126));
  if (F >= 23) begin : g_wide_c
    assign whole[L] = {1'b0, c_normal, c_fraction, {(F - 23) {1'b0}}};
  end else begin : g_narrow_c
    assign whole[L] = {1'b0, c_normal, c_fraction[22:23-F]};
  end
  assign negative[L] = c_sign;
  assign exponent[T-1:L+1] = '0;
  assign whole[T-1:L+1] = '0;
  assign negative[T-1:L+1] = '0;

  // step one: inside each group
  logic [GROUPS-1:0][XW-1:0] largest;
  logic [T-1:0][MW-1:0] near;
  for (genvar g = 0; g < GROUPS; g++) begin : g_group
    wire [4*XW-1:0] sorted;
    sort_four #(XW) sort ({exponent[4*g+3], exponent[4*g+2], exponent[4*g+1], exponent[4*g]}, sorted);
    assign largest[g] = sorted[XW-1:0];
    for (genvar i = 0; i < 4; i++) begin : g_term
      assign near[4*g+i] = whole[4*g+i] >> (largest[g] - exponent[4*g+i]);
    end
  end

  // step two: groups among each other
  logic [XW-1:0] e_max;
  always @* begin
    e_max = largest[0];
    for (int g = 1; g < GROUPS; g++) e_max = largest[g] > e_max ? largest[g] : e_max;
  end
  logic [GROUPS-1:0][SW-1:0] partial;
  for (genvar g = 0; g < GROUPS; g++) begin : g_partial
    wire [XW-1:0] distance = e_max - largest[g];
    wire [3:0] minus_of_group = negative[4*g+:4];
    logic [SW-1:0] sum;
    always @* begin
      sum = '0;
      for (int i = 0; i < 4; i++) begin
        if (minus_of_group[i]) sum = sum - (SW'(near[4*g+i]) >> distance);
        else sum = sum + (SW'(near[4*g+i]) >> distance);
      end
    end
    assign partial[g] = sum;
  end
  logic [SW-1:0] total;
  always @* begin
    total = '0;
    for (int g = 0; g < GROUPS; g++) total = total + partial[g];
  end

  wire below = total[SW-1];
  wire [SW-1:0] magnitude = below ? -total : total;
  // e_max is -126 at least, because a zero c reads that
  wire [LW-1:0] limit = LW'(e_max) + LW'(SW - 1 - F + 127 - 252 - 1);
  wire [SW-1:0] normal;
  wire [LW-1:0] places;
  limited_normaliser #(SW, LW) normalise (magnitude, limit, normal, places);
  wire [LW-1:0] field = normal[SW-1] ? limit + LW'(1) - places : '0;
  logic [22:0] fraction;
  always @* begin
    fraction = '0;
    for (int i = 0; i < KEEP; i++) if (SW - 2 - i >= 0) fraction[22-i] = normal[SW-2-i];
  end

  wire c_infinite = &c_exponent && c_fraction == '0;
  wire c_is_nan = &c_exponent && c_fraction != '0;
  wire plus = |(infinite & ~negative[L-1:0]) || (c_infinite && !c_sign);
  wire minus = |(infinite & negative[L-1:0]) || (c_infinite && c_sign);
  wire nan = |a_is_nan || |b_is_nan || c_is_nan || |invalid || (plus && minus);
  always @* begin
    {d_sign, d_rest} = {below, field[7:0], fraction};
    if (d_rest == '0) d_sign = 1'b0;
    if (field >= LW'(255)) d_rest = 31'h7f800000;
    if (plus || minus) {d_sign, d_rest} = {minus, 31'h7f800000};
    if (nan) {d_sign, d_rest} = 32'h7fffffff;
  end
endmodule
