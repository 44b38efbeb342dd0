// A processing element that is small enough to try all of its values: two products a cycle are added to a register of
// 8 bits, in two forms. What is loaded comes from the neighbour, and what is drained goes to a register of its own.
module acc_int3 #(
    parameter bit PAIR = 0
) (
    input  logic              clk,
    input  logic              clr,
    input  logic              en,
    input  logic              load,
    input  logic              drain,
    input  logic signed [2:0] a0,
    input  logic signed [2:0] b0,
    input  logic        [7:0] above,
    output logic        [7:0] below
);
  logic signed [2:0] a_q, b_q;
  always_ff @(posedge clk) begin
    a_q <= a0;
    b_q <= b0;
  end

  logic [7:0] product, acc, acc_s, acc_c, whole;
  assign product = 8'(a_q * b_q);
  assign whole = PAIR ? acc_s + acc_c : acc;

  always_ff @(posedge clk)
    if (clr) begin
      acc   <= 8'd0;
      acc_s <= 8'd0;
      acc_c <= 8'd0;
    end else if (load) begin
      acc   <= above;
      acc_s <= above;
      acc_c <= 8'd0;
    end else if (en) begin
      acc   <= acc + product;
      acc_s <= acc_s ^ acc_c ^ product;
      acc_c <= {((acc_s & acc_c) | (acc_s & product) | (acc_c & product))} << 1;
    end

  always_ff @(posedge clk) if (drain) below <= whole;
endmodule
