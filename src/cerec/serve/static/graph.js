// The path item - attribute - item as a small graph: items above, what they share below.
import { svg } from "./dom.js";
import { cutText, drawn, label, textWidth } from "./drawing.js";

const SIZE = 14;

export function pathNodes(path, first) {
  const nodes = [{ kind: "item first", name: path[0].item.name, caption: first }];
  const edges = [];
  path.forEach((step, n) => {
    nodes.push({ kind: "attribute", name: step.attribute.name });
    edges.push(step.relation.name, step.to_relation.name);
    const last = n === path.length - 1;
    nodes.push({ kind: last ? "item last" : "item", name: step.to_item.name, caption: last ? "compared with" : null });
  });
  return { nodes, edges };
}

export function pathGraph(path, first) {
  const { nodes, edges } = pathNodes(path, first);
  const words = nodes.map((n, i) => (i ? ` – ${edges[i - 1]} – ${n.name}` : n.name)).join("");
  return drawn("graph", (width) => {
    const paint = width / nodes.length >= 112 ? paintZigzag : paintTall;
    return paint(nodes, edges, width, `Path: ${words}`);
  });
}

function node(x, y, width, { kind, name, caption }, captionBelow = false) {
  const height = 38;
  return svg("g", { class: `node ${kind}` },
    svg("title", {}, name),
    svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: kind === "attribute" ? height / 2 : 9 }),
    label(x, y + 5, cutText(name, width - 24, SIZE, 600), { direction: "auto" }),
    caption && label(x, captionBelow ? y + height / 2 + 17 : y - height / 2 - 8, caption, { class: "node-caption" }));
}

const fit = (name, most) => Math.min(most, Math.max(72, textWidth(name, SIZE, 600) + 34));

function edgeLabel(x, y, text, most) {
  const shown = cutText(text, most - 14, 12);
  const width = textWidth(shown, 12) + 14;
  return svg("g", { class: "edge-word" }, svg("title", {}, text),
    svg("rect", { x: x - width / 2, y: y - 10, width, height: 20, rx: 10 }), label(x, y + 4, shown));
}

function paintZigzag(nodes, edges, width, words) {
  const items = (nodes.length + 1) / 2;
  const top = 44;
  const low = 146;
  const slot = width / items;
  const place = nodes.map((n, i) => {
    const w = fit(n.name, slot - 14);
    let x = (i / 2 + 0.5) * slot;
    if (i === 0) x = Math.max(w / 2 + 2, Math.min(x, w / 2 + 24));
    if (i === nodes.length - 1) x = Math.min(width - w / 2 - 2, Math.max(x, width - w / 2 - 24));
    return { x, y: i % 2 ? low : top, w };
  });
  const parts = [];
  edges.forEach((text, i) => {
    const [a, b] = [place[i], place[i + 1]];
    const [up, down] = a.y < b.y ? [a, b] : [b, a];
    parts.push(svg("path", { class: "edge", d: `M${up.x} ${up.y + 19}C${up.x} ${up.y + 62} ${down.x} ${down.y - 62} ${down.x} ${down.y - 19}` }));
  });
  edges.forEach((text, i) => parts.push(edgeLabel((place[i].x + place[i + 1].x) / 2, (top + low) / 2, text, slot / 1.4)));
  nodes.forEach((n, i) => parts.push(node(place[i].x, place[i].y, place[i].w, n)));
  return frame(width, low + 26, words, parts);
}

function paintTall(nodes, edges, width, words) {
  const gap = 88;
  const x = width / 2;
  const parts = [];
  nodes.forEach((n, i) => {
    const y = 46 + i * gap;
    if (i) parts.push(svg("path", { class: "edge", d: `M${x} ${y - gap + 19}V${y - 19}` }));
  });
  edges.forEach((text, i) => parts.push(edgeLabel(x, 46 + i * gap + 44, text, width)));
  nodes.forEach((n, i) => parts.push(node(x, 46 + i * gap, fit(n.name, width - 8), n, i > 0)));
  return frame(width, 46 + (nodes.length - 1) * gap + 44, words, parts);
}

function frame(width, height, words, parts) {
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, parts);
}
