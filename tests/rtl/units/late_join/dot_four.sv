// Four products, each operand a port of its own; those of b have their halves exchanged.
module dot_four (
    input  logic [15:0] a0,
    input  logic [15:0] a1,
    input  logic [15:0] a2,
    input  logic [15:0] a3,
    input  logic [15:0] b0_swapped,
    input  logic [15:0] b1_swapped,
    input  logic [15:0] b2_swapped,
    input  logic [15:0] b3_swapped,
    input  logic [31:0] c,
    output logic [31:0] d
);
  dot_late_join #(.L(4)) u (
      .a({a3, a2, a1, a0}),
      .b({
        {b3_swapped[7:0], b3_swapped[15:8]},
        {b2_swapped[7:0], b2_swapped[15:8]},
        {b1_swapped[7:0], b1_swapped[15:8]},
        {b0_swapped[7:0], b0_swapped[15:8]}
      }),
      .c,
      .d
  );
endmodule
