// What the drawings share: measuring text, cutting it to a width, drawing again on resize.
import { el, svg } from "./dom.js";

let ruler = null;
export function textWidth(text, size, weight = 400) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

export function cutText(text, width, size, weight = 400) {
  if (textWidth(text, size, weight) <= width) return text;
  const letters = [...text];
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (textWidth(`${letters.slice(0, mid).join("")}…`, size, weight) <= width) low = mid;
    else high = mid - 1;
  }
  return `${letters.slice(0, low).join("").trimEnd()}…`;
}

// `paint(width)` gives an <svg> for a width in pixels; it is called again when the width changes.
export function drawn(cls, paint) {
  const box = el("div", { class: `drawn ${cls}` });
  let width = 0;
  const redraw = () => {
    const now = Math.floor(box.clientWidth);
    if (now < 40 || now === width) return;
    width = now;
    box.replaceChildren(paint(now));
  };
  new ResizeObserver(redraw).observe(box);
  return box;
}

export function label(x, y, text, props = {}) {
  return svg("text", { x, y, "text-anchor": "middle", ...props }, text);
}
