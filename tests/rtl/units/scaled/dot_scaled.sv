// d = c + sum of a[k] * b[k] * 2**(scale_a + scale_b - 254) for one block of e4m3 or e2m1 elements with ue8m0 scales: terms aligned
// at the largest exponent, truncated to F fraction bits, added exactly and truncated once. Elements are decoded by a
// table; the products are compared without their scale, which they share, and c is aligned with them last.

// A number without its sign, of E exponent bits and M fraction bits: its exponent (offset by 126, so that of a zero is 0)
// by a table, and its significand.
module element_table #(
    parameter int E = 4,
    parameter int M = 3
) (
    input  logic [E+M-1:0] code,
    output logic [7:0]     exponent,
    output logic [M:0]     significand
);
  localparam int FIRST = 128 - (1 << (E - 1));
  logic [8:0] rom[0:(1<<E)-1];
  initial begin
    rom[0] = {8'(FIRST), 1'b0};
    for (int i = 1; i < 1 << E; i = i + 1) rom[i] = {8'(FIRST - 1 + i), 1'b1};
  end
  wire [8:0] word = rom[code[E+M-1:M]];
  assign exponent = code == '0 ? 8'd0 : word[8:1];
  assign significand = {word[0], code[M-1:0]};
endmodule

module dot_scaled #(
    parameter int L = 32,
    parameter int F = 25,
    parameter int E = 4,
    parameter int M = 3,
    parameter int ONE_BY_ONE = 1  // the normalising shift: place by place, or by a count of leading zeros
) (
    input  logic [(1+E+M)*L-1:0] a,
    input  logic [(1+E+M)*L-1:0] b,
    input  logic [7:0]     scale_a,
    input  logic [7:0]     scale_b,
    input  logic [31:0]    c,
    output logic [31:0]    d
);
  localparam int W = 1 + E + M;
  localparam int MW = F + 2;
  localparam int SW = 1 + F + $clog2(4 * L + 2);

  wire [2*M+1:0] product[0:L-1];
  wire [8:0] exponent[0:L-1];  // offset by 252
  wire [L-1:0] negative, nan_of_product;
  for (genvar k = 0; k < L; k++) begin : g_product
    wire [7:0] xa, xb;
    wire [M:0] ma, mb;
    element_table #(E, M) of_a (a[W*k+:W-1], xa, ma);
    element_table #(E, M) of_b (b[W*k+:W-1], xb, mb);
    assign product[k] = ma * mb;
    assign exponent[k] = {1'b0, xa} + {1'b0, xb};
    assign negative[k] = a[W*k+W-1] ^ b[W*k+W-1];
    assign nan_of_product[k] = (E == 4) & (&a[W*k+:W-1] | &b[W*k+:W-1]);
  end

  // the largest exponent of the products, by a running maximum
  wire [8:0] running[0:L-1];
  assign running[0] = exponent[0];
  for (genvar k = 1; k < L; k++) begin : g_maximum
    assign running[k] = exponent[k] > running[k-1] ? exponent[k] : running[k-1];
  end

  // with the scales, offset by 252 + 254
  wire [9:0] of_products = {1'b0, running[L-1]} + {2'b0, scale_a} + {2'b0, scale_b};
  wire c_normal = c[30:23] != 8'd0;
  wire [9:0] of_c = {2'b0, c[30:23]} + 10'd379 + {9'b0, !c_normal};  // 252 + 254 - 127
  wire [10:0] difference = {1'b0, of_products} - {1'b0, of_c};
  wire c_leads = difference[10];
  wire [9:0] e_max = c_leads ? of_c : of_products;
  wire [9:0] products_down = c_leads ? -difference[9:0] : 10'd0;
  wire [9:0] c_down = c_leads ? 10'd0 : difference[9:0];

  wire [SW-1:0] running_sum[0:L];
  wire [MW-1:0] c_whole = {1'b0, c_normal, c[22:0], {(F - 23) {1'b0}}};
  wire [SW-1:0] c_kept = {{(SW - MW) {1'b0}}, c_whole >> c_down};
  assign running_sum[0] = c[31] ? -c_kept : c_kept;
  for (genvar k = 0; k < L; k++) begin : g_sum
    wire [10:0] down = {2'b0, running[L-1] - exponent[k]} + {1'b0, products_down};
    wire [MW-1:0] whole = {product[k], {(F - 2 * M) {1'b0}}};
    wire [SW-1:0] kept = {{(SW - MW) {1'b0}}, whole >> down};
    assign running_sum[k+1] = negative[k] ? running_sum[k] - kept : running_sum[k] + kept;
  end

  wire below = running_sum[L][SW-1];
  wire [SW-1:0] magnitude = below ? -running_sum[L] : running_sum[L];
  wire [30:0] rest;
  if (ONE_BY_ONE != 0) begin : g_places
    // e_max is -126 or more, because of c: the normalising shift ends at the smallest exponent
    wire [9:0] most = e_max - 10'd380 + 10'(SW - 1 - F);
    logic [SW-1:0] normal;
    logic [9:0] places;
    always @* begin
      normal = magnitude;
      places = 10'd0;
      for (int i = 0; i < SW; i = i + 1) begin
        if (!normal[SW-1] && places < most) begin
          normal = normal << 1;
          places = places + 10'd1;
        end
      end
    end
    wire [9:0] field = normal[SW-1] ? most + 10'd1 - places : 10'd0;
    assign rest = field > 10'd254 ? 31'h7f800000 : {field[7:0], normal[SW-2-:23]};
  end else begin : g_count
    logic [9:0] zeros;
    always @* begin
      zeros = 10'(SW);
      for (int i = 0; i < SW; i = i + 1) if (magnitude[i]) zeros = 10'(SW - 1 - i);
    end
    wire [SW-1:0] top = magnitude << zeros;
    // the exponent field of the top bit, were there no limits
    wire signed [12:0] unlimited = $signed({3'b0, e_max}) + 13'(SW - F - 380) - $signed({3'b0, zeros});
    wire tiny = unlimited < 1;
    wire [12:0] missing = 13'd1 - unlimited;
    wire [23:0] whole = top[SW-1-:24];
    wire [23:0] moved = tiny ? whole >> missing : whole;
    wire [30:0] finite = {tiny ? 8'd0 : unlimited[7:0], moved[22:0]};
    assign rest = magnitude == '0 ? 31'd0 : unlimited > 254 ? 31'h7f800000 : finite;
  end

  wire c_infinite = c[30:0] == 31'h7f800000;
  wire c_nan = c[30:0] > 31'h7f800000;
  wire nan = |nan_of_product || c_nan || &scale_a || &scale_b;
  assign d = nan ? 32'h7fffffff : c_infinite ? c : {below && rest != 31'd0, rest};
endmodule
