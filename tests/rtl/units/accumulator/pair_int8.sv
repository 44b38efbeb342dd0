// A product a cycle is added to a carry-save pair by one row of full adders: nothing waits for carries. A drain adds the
// pair up into a register, and begins anew.
module pair_int8 (
    input  logic               clk,
    input  logic               clr,
    input  logic               en,
    input  logic signed [ 7:0] a,
    input  logic signed [ 7:0] b,
    output logic signed [23:0] sum
);
  logic [23:0] acc_s, acc_c, product;
  assign product = 24'(a * b);
  assign sum = acc_s + acc_c;

  always_ff @(posedge clk)
    if (clr) begin
      acc_s <= '0;
      acc_c <= '0;
    end else if (en) begin
      acc_s <= acc_s ^ acc_c ^ product;
      acc_c <= {(acc_s & acc_c) | (acc_s & product) | (acc_c & product)} << 1;
    end
endmodule
