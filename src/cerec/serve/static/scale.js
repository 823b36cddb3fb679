// Rank before and after on one line, with the end of the list marked.
import { count, svg } from "./dom.js";
import { drawn, label, textWidth } from "./drawing.js";

const INSIDE = 0.56; // part of the line that the list takes; what lies beyond is on a log scale

export function rankPosition(rank, k, most) {
  if (rank <= k) return (INSIDE * (rank - 0.5)) / k;
  return INSIDE + (1 - INSIDE) * Math.min(1, Math.log((rank + 0.5) / (k + 0.5)) / Math.log(most / (k + 0.5)));
}

export function rankScale({ before, after, k }) {
  const most = Math.max(2.5 * k, (after || 0) * 1.4, (before || 0) * 1.4);
  const words = after === null ? `rank ${before}` : `rank ${before} becomes ${after}`;
  return drawn("scale", (width) => paintScale({ before, after, k, most, words, width }));
}

function paintScale({ before, after, k, most, words, width }) {
  const left = 14;
  const inner = width - 2 * left;
  const at = (rank) => left + inner * rankPosition(rank, k, most);
  const y = 62;
  const edge = left + inner * INSIDE;
  const parts = [
    svg("line", { class: "scale-line", x1: left, x2: width - left, y1: y, y2: y }),
    svg("rect", { class: "scale-list", x: left - 6, y: y - 7, width: edge - left + 6, height: 14, rx: 7 }),
    svg("line", { class: "scale-cut", x1: edge, x2: edge, y1: 22, y2: y + 16 }),
    label(edge, 15, `end of the top ${count(k)}`, { class: "scale-cut-word" }),
  ];
  if (k <= 60) for (let r = 1; r <= k; r += 1) parts.push(svg("circle", { class: "scale-tick", cx: at(r), cy: y, r: 1.5 }));
  for (let r = 10 ** Math.ceil(Math.log10(k + 1)); r < most; r *= 10) {
    parts.push(svg("line", { class: "scale-mark", x1: at(r), x2: at(r), y1: y - 4, y2: y + 4 }));
    if (![before, after].some((x) => x && Math.abs(at(x) - at(r)) < 70)) parts.push(label(at(r), y + 24, count(r), { class: "scale-number" }));
  }
  parts.push(...dots(at, y, before, after, width));
  const height = after !== null && Math.abs(at(after) - at(before)) < 100 ? 116 : 98;
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${words}; the list ends at rank ${k}` }, parts);
}

function dots(at, y, before, after, width) {
  const parts = [];
  const clamp = (x, text) => Math.min(Math.max(x, textWidth(text, 14, 650) / 2 + 2), width - textWidth(text, 14, 650) / 2 - 2);
  const now = `now ${count(before)}`;
  if (after !== null && after !== before) {
    const [a, b] = [at(before), at(after)];
    const lift = Math.min(34, 14 + Math.abs(b - a) / 8);
    parts.push(svg("path", { class: "scale-arc", d: `M${a} ${y - 9}C${a} ${y - 9 - lift} ${b} ${y - 9 - lift} ${b} ${y - 11}` }));
    parts.push(svg("path", { class: "scale-head", d: `M${b - 4} ${y - 16}l4 6 4-6z` }));
  }
  parts.push(svg("circle", { class: "scale-before", cx: at(before), cy: y, r: 8 }));
  parts.push(label(clamp(at(before), now), y + 28, now, { class: "scale-before-word" }));
  if (after !== null && after !== before) {
    const then = `then ${count(after)}`;
    const low = Math.abs(at(after) - at(before)) < 100 ? 18 : 0;
    parts.push(svg("circle", { class: "scale-after", cx: at(after), cy: y, r: 8 }));
    parts.push(label(clamp(at(after), then), y + 28 + low, then, { class: "scale-after-word" }));
  }
  return parts;
}
