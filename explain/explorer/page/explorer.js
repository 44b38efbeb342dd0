// The page: it reads what is typed, asks the session in Pyodide, and shows the answer. No arithmetic is done here.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const BITS = ["a", "b", "c"];
const FIELDS = ["a", "b", "c", "scale_a", "scale_b"];
// names in the address: a and b are the units, x and y the elements
const UNITS = ["unit0", "unit1", "unit2", "unit3"];
const KEYS = { unit0: "a", unit1: "b", unit2: "u", unit3: "v", a: "x", b: "y", c: "c", scale_a: "sx", scale_b: "sy" };
const START = "a=volta/f32.f16.f16.f32&b=turing/f32.f16.f16.f32&x=-2^13,-0.5,-0.25,-0.125&y=2^10,1,1,1&c=2^23";
const SHOWN = 40, BITS_OF = 16, PANES_FROM = 1000, TYPING = 1000;
const at = (id) => document.getElementById(id);
let session, examples = [], last = [], described = "", unread = "", timer = 0, copies = {};
let architectures = new Map();
let past = [], future = [], current = "", since = 0;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function readAddress() {
  const held = new Map(), keys = Object.values(KEYS), bad = [];
  for (const part of (location.hash.slice(1) || START).split("&")) {
    const [key, ...rest] = part.split("=");
    try { held.set(key, decodeURIComponent(rest.join("="))); } catch { bad.push(part); }
    if (!keys.includes(key)) bad.push(part);
  }
  unread = bad.length ? `The address has a part that cannot be read: ${bad[0].slice(0, 80)}. Its parts are ${keys.join(", ")}.` : "";
  for (const [field, key] of Object.entries(KEYS)) at(field).value = held.get(key) ?? "";
  for (const id of UNITS.slice(2)) at(id).parentElement.hidden = !at(id).value;
}

function address() {
  const keep = (text) => encodeURIComponent(text).replace(/%(2F|2C|40|5E|3D|3A|2A)/g, decodeURIComponent);
  const parts = Object.entries(KEYS).filter(([field]) => at(field).value.trim());
  return "#" + parts.map(([field, key]) => `${key}=${keep(at(field).value.trim())}`).join("&");
}

function characters() {
  const probe = element("span", { className: "mp-bits", textContent: "0".repeat(50) });
  probe.style.cssText = "position:absolute;visibility:hidden";
  at("asked").append(probe);
  const width = probe.getBoundingClientRect().width / 50;
  probe.remove();
  return Math.floor(at("asked").clientWidth / panes() / (width || 8));
}

// pictures that stand beside each other
function panes() {
  return unitFields().length > 2 && innerWidth >= PANES_FROM ? 2 : 1;
}

// the fields of the units that are named: the first may be empty
function unitFields() {
  return UNITS.filter((id) => at(id).value.trim());
}

function ask() {
  const started = performance.now();
  const units = unitFields().map((id) => at(id).value.trim());
  const question = { units, width: characters() };
  for (const field of FIELDS) question[field] = at(field).value;
  show(answered(question));
  if (!unread) remember(address());
  document.body.dataset.milliseconds = (performance.now() - started).toFixed(1);
  document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
}

// a state that is left can be had back; what is typed in one go is one state
function remember(state) {
  if (state === current) return;
  if (current && performance.now() - since > TYPING) { past.push(current); future = []; }
  [current, since] = [state, performance.now()];
  history.replaceState(null, "", state);
  buttons();
}

function buttons() {
  at("undo").disabled = !past.length;
  at("redo").disabled = !future.length;
}

function goTo(from, to) {
  if (!from.length) return;
  to.push(current);
  current = from.pop();
  history.replaceState(null, "", current);
  buttons();
  readAddress();
  ask();
}

// the answer of the session; what goes wrong without an answer is a problem too
function answered(question) {
  const refused = (field, text) => ({ units: [], html: "", problem: { field, text } });
  if (unread) return refused("", unread);
  if (!question.units.length) return refused("unit0", "Name a unit.");
  try {
    return JSON.parse(session.answer(JSON.stringify(question)));
  } catch (problem) {
    console.warn(problem);
    const said = String(problem.message).trim().split("\n").pop();
    return refused("", `This is a fault of the explorer, not of what you typed: ${said}. Please report it with the address.`);
  }
}

// the units that are named, without their parameters
function named() {
  return unitFields().map((id) => at(id).value.trim().split("@")[0]).join(" ");
}

// what is shown answers what is typed, or is not shown; parameters stay where they belong to the units that are named
function hideOld(problem) {
  for (const id of ["results", "picture"]) at(id).hidden = problem;
  for (const field of FIELDS) at(`read-${field}`).hidden = problem;
  for (const field of BITS) at(`bits-${field}`).hidden = problem;
  for (const button of document.querySelectorAll(".copy")) button.disabled = problem && button.dataset.what !== "address";
  at("parameters").hidden = problem && named() !== described;
  if (problem) at("status").textContent = "No result: see the message.";
}

function show(answer) {
  const number = answer.problem?.field.match(/^unit(\d)$/)?.[1];
  const wrong = number === undefined ? answer.problem?.field : unitFields()[number] ?? "unit0";
  for (const id of [...UNITS, ...FIELDS]) {
    if (id === wrong) at(id).setAttribute("aria-invalid", "true"); else at(id).removeAttribute("aria-invalid");
  }
  at("problem").textContent = answer.problem?.text ?? "";
  at("meant").replaceChildren(...(answer.problem?.units ?? []).map((unit) => offer(wrong, unit)));
  hideOld(Boolean(answer.problem));
  if (answer.problem) return;
  copies = answer.copies;
  described = named();
  for (const scale of document.querySelectorAll(".scale")) scale.hidden = !answer.units.some((unit) => unit.scale);
  for (const field of FIELDS) at(`read-${field}`).textContent = readBack(answer.units, field);
  for (const field of BITS) showBits(answer.units, field);
  showResults(answer.units);
  at("picture").className = panes() > 1 ? "panes" : "";
  at("picture").innerHTML = answer.html;
  showParameters(answer.units);
}

// a unit that may be meant: a click names it
function offer(field, unit) {
  const button = element("button", { type: "button", textContent: unit.name });
  button.addEventListener("click", () => { at(field).value = unit.name; ask(); });
  return element("li", {}, button, ` ${unit.what}`);
}

// the elements of a column bit by bit, as the first unit that has it reads them
function showBits(units, field) {
  const unit = units.find((x) => x[field].length), mixed = new Set(units.map((x) => x.formats[field])).size > 1;
  const focused = document.activeElement?.id, held = unit?.[field] ?? [];
  const rows = held.slice(0, BITS_OF).map((x, index) => {
    const name = field === "c" ? "c" : `${field}[${index}]`;
    const ends = unit.layouts[field].map((_, i, all) => all.slice(0, i + 1).reduce((sum, n) => sum + n, 0));
    const bits = [...x.bits].map((bit, place) => {
      const part = ["sign", "exponent", "fraction", "ignored"][ends.findIndex((end) => place < end)];
      const button = element("button", { type: "button", id: `bit-${field}-${index}-${place}`, className: part, textContent: bit,
        title: `${name}: bit ${x.bits.length - 1 - place}, ${part}`, tabIndex: index || place ? -1 : 0 });
      button.setAttribute("aria-label", `${name}, bit ${x.bits.length - 1 - place}, ${part}: ${bit}`);
      button.addEventListener("click", () => toggle(unit, field, index, place, mixed));
      return button;
    });
    return element("p", {}, element("span", { className: "name", textContent: name }), element("span", { className: "row" }, ...bits),
      element("span", { className: "value", textContent: `${x.hex} = ${x.decimal}` }));
  });
  const more = held.length > BITS_OF ? [element("p", { textContent: `and ${held.length - BITS_OF} more elements` })] : [];
  at(`bits-${field}`).replaceChildren(...rows, ...more);
  if (focused?.startsWith(`bit-${field}-`)) at(focused)?.focus();
}

function toggle(unit, field, index, place, mixed) {
  const texts = unit[field].map((x) => x.text);
  texts[index] = session.toggled(unit.formats[field], unit[field][index].hex, place, mixed);
  at(field).value = texts.join(", ");
  since = 0;
  ask();
}

function moveInBits(event) {
  const [, field, index, place] = event.target.id.match(/^bit-(\w+)-(\d+)-(\d+)$/) ?? [];
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const next = field && step && at(`bit-${field}-${Number(index) + step[0]}-${Number(place) + step[1]}`);
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function readBack(units, field) {
  const lines = units.filter((unit) => unit[field].length).map((unit) => {
    const format = unit.formats[field] ?? unit.scale;
    return `${format}: ` + unit[field].map((x) => x.hex + (x.exact ? "" : ` (${x.text} is rounded to ${x.value})`)).join(", ");
  });
  return [...new Set(lines)].join("; ");
}

function showResults(units) {
  const list = element("dl"), x = units[0].d.bits;
  const differ = units.length > 1 && units.every((unit) => unit.d.bits.length === x.length);
  units.forEach((unit, number) => {
    const before = last[number]?.length === unit.d.bits.length ? last[number] : unit.d.bits;
    const bits = element("code");
    [...unit.d.bits].forEach((bit, place) => {
      const other = differ && units.some((one) => one.d.bits[place] !== bit);
      const shown = element(other ? "mark" : "span", { textContent: bit });
      if (before[place] !== bit) shown.className = "moved";
      bits.append(shown);
    });
    const letter = units.length > 1 ? `${"ABCD"[number]}: ` : "";
    const value = element("code", { className: "d", textContent: `${unit.d.hex} = ${unit.d.value}` });
    const assumed = unit.assumed ? " (assumed: no source describes this unit)" : "";
    list.append(element("dt", { textContent: `${letter}${unit.name}${assumed}` }), element("dd", {}, value, ` = ${unit.d.decimal}`, element("br"), bits));
  });
  last = units.map((unit) => unit.d.bits);
  at("results").replaceChildren(element("h2", { textContent: "Results" }), list);
  const said = units.map((unit, number) => `${"ABCD"[number]} returns ${unit.d.hex}`).join(", ");
  const same = units.every((unit) => unit.d.bits === x);
  at("status").textContent = differ ? `${said}: ${same ? "the same bits" : "different bits"}` : said;
}

function showParameters(units) {
  const opened = [...document.querySelectorAll("#parameters details")].map((x) => x.open);
  const focused = document.activeElement?.id;
  at("parameters").replaceChildren(element("h2", { textContent: "Parameters" }), ...units.map((unit, number) => {
    const rows = unit.parameters.map((parameter) => row(unit, number, parameter));
    const head = element("tr", {}, ...["parameter", "value", "meaning"].map((x) => element("th", { scope: "col", textContent: x })));
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
    const source = element("p", { className: "mp-faint", textContent: `Source: ${unit.source}` });
    const changed = unit.parameters.filter((x) => x.value !== x.catalogue).length;
    const title = `${unit.base}: ${unit.parameters.length} parameters` + (changed ? `, ${changed} changed` : "");
    return element("details", { open: opened[number] ?? false }, element("summary", { textContent: title }), source, table);
  }));
  if (focused?.startsWith("p-")) at(focused)?.focus();
}

function row(unit, number, parameter) {
  const id = `p-${number}-${parameter.name}`;
  let control;
  if (parameter.choices) {
    control = element("select", { id }, ...parameter.choices.map((x) => element("option", { value: x, textContent: x })));
    control.value = parameter.value;
  } else {
    control = element("input", { id, value: parameter.value, autocomplete: "off", title: parameter.allowed });
  }
  control.addEventListener("change", () => change(unit, number, parameter.name, control.value));
  const label = element("label", { htmlFor: id, textContent: parameter.name });
  const tr = element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, control),
    element("td", { textContent: `${parameter.meaning} (${parameter.allowed})` }));
  if (parameter.value !== parameter.catalogue) tr.className = "changed";
  return tr;
}

function change(unit, number, name, value) {
  const settings = unit.parameters.filter((x) => x.name !== name && x.value !== x.catalogue).map((x) => `${x.name}=${x.value}`);
  const own = unit.parameters.find((x) => x.name === name);
  if (value.trim() !== own.catalogue) settings.push(`${name}=${value.trim()}`);
  at(unitFields()[number]).value = settings.length ? `${unit.base}@${settings.join(",")}` : unit.base;
  // the key Tab moves the focus after this event, to a control that the answer replaces
  setTimeout(ask);
}

function soon() {
  clearTimeout(timer);
  unread = "";
  timer = setTimeout(ask, 60);
}

function exampleAddress(example) {
  const column = (place) => Array.from({ length: example.k }, (_, k) => example.p[k]?.[place] ?? "0").join(",");
  const scales = example.scale_a ? `&sx=${example.scale_a}&sy=${example.scale_b}` : "";
  return `#a=${example.units[0]}&b=${example.units[1]}&x=${column(0)}&y=${column(1)}&c=${example.c}${scales}`;
}

// the names of two units with the products and compiler targets of their architectures
function chips(example) {
  const titles = example.units.map((name) => architectures.get(name.split("/")[0]) ?? "");
  return [...example.units, ...titles].join(" ").toLowerCase();
}

function listExamples() {
  const words = at("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = examples.filter((x) => words.every((word) => chips(x).includes(word)));
  const more = found.length > SHOWN ? `; the first ${SHOWN} are listed` : "";
  at("found").textContent = `${found.length} of ${examples.length} pairs of units${more}`;
  at("list").replaceChildren(...found.slice(0, SHOWN).map((x) =>
    element("li", {}, element("a", { href: exampleAddress(x), textContent: x.units.join(" and ") }))));
}

async function copy(what) {
  const text = what === "address" ? location.href : copies[what];
  const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  at("status").textContent = copied ? `The ${what} is copied.` : text;
}

async function start() {
  const begun = performance.now();
  const archive = fetch("mmaproof.zip").then((reply) => {
    if (!reply.ok) throw new Error(`mmaproof.zip: ${reply.status}`);
    return reply.arrayBuffer();
  });
  const given = fetch("examples.json").then((reply) => (reply.ok ? reply.json() : []));
  const pyodide = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  at("status").textContent = "Reading the catalogue ...";
  pyodide.unpackArchive(await archive, "zip", { extractDir: "/explorer" });
  pyodide.runPython("import sys; sys.path.insert(0, '/explorer')");
  session = pyodide.pyimport("mmaproof.explain.explorer.session");
  document.head.append(element("style", { textContent: session.style() }));
  const listed = JSON.parse(session.units());
  architectures = new Map(listed.map((x) => [x.name, `${x.title} ${x.products.join(" ")}`]));
  at("names").append(...listed.flatMap((x) => x.units.map((name) => element("option", { value: name, label: x.title }))));
  examples = await given;
  at("asked").hidden = at("examples").hidden = false;
  readAddress();
  ask();
  listExamples();
  at("asked").addEventListener("input", soon);
  at("asked").addEventListener("submit", (event) => event.preventDefault());
  at("find").addEventListener("input", listExamples);
  for (const button of document.querySelectorAll(".copy")) button.addEventListener("click", () => copy(button.dataset.what));
  at("add").addEventListener("click", () => {
    const next = UNITS.map(at).find((x) => x.parentElement.hidden);
    if (next) { next.parentElement.hidden = false; next.focus(); }
  });
  at("undo").addEventListener("click", () => goTo(past, future));
  at("redo").addEventListener("click", () => goTo(future, past));
  at("asked").addEventListener("keydown", moveInBits);
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target.matches("input, textarea")) return;
    if (event.key === "z" && !event.shiftKey) goTo(past, future);
    if (event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey)) goTo(future, past);
  });
  addEventListener("hashchange", () => { since = 0; readAddress(); ask(); });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; soon(); } });
  document.body.dataset.seconds = ((performance.now() - begun) / 1000).toFixed(2);
}

start().catch((problem) => {
  at("status").textContent = `The explorer could not start: ${problem.message}. It needs a browser with WebAssembly, ` +
    "and its files must come from a web server.";
  console.error(problem);
});
