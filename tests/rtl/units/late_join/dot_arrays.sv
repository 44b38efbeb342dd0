// The products as unpacked arrays of operands.
module dot_arrays #(
    parameter int L = 8
) (
    input  logic [15:0] a[0:L-1],
    input  logic [15:0] b[0:L-1],
    input  logic [31:0] c,
    output logic [31:0] d
);
  logic [L-1:0][15:0] of_a, of_b;
  for (genvar k = 0; k < L; k++) begin : g_lane
    assign of_a[k] = a[k];
    assign of_b[k] = b[k];
  end
  dot_late_join #(.L(L)) u (.a(of_a), .b(of_b), .c, .d);
endmodule
