// Balanced trees over N values. Node i has the children 2i and 2i + 1, node 1 is the root.

module max_tree #(
    parameter int N = 5,
    parameter int W = 9
) (
    input  logic [N*W-1:0] x,
    output logic [  W-1:0] largest
);
  localparam int SIZE = 1 << $clog2(N);
  wire [W-1:0] node[1:2*SIZE-1];
  for (genvar i = 0; i < SIZE; i++) begin : g_leaf
    if (i < N) begin : g_used
      assign node[SIZE+i] = x[W*i+:W];
    end else begin : g_unused
      assign node[SIZE+i] = '0;
    end
  end
  for (genvar i = 1; i < SIZE; i++) begin : g_node
    assign node[i] = node[2*i] > node[2*i+1] ? node[2*i] : node[2*i+1];
  end
  assign largest = node[1];
endmodule

module add_tree #(
    parameter int N = 5,
    parameter int W = 29
) (
    input  logic [N*W-1:0] x,
    output logic [  W-1:0] total
);
  localparam int SIZE = 1 << $clog2(N);
  wire [W-1:0] node[1:2*SIZE-1];
  for (genvar i = 0; i < SIZE; i++) begin : g_leaf
    if (i < N) begin : g_used
      assign node[SIZE+i] = x[W*i+:W];
    end else begin : g_unused
      assign node[SIZE+i] = '0;
    end
  end
  for (genvar i = 1; i < SIZE; i++) begin : g_node
    assign node[i] = node[2*i] + node[2*i+1];
  end
  assign total = node[1];
endmodule

// Leading zeros of x; W of them give at least W.
module lzc_tree #(
    parameter int W = 29,
    parameter int CW = 6
) (
    input  logic [ W-1:0] x,
    output logic [CW-1:0] count
);
  localparam int SIZE = 1 << $clog2(W);
  wire          empty[1:2*SIZE-1];
  wire [CW-1:0] zeros[1:2*SIZE-1];
  for (genvar i = 0; i < SIZE; i++) begin : g_leaf
    if (i < W) begin : g_used
      assign empty[SIZE+i] = !x[W-1-i];
    end else begin : g_unused
      assign empty[SIZE+i] = 1'b1;
    end
    assign zeros[SIZE+i] = CW'(empty[SIZE+i]);
  end
  for (genvar i = 1; i < SIZE; i++) begin : g_node
    localparam int HALF = SIZE >> $clog2(i + 1);  // leaves below each child
    assign empty[i] = empty[2*i] && empty[2*i+1];
    assign zeros[i] = empty[2*i] ? CW'(HALF) + zeros[2*i+1] : zeros[2*i];
  end
  assign count = zeros[1];
endmodule
