// The largest of N values, bit by bit from the top: a value falls out where it lacks a bit that another one has.
// More than one is left where the largest is tied; the first of them is marked.
module one_hot_max #(
    parameter int N = 5,
    parameter int W = 9
) (
    input  logic [N*W-1:0] x,
    output logic [  W-1:0] largest,
    output logic [  N-1:0] first
);
  wire [N-1:0] left[0:W];
  assign left[W] = '1;
  for (genvar i = W - 1; i >= 0; i--) begin : g_bit
    wire [N-1:0] has;
    for (genvar k = 0; k < N; k++) begin : g_value
      assign has[k] = left[i+1][k] && x[W*k+i];
    end
    assign left[i] = |has ? has : left[i+1];
  end
  assign first = left[0] & -left[0];

  always_comb begin
    largest = '0;
    for (int k = 0; k < N; k++) if (first[k]) largest |= x[W*k+:W];
  end
endmodule

// The top set bit of x, alone.
module leading_one #(
    parameter int W = 29
) (
    input  logic [W-1:0] x,
    output logic [W-1:0] one
);
  wire [W-1:0] at_or_above;  // thermometer
  assign at_or_above[W-1] = x[W-1];
  for (genvar i = W - 2; i >= 0; i--) begin : g_bit
    assign at_or_above[i] = x[i] || at_or_above[i+1];
  end
  assign one = at_or_above & ~(at_or_above >> 1);
endmodule
