// d = x + y, rounded to nearest even: one path, the smaller number aligned to the larger one.
module fadd_single #(
    parameter int E = 8,  // exponent bits
    parameter int M = 23  // fraction bits
) (
    input  logic [E+M:0] x,
    input  logic [E+M:0] y,
    output logic [E+M:0] d
);
  localparam int W = M + 4;  // a significand, and a guard, a round and a sticky bit
  localparam int SW = $clog2(W + 2);

  wire swap = y[E+M-1:0] > x[E+M-1:0];
  wire [E+M:0] u = swap ? y : x;
  wire [E+M:0] v = swap ? x : y;
  wire nu = u[M+:E] != 0, nv = v[M+:E] != 0;
  wire [E-1:0] exponent_u = u[M+:E] + E'(!nu);
  wire [E-1:0] exponent_v = v[M+:E] + E'(!nv);
  wire [E-1:0] distance = exponent_u - exponent_v;

  wire [W-1:0] upper = {nu, u[M-1:0], 3'b000};
  wire [W-1:0] low = {nv, v[M-1:0], 3'b000};
  wire far = distance >= E'(W);
  wire [W-1:0] moved = far ? '0 : low >> distance[SW-1:0];
  wire lost = far ? low != 0 : (moved << distance[SW-1:0]) != low;
  wire [W-1:0] aligned = {moved[W-1:1], moved[0] | lost};

  wire subtract = x[E+M] ^ y[E+M];
  wire [W:0] sum = subtract ? {1'b0, upper} - {1'b0, aligned} : {1'b0, upper} + {1'b0, aligned};

  logic [SW-1:0] zeros;
  always_comb begin
    zeros = SW'(W + 1);
    for (int i = 0; i <= W; i++) if (sum[i]) zeros = SW'(W - i);
  end
  wire [E-1:0] left = E'(zeros) > exponent_u ? exponent_u : E'(zeros);
  wire [W:0] placed = sum << left;
  wire [E-1:0] field = placed[W] ? exponent_u - left + 1'b1 : '0;
  wire up = placed[3] && (placed[2:0] != 0 || placed[4]);
  wire [E+M-1:0] rounded = {field, placed[W-1-:M]} + (E + M)'(up);
  wire too_large = &field || &rounded[M+:E];
  wire [E+M-1:0] finite = too_large ? {{E{1'b1}}, {M{1'b0}}} : rounded;

  wire special = &u[M+:E];
  wire nan = special && u[M-1:0] != 0 || &x[M+:E] && &y[M+:E] && subtract;
  wire sign = sum == 0 && subtract ? 1'b0 : u[E+M];
  assign d = nan ? {1'b0, {E{1'b1}}, 1'b1, {(M - 1) {1'b0}}} : special ? u : {sign, finite};
endmodule
