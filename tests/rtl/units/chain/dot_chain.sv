// Sixteen products in two steps of eight: the d of the first is the c of the second.
module dot_chain (
    input  logic [16*16-1:0] a,
    input  logic [16*16-1:0] b,
    input  logic [31:0]      c,
    output logic [31:0]      d
);
  wire [31:0] between;
  dot_comb #(.L(8), .F(24)) first (.a(a[127:0]), .b(b[127:0]), .c(c), .d(between));
  dot_comb #(.L(8), .F(24)) second (.a(a[255:128]), .b(b[255:128]), .c(between), .d(d));
endmodule
