// The same sum in several passes: LANES products in each cycle, added to an accumulator that the first pass loads with c.
module dot_int8_passes #(
    parameter int L = 16,
    parameter int LANES = 4
) (
    input  logic           clk,
    input  logic           rst_n,
    input  logic [8*L-1:0] a,
    input  logic [8*L-1:0] b,
    input  logic [   31:0] c,
    output logic [   31:0] d
);
  localparam int PASSES = L / LANES;
  logic [$clog2(PASSES):0] pass;
  logic [31:0] accumulator, next;
  wire [8*L-1:0] a_now = a >> (8 * LANES * pass);
  wire [8*L-1:0] b_now = b >> (8 * LANES * pass);
  always_comb begin
    next = pass == '0 ? c : accumulator;
    for (int k = 0; k < LANES; k++) next = next + 32'($signed(a_now[8*k+:8]) * $signed(16'($signed(b_now[8*k+:8]))));
  end
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      pass <= '0;
    end else if (pass != ($clog2(PASSES) + 1)'(PASSES)) begin
      pass <= pass + 1'b1;
      accumulator <= next;
    end
  end
  assign d = accumulator;
endmodule
