"""What calls the judge of a plan in WebAssembly: a module of JavaScript for browsers and for node."""

from __future__ import annotations

import json

_MODULE = r"""// Says of a product whether it has the bits of a plan, by the judge in C (export c-judge) as WebAssembly.
//   node FILE.mjs judge.wasm a.npy b.npy d.npy [c.npy [scale_a.npy scale_b.npy]]
// Status 0: all bits are those of the plan; 1: others; 2: a file cannot be judged. In a browser:
//   import { load, judge } from "./FILE.mjs";
//   const found = judge(await load(bytesOfWasm), { a, b, d, c }); // matrices: { rows, columns, data: Uint8Array }

export const PLAN = @plan@;

/** Return the exports of the judge. Throws where it is that of another plan. */
export async function load(bytes) {
  const judge = (await WebAssembly.instantiate(bytes, {})).instance.exports;
  const name = text(judge, judge.judge_name());
  if (name !== PLAN) throw new Error(`this is the judge of ${name}`);
  return judge;
}

function text(judge, at) {
  const bytes = new Uint8Array(judge.memory.buffer, at);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}

/** Return { different, row, column, given, returned }; different is 0 where all bits are those of the plan. */
export function judge(judge, { a, b, d, c, scale_a, scale_b }) {
  const m = a.rows, k = a.columns, n = b.columns;
  if (b.rows !== k || d.rows !== m || d.columns !== n) throw new Error("shapes are not (M, K), (K, N), (M, N)");
  if (c && (c.rows !== m || c.columns !== n)) throw new Error("c is not (M, N)");
  const scaled = judge.judge_bytes(4) > 0;
  if (scaled !== Boolean(scale_a && scale_b)) throw new Error(scaled ? "scales of blocks are needed" : "no scales");
  if (scaled && (scale_a.rows !== m || scale_b.columns !== n || scale_a.columns !== scale_b.rows))
    throw new Error("one scale for each block of k is needed: (M, blocks) and (blocks, N)");
  [a, b, c, d].forEach((x, which) => {
    if (x && x.data.length !== x.rows * x.columns * judge.judge_bytes(which))
      throw new Error("elements of another width, or big endian");
  });
  const blocks = scaled ? scale_a.columns : 0;
  const why = judge.judge_refuses(k, blocks);
  if (why) throw new Error(text(judge, why));
  let at = judge.__heap_base.value;
  const place = (bytes) => {
    const found = (at = Math.ceil(at / 16) * 16);
    at += bytes;
    const missing = at - judge.memory.buffer.byteLength;
    if (missing > 0) judge.memory.grow(Math.ceil(missing / 65536));
    return found;
  };
  const put = (x) => {
    if (!x) return 0;
    const to = place(x.data.length);
    new Uint8Array(judge.memory.buffer).set(x.data, to);
    return to;
  };
  const [in_a, in_b, in_c, in_d, in_sa, in_sb] = [a, b, c, d, scale_a, scale_b].map(put);
  const work = place(judge.judge_work(n, k)), report = place(40);
  judge.judge_run(m, n, k, in_a, in_b, in_c, in_d, in_sa, in_sb, blocks, work, report);
  const [different, row, column, given, returned] = new BigUint64Array(judge.memory.buffer, report, 5);
  return different ? { different, row, column, given, returned } : { different };
}

/** Return the matrix of a .npy file. Throws for what is none. */
export function readNpy(bytes, width) {
  const ascii = (from, to) => String.fromCharCode(...bytes.slice(from, to));
  if (ascii(1, 6) !== "NUMPY" || bytes[0] !== 0x93) throw new Error("no .npy file");
  const start = bytes[6] === 1 ? 10 : 12;
  const length = bytes[8] + 256 * bytes[9] + (start === 12 ? 65536 * bytes[10] + 16777216 * bytes[11] : 0);
  const header = ascii(start, start + length);
  const type = /'descr': '(.)[a-zA-Z](\d+)'/.exec(header);
  if (!type || (width > 1 && type[1] === ">") || Number(type[2]) !== width)
    throw new Error("elements of another width, or big endian");
  if (!header.includes("'fortran_order': F")) throw new Error("Fortran order; np.ascontiguousarray changes it");
  const shape = /'shape': \((\d+), (\d+)\)/.exec(header);
  if (!shape || !Number(shape[1]) || !Number(shape[2])) throw new Error("no matrix");
  const rows = Number(shape[1]), columns = Number(shape[2]), data = bytes.slice(start + length);
  if (data.length !== rows * columns * width) throw new Error("has another size than its shape");
  return { rows, columns, data };
}

async function main(files) {
  const { readFile } = await import("node:fs/promises");
  const wasm = await load(await readFile(files[0]));
  const names = ["a", "b", "d", "c", "scale_a", "scale_b"], which = { a: 0, b: 1, c: 2, d: 3 };
  if (files.length < 4 || files.length > 7) throw new Error("judge.wasm a.npy b.npy d.npy [c.npy [scales]]");
  const held = {};
  for (const [i, file] of files.slice(1).entries()) {
    const width = names[i] in which ? wasm.judge_bytes(which[names[i]]) : 1;
    held[names[i]] = readNpy(new Uint8Array(await readFile(file)), width);
  }
  const found = judge(wasm, held), digits = @digits@;
  if (!found.different) return console.log(`exact: ${PLAN}`), 0;
  const hex = (x) => `0x${x.toString(16).padStart(digits, "0")}`;
  const what = `[${found.row}, ${found.column}] is ${hex(found.given)}, and the @what@ returns ${hex(found.returned)}`;
  console.log(`first: ${what}\nother bits: ${found.different} of ${held.d.rows * held.d.columns} elements`);
  return 1;
}

if (typeof process !== "undefined" && process.argv[1]?.endsWith(".mjs")) {
  main(process.argv.slice(2)).then(
    (status) => (process.exitCode = status),
    (error) => (console.error(`error: ${error.message}`), (process.exitCode = 2)),
  );
}
"""


def js_judge(plan: str, digits: int, *, is_unit: bool) -> str:
    """Return the module for the judge of a plan, whose d has that many hexadecimal digits."""
    fields = {"@plan@": json.dumps(plan), "@digits@": str(digits), "@what@": "unit" if is_unit else "plan"}
    found = _MODULE
    for name, value in fields.items():
        found = found.replace(name, value)
    return found
