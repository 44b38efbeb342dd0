// A product a cycle is added to a register that has a sign and a magnitude of 8 bits: -128 to 127, one number of more
// than one pattern (zero). It wraps as 8 bits in two's complement do.
module to_number (
    input  logic [8:0] words,
    output logic [7:0] number
);
  assign number = words[8] ? -words[7:0] : words[7:0];
endmodule

module of_number (
    input  logic [7:0] number,
    output logic [8:0] words
);
  assign words = {number[7], number[7] ? -number : number};
endmodule

module signed_magnitude (
    input  logic              clk,
    input  logic              clr,
    input  logic              en,
    input  logic signed [3:0] a,
    input  logic signed [3:0] b,
    output logic        [8:0] sum
);
  logic negative;
  logic [7:0] magnitude, total, product;
  assign sum = {negative, magnitude};
  assign product = 8'(a * b);
  assign total = (negative ? -magnitude : magnitude) + product;
  always_ff @(posedge clk)
    if (clr) {negative, magnitude} <= 9'd0;
    else if (en) begin
      negative  <= total[7];
      magnitude <= total[7] ? -total : total;
    end
endmodule
