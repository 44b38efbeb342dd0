// An output-stationary processing element: one product a cycle is added to a register. a and b go on to neighbours.
module pe_int8 (
    input  logic               clk,
    input  logic               rst_n,
    input  logic               clr,
    input  logic               en,
    input  logic signed [ 7:0] a,
    input  logic signed [ 7:0] b,
    output logic signed [ 7:0] a_next,
    output logic signed [ 7:0] b_next,
    output logic signed [31:0] sum
);
  logic signed [31:0] acc;
  assign sum = acc;

  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) acc <= '0;
    else if (clr) acc <= '0;
    else if (en) acc <= acc + 32'(a * b);

  always_ff @(posedge clk)
    if (en) begin
      a_next <= a;
      b_next <= b;
    end
endmodule
