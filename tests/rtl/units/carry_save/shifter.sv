// A shift to the right in stages; distances of 2**STAGES and more leave nothing.
module right_shifter #(
    parameter int W = 25,
    parameter int XW = 9
) (
    input  logic [ W-1:0] x,
    input  logic [XW-1:0] distance,
    output logic [ W-1:0] kept
);
  localparam int STAGES = $clog2(W) + 1;
  wire [W-1:0] stage[0:STAGES];
  assign stage[0] = x;
  for (genvar i = 0; i < STAGES; i++) begin : g_stage
    assign stage[i+1] = distance[i] ? stage[i] >> (1 << i) : stage[i];
  end
  wire far = |distance[XW-1:STAGES];
  assign kept = far ? '0 : stage[STAGES];
endmodule
