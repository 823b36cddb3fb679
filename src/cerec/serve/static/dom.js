// Building elements. Names are people's own text: they are only ever set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [name, run] of Object.entries(value)) node.addEventListener(name, run);
    else if (key === "style") for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else if (key === "data") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

// A name in its own direction: right-to-left names must not turn the sentence around them.
export function bdi(text, cls) {
  return el("bdi", { class: cls }, text);
}

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const whole = new Intl.NumberFormat("en");
export const count = (n) => (n === null || n === undefined ? "–" : whole.format(n));

export function number(x) {
  if (x === null || x === undefined) return "–";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e15) return whole.format(x);
  if (size >= 1000) return whole.format(Math.round(x));
  return size !== 0 && size < 0.001 ? x.toExponential(1) : x.toFixed(size >= 100 ? 1 : 3);
}

export const percent = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(x > 0.9995 || x === 0 ? 0 : 1)}%`);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

const ICONS = {
  check: "M4 10.5l4 4 8-9",
  lock: "M6 9V6.5a4 4 0 018 0V9M5 9h10v7.5H5z",
  open: "M6 9V6.5a4 4 0 017.7-1.5M5 9h10v7.5H5z",
  link: "M8.5 11.5l3-3M7 9l-2 2a3 3 0 004 4l2-2M13 11l2-2a3 3 0 00-4-4L9 7",
  text: "M4 5h12M4 9h12M4 13h8",
  code: "M7 6l-4 4 4 4M13 6l4 4-4 4",
  arrow: "M4 10h11M11 6l4 4-4 4",
  search: "M9 4a5 5 0 100 10A5 5 0 009 4zM13 13l4 4",
  swap: "M4 7h11l-3-3M16 13H5l3 3",
  plus: "M10 4v12M4 10h12",
  reset: "M5 10a5 5 0 105-5H6M8 2.5L5.5 5 8 7.5",
  sun: "M10 6.5a3.5 3.5 0 100 7 3.5 3.5 0 000-7zM10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6L16 16M4 16l1.4-1.4M14.6 5.4L16 4",
  moon: "M16 12.5A7 7 0 017.5 4a7 7 0 108.5 8.5z",
  auto: "M10 3a7 7 0 100 14 7 7 0 000-14zM10 3v14",
  warn: "M10 3l8 14H2zM10 8v4M10 14.5v.5",
  close: "M5 5l10 10M15 5L5 15",
};

export function icon(name) {
  return svg(
    "svg",
    { viewBox: "0 0 20 20", width: 16, height: 16, class: "ico", "aria-hidden": "true" },
    svg("path", { d: ICONS[name], fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round" }),
  );
}

// A relation as words: the end of an address, camel case and underscores taken apart.
export function words(relation) {
  const text = String(relation).replace(/[/#]+$/, "").split(/[/#]/).pop() || String(relation);
  return text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll("_", " ").split(/\s+/).map((w) => (w === w.toUpperCase() ? w : w.toLowerCase())).join(" ");
}
