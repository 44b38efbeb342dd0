// Two products a transfer are added to c in a pipeline of two stages with valid and ready. The second stage has a buffer
// beside its register (a skid buffer), so that ready goes backwards through a register.
module elastic_int8 (
    input  logic               clk,
    input  logic               rst_n,
    input  logic               valid_i,
    output logic               ready_o,
    input  logic        [15:0] a,
    input  logic        [15:0] b,
    input  logic signed [23:0] c,
    output logic               valid_o,
    input  logic               ready_i,
    output logic signed [23:0] d
);
  // products: a stage that takes when it is empty, or when the one after it takes
  logic valid_p, take_p, ready_s;
  logic signed [15:0] p0, p1;
  logic signed [23:0] c_p;
  assign take_p  = !valid_p || ready_s;
  assign ready_o = take_p;
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) valid_p <= 1'b0;
    else if (take_p) valid_p <= valid_i;
  always_ff @(posedge clk)
    if (take_p) begin
      p0  <= $signed(a[7:0]) * $signed(b[7:0]);
      p1  <= $signed(a[15:8]) * $signed(b[15:8]);
      c_p <= c;
    end

  // sum: a register, and a buffer for what arrives while the register is not taken
  logic full, valid_s;
  logic signed [23:0] sum, kept;
  assign ready_s = !full;
  assign valid_o = valid_s;
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) begin
      full    <= 1'b0;
      valid_s <= 1'b0;
    end else begin
      if (ready_i || !valid_s) begin
        valid_s <= full || valid_p;
        full    <= 1'b0;
      end else if (valid_p && ready_s) full <= 1'b1;
    end
  always_ff @(posedge clk) begin
    if (ready_i || !valid_s) sum <= full ? kept : c_p + 24'(p0) + 24'(p1);
    if (ready_s) kept <= c_p + 24'(p0) + 24'(p1);
  end
  assign d = sum;
endmodule
