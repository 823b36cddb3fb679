// Bars and lines for the view of the run.
import { bdi, count, el, number, svg } from "./dom.js";
import { drawn, label } from "./drawing.js";

export function bars(rows, words) {
  const most = Math.max(1e-9, ...rows.map((r) => r.value));
  return el("ol", { class: "bars", "aria-label": words }, rows.map((r) =>
    el("li", {},
      el("span", { class: "bars-name", title: r.title ? `${r.name}: ${r.title}` : r.name }, r.group && el("span", { class: "bars-group" }, bdi(r.group)),
        r.href ? el("a", { href: r.href, "aria-current": r.current ? "true" : null }, bdi(r.name)) : bdi(r.name)),
      el("span", { class: "bars-track" }, el("span", { class: "bars-fill", style: { width: `${(100 * r.value) / most}%` } })),
      el("span", { class: "bars-value" }, r.note ?? count(r.value)))));
}

export function columns(rows, words, unit) {
  const most = Math.max(1, ...rows.map((r) => r.count));
  const total = rows.reduce((n, r) => n + r.count, 0);
  return drawn("columns", (width) => {
    const height = 190;
    const base = height - 44;
    const slot = (width - 8) / rows.length;
    const bar = Math.min(64, slot * 0.72);
    const every = Math.ceil(34 / slot);
    const parts = rows.flatMap((r, n) => {
      const tall = Math.max(2, (r.count / most) * (base - 26));
      const x = 4 + slot * (n + 0.5);
      return [
        svg("rect", { class: "column", x: x - bar / 2, y: base - tall, width: bar, height: tall, rx: Math.min(5, bar / 3) }, svg("title", {}, `${r.label}: ${r.count}`)),
        slot > 40 && label(x, base - tall - 7, share(r.count / total), { class: "column-value" }),
        n % every === 0 && label(x, base + 18, r.label, { class: "axis-word" }),
      ];
    });
    parts.push(svg("line", { class: "axis", x1: 0, x2: width, y1: base, y2: base }), label(width / 2, height - 5, unit, { class: "axis-unit" }));
    return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, parts.filter(Boolean));
  });
}

const share = (part) => (part > 0 && part < 0.005 ? "<1%" : `${Math.round(100 * part)}%`);

export function curve(points, name) {
  const values = points.map((p) => p.y);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = high - low || Math.abs(high) || 1;
  const words = `${name}: ${number(values[0])} at the start, ${number(values.at(-1))} at the end, best between ${number(low)} and ${number(high)}`;
  return drawn("curve", (width) => {
    const height = 150;
    const [left, right, top, base] = [6, width - 6, 16, height - 26];
    const x = (p) => left + ((right - left) * (p.x - points[0].x)) / (points.at(-1).x - points[0].x || 1);
    const y = (p) => base - ((base - top) * (p.y - low)) / span;
    const line = points.map((p, n) => `${n ? "L" : "M"}${x(p).toFixed(1)} ${y(p).toFixed(1)}`).join("");
    const end = points.at(-1);
    return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
      [0, 0.5, 1].map((f) => svg("line", { class: "grid", x1: left, x2: right, y1: top + f * (base - top), y2: top + f * (base - top) })),
      svg("path", { class: "curve-area", d: `${line}L${x(end)} ${base}L${left} ${base}Z` }),
      svg("path", { class: "curve-line", d: line }),
      svg("circle", { class: "curve-end", cx: x(end), cy: y(end), r: 4 }),
      label(left, top - 5, number(high), { class: "axis-word", "text-anchor": "start" }),
      label(left, base + 16, number(low), { class: "axis-word", "text-anchor": "start" }),
      label(right, base + 16, `epoch ${count(end.x)}`, { class: "axis-word", "text-anchor": "end" }));
  });
}

export function ring(part, words) {
  const r = 52;
  const round = 2 * Math.PI * r;
  const shown = part === null ? "–" : `${(100 * part).toFixed(part > 0.9995 ? 0 : 1)}%`;
  return svg("svg", { width: 140, height: 140, viewBox: "0 0 140 140", role: "img", "aria-label": `${words}: ${shown}`, class: "ring" },
    svg("circle", { class: "ring-back", cx: 70, cy: 70, r }),
    svg("circle", { class: "ring-part", cx: 70, cy: 70, r, "stroke-dasharray": `${round * (part || 0)} ${round}`, transform: "rotate(-90 70 70)" }),
    label(70, 78, shown, { class: "ring-word" }));
}
