// d = c + sum of a[k] * b[k]: terms aligned at the largest exponent, truncated to F fraction bits, added exactly and
// truncated once. Comparator tree, adder tree, tree of leading-zero counters. Bit i of PIPE is a register at cut i.
module register #(
    parameter int W = 1,
    parameter int ON = 0
) (
    input  logic         clk,
    input  logic         en,
    input  logic [W-1:0] d,
    output logic [W-1:0] q
);
  if (ON != 0) begin : g_register
    always_ff @(posedge clk) if (en) q <= d;
  end else begin : g_wire
    assign q = d;
  end
endmodule

module dot_tree #(
    parameter int L = 4,
    parameter int F = 23,
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15,
    parameter int IEEE = 1,
    parameter int KEEP = 23,
    parameter int PIPE = 0
) (
    input  logic                    clk,
    input  logic                    en,
    input  logic [L*(EXP+FRAC+1)-1:0] a,
    input  logic [L*(EXP+FRAC+1)-1:0] b,
    input  logic [            31:0] c,
    output logic [            31:0] d
);
  localparam int W = EXP + FRAC + 1;
  localparam int PW = 2 * FRAC + 2;
  localparam int XW = 9;
  localparam int N = L + 1;
  localparam int MW = F + 2;
  localparam int SW = 1 + F + $clog2(4 * L + 2);
  localparam int CW = $clog2(SW) + 1;

  // cut 0: operands
  wire [L*W-1:0] a0, b0;
  wire [31:0] c0;
  register #(2 * L * W + 32, PIPE & 1) r0 (clk, en, {a, b, c}, {a0, b0, c0});

  // products and exponents
  wire [L-1:0] nan_of_product, plus_infinity, minus_infinity;
  wire [L*PW-1:0] product;
  wire [N-1:0] negative;
  wire [N*XW-1:0] exponent;
  for (genvar k = 0; k < L; k++) begin : g_product
    wire sa, sb, za, zb, ia, ib, na, nb;
    wire [XW-1:0] xa, xb;
    wire [FRAC:0] ma, mb;
    unpack #(EXP, FRAC, BIAS, IEEE, XW) of_a (a0[W*k+:W], sa, xa, ma, za, ia, na);
    unpack #(EXP, FRAC, BIAS, IEEE, XW) of_b (b0[W*k+:W], sb, xb, mb, zb, ib, nb);
    assign negative[k]         = sa ^ sb;
    assign exponent[XW*k+:XW]  = xa + xb;
    assign product[PW*k+:PW]   = PW'(ma) * PW'(mb);
    assign nan_of_product[k]   = na || nb || (ia && zb) || (za && ib);
    assign plus_infinity[k]    = (ia || ib) && !negative[k];
    assign minus_infinity[k]   = (ia || ib) && negative[k];
  end
  wire [XW-1:0] xc;
  wire [23:0] mc;
  wire zc, ic, nc;
  unpack #(8, 23, 127, 1, XW) of_c (c0, negative[L], xc, mc, zc, ic, nc);
  assign exponent[XW*L+:XW] = xc + XW'(126);
  wire plus = |plus_infinity || (ic && !negative[L]);
  wire minus = |minus_infinity || (ic && negative[L]);
  wire nan = |nan_of_product || nc || (plus && minus);

  // cut 1: terms
  wire [L*PW-1:0] product1;
  wire [N-1:0] negative1;
  wire [N*XW-1:0] exponent1;
  wire [23:0] mc1;
  wire nan1, plus1, minus1;
  register #(L * PW + N + N * XW + 27, PIPE >> 1 & 1) r1 (
      clk, en,
      {product, negative, exponent, mc, nan, plus, minus},
      {product1, negative1, exponent1, mc1, nan1, plus1, minus1}
  );

  wire [XW-1:0] e_max;
  max_tree #(N, XW) find (exponent1, e_max);

  // cut 2: terms with the largest exponent
  wire [L*PW-1:0] product2;
  wire [N-1:0] negative2;
  wire [N*XW-1:0] exponent2;
  wire [23:0] mc2;
  wire [XW-1:0] e_max2;
  wire nan2, plus2, minus2;
  register #(L * PW + N + N * XW + 27 + XW, PIPE >> 2 & 1) r2 (
      clk, en,
      {product1, negative1, exponent1, mc1, e_max, nan1, plus1, minus1},
      {product2, negative2, exponent2, mc2, e_max2, nan2, plus2, minus2}
  );

  wire [N*SW-1:0] aligned;
  for (genvar k = 0; k < N; k++) begin : g_align
    wire [MW-1:0] whole;
    if (k < L) begin : g_product
      assign whole = MW'(product2[PW*k+:PW]) << (F - 2 * FRAC);
    end else if (F >= 23) begin : g_c
      assign whole = MW'(mc2) << (F - 23);
    end else begin : g_narrow_c
      assign whole = MW'(mc2 >> (23 - F));
    end
    wire [XW-1:0] distance = e_max2 - exponent2[XW*k+:XW];
    wire [MW-1:0] kept = whole >> distance;
    assign aligned[SW*k+:SW] = negative2[k] ? -SW'(kept) : SW'(kept);
  end

  // cut 3: aligned terms
  wire [N*SW-1:0] aligned3;
  wire [XW-1:0] e_max3;
  wire nan3, plus3, minus3;
  register #(N * SW + XW + 3, PIPE >> 3 & 1) r3 (
      clk, en, {aligned, e_max2, nan2, plus2, minus2}, {aligned3, e_max3, nan3, plus3, minus3}
  );

  wire [SW-1:0] total;
  add_tree #(N, SW) add (aligned3, total);

  // cut 4: the sum
  wire [SW-1:0] total4;
  wire [XW-1:0] e_max4;
  wire nan4, plus4, minus4;
  register #(SW + XW + 3, PIPE >> 4 & 1) r4 (
      clk, en, {total, e_max3, nan3, plus3, minus3}, {total4, e_max4, nan4, plus4, minus4}
  );

  wire below = total4[SW-1];
  wire [SW-1:0] magnitude = below ? -total4 : total4;
  wire [CW-1:0] zeros;
  lzc_tree #(SW, CW) count_zeros (magnitude, zeros);

  // cut 5: the magnitude and its leading zeros
  wire [SW-1:0] magnitude5;
  wire [CW-1:0] zeros5;
  wire [XW-1:0] e_max5;
  wire below5, nan5, plus5, minus5;
  register #(SW + CW + XW + 4, PIPE >> 5 & 1) r5 (
      clk, en,
      {magnitude, zeros, e_max4, below, nan4, plus4, minus4},
      {magnitude5, zeros5, e_max5, below5, nan5, plus5, minus5}
  );

  wire [31:0] packed_sum;
  pack #(SW, CW, XW, F, KEEP) convert (below5, magnitude5, zeros5, e_max5, packed_sum);
  wire [31:0] result = nan5 ? 32'h7fffffff : plus5 ? 32'h7f800000 : minus5 ? 32'hff800000 : packed_sum;

  // cut 6: the result
  register #(32, PIPE >> 6 & 1) r6 (clk, en, result, d);
endmodule
