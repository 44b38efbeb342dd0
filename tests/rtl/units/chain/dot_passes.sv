// Sixteen products in two passes over one adder of eight, a cycle each. The first clock edge after a reset takes the
// first half.
module dot_passes (
    input  logic             clk,
    input  logic             rst_n,
    input  logic [16*16-1:0] a,
    input  logic [16*16-1:0] b,
    input  logic [31:0]      c,
    output logic [31:0]      d
);
  typedef enum logic [1:0] {FIRST, SECOND, DONE} state_t;
  state_t state;
  logic [31:0] sum;
  wire second = state == SECOND;
  wire [31:0] result;
  dot_comb #(.L(8), .F(24)) u (
      .a(second ? a[255:128] : a[127:0]),
      .b(second ? b[255:128] : b[127:0]),
      .c(second ? sum : c),
      .d(result)
  );
  always_ff @(posedge clk) begin
    if (!rst_n) state <= FIRST;
    else begin
      unique case (state)
        FIRST:   state <= SECOND;
        SECOND:  state <= DONE;
        default: state <= DONE;
      endcase
      if (state != DONE) sum <= result;
    end
  end
  assign d = sum;
endmodule
