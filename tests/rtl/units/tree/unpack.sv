// A floating-point operand taken apart. Exponents are offset by 126: that of a zero, which reads -126, is 0.
// IEEE = 1: infinities and NaNs as in IEEE 754; IEEE = 0: one NaN, all ones, and no infinity.
module unpack #(
    parameter int EXP = 5,
    parameter int FRAC = 10,
    parameter int BIAS = 15,
    parameter int IEEE = 1,
    parameter int XW = 9
) (
    input  logic [EXP+FRAC:0] x,
    output logic              negative,
    output logic [    XW-1:0] exponent,
    output logic [    FRAC:0] significand,
    output logic              zero,
    output logic              infinite,
    output logic              nan
);
  wire [ EXP-1:0] field = x[EXP+FRAC-1:FRAC];
  wire [FRAC-1:0] fraction = x[FRAC-1:0];
  wire            low = field == '0;
  wire            top = &field;
  wire [ EXP-1:0] raised = field | EXP'(low);  // a subnormal has the exponent of the smallest normal number
  wire [  XW-1:0] encoded = XW'(raised) + XW'(126 - BIAS);

  assign negative    = x[EXP+FRAC];
  assign zero        = low && fraction == '0;
  assign exponent    = zero ? '0 : encoded;
  assign significand = {!low, fraction};
  assign infinite    = IEEE != 0 && top && fraction == '0;
  assign nan         = IEEE != 0 ? top && fraction != '0 : top && &fraction;
endmodule
