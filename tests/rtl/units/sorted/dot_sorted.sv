// d = c + sum of a[k] * b[k] of fp16, c and d fp32: terms aligned at the largest exponent, truncated to F fraction bits,
// added exactly and truncated once. Whole terms are sorted by their exponents first (odd-even transposition); a term is
// then shifted by its distance to the one before it and all distances before that, and they are added in that order.
module dot_sorted #(
    parameter int L = 4,
    parameter int F = 23
) (
    input  logic [L-1:0][15:0] a,
    input  logic [L-1:0][15:0] b,
    input  logic [31:0]        c,
    output logic [31:0]        d
);
  localparam int N = L + 1;
  localparam int MW = F + 2;
  localparam int SW = 1 + F + $clog2(4 * L + 2);
  localparam int LW = 10;

  localparam int TW = 9 + 1 + MW;  // a term: exponent (offset by 252), sign, magnitude

  wire [TW-1:0] round[0:(N+1)*N-1];  // the terms before each round, and after the last one
  logic [L-1:0] invalid, infinite, negative;
  for (genvar k = 0; k < L; k++) begin : g_term
    wire [15:0] x = a[k];
    wire [15:0] y = b[k];
    wire [8:0] x_exponent = x[14:0] == '0 ? 9'd0 : 9'd111 + (x[14:10] == '0 ? 9'd1 : 9'(x[14:10]));
    wire [8:0] y_exponent = y[14:0] == '0 ? 9'd0 : 9'd111 + (y[14:10] == '0 ? 9'd1 : 9'(y[14:10]));
    wire [21:0] product = {11'b0, x[14:10] != '0, x[9:0]} * {11'b0, y[14:10] != '0, y[9:0]};
    assign round[k] = {x_exponent + y_exponent, x[15] ^ y[15], product, {(F - 20) {1'b0}}};
    assign negative[k] = x[15] ^ y[15];
    assign infinite[k] = x[14:0] == 15'h7c00 || y[14:0] == 15'h7c00;
    assign invalid[k] = x[14:0] > 15'h7c00 || y[14:0] > 15'h7c00 || (infinite[k] && (x[14:0] == '0 || y[14:0] == '0));
  end
  wire c_normal = c[30:23] != '0;
  assign round[L] = {9'd125 + (c_normal ? 9'(c[30:23]) : 9'd1), c[31], 1'b0, c_normal, c[22:0], {(F - 23) {1'b0}}};

  // N rounds of comparators between neighbours: the largest exponent comes to place 0
  for (genvar r = 0; r < N; r = r + 1) begin : g_round
    for (genvar i = r % 2; i < N; i = i + 2) begin : g_pair
      if (i + 1 < N) begin : g_comparator
        wire [TW-1:0] x = round[N*r+i];
        wire [TW-1:0] y = round[N*r+i+1];
        wire exchange = x[TW-1-:9] < y[TW-1-:9];
        assign round[N*(r+1)+i]   = exchange ? y : x;
        assign round[N*(r+1)+i+1] = exchange ? x : y;
      end else begin : g_last
        assign round[N*(r+1)+i] = round[N*r+i];
      end
    end
    if (r % 2 == 1) begin : g_first
      assign round[N*(r+1)] = round[N*r];
    end
  end

  wire [8:0] e_max = round[N*N][TW-1-:9];
  wire [8:0] distance[0:N-1];
  wire [SW-1:0] total[0:N-1];
  for (genvar i = 0; i < N; i = i + 1) begin : g_add
    wire [TW-1:0] x = round[N*N+i];
    if (i == 0) begin : g_largest
      assign distance[0] = '0;
      assign total[0] = x[MW] ? -SW'(x[MW-1:0]) : SW'(x[MW-1:0]);
    end else begin : g_further
      wire [TW-1:0] previous = round[N*N+i-1];
      assign distance[i] = distance[i-1] + (previous[TW-1-:9] - x[TW-1-:9]);
      wire [MW-1:0] kept = x[MW-1:0] >> distance[i];
      assign total[i] = x[MW] ? total[i-1] - SW'(kept) : total[i-1] + SW'(kept);
    end
  end

  wire below = total[N-1][SW-1];
  wire [SW-1:0] magnitude = below ? -total[N-1] : total[N-1];
  // e_max is -126 at least, because a zero c reads that: the normalising shift ends there
  wire [LW-1:0] most = LW'(e_max) + LW'(SW - 1 - F + 127 - 252 - 1);
  logic [LW-1:0] places;
  always @* begin
    places = most;
    for (int i = 0; i < SW; i++) if (magnitude[i] && LW'(SW - 1 - i) < most) places = LW'(SW - 1 - i);
    if (magnitude[SW-1]) places = '0;
  end
  wire [SW-1:0] normal = magnitude << places;
  wire [LW-1:0] field = normal[SW-1] ? most + LW'(1) - places : '0;
  wire [30:0] rest = field > LW'(254) ? 31'h7f800000 : {field[7:0], normal[SW-2-:23]};

  wire c_infinite = c[30:0] == 31'h7f800000;
  wire plus = |(infinite & ~negative) || (c_infinite && !c[31]);
  wire minus = |(infinite & negative) || (c_infinite && c[31]);
  wire nan = |invalid || c[30:0] > 31'h7f800000 || (plus && minus);
  assign d = nan ? 32'h7fffffff : plus || minus ? {minus, 31'h7f800000} : {below && rest != '0, rest};
endmodule
