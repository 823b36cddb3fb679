// The ranked list; during a what-if it shows who moved, who came and who left.
import { bdi, count, el, icon, number, replace } from "./dom.js";
import { api } from "./api.js";
import { searchField } from "./search.js";

const LENGTHS = [5, 10, 20, 50, 100];

export function rankingView({ onPick, onLength, onWhyNot }) {
  const rows = new Map(); // item -> its row, kept so that a move can be shown
  const list = el("ol", { class: "rows", on: { keydown: walk } });
  const left = el("div", { class: "left-list" });
  const length = el("select", { id: "length", on: { change: () => onLength(Number(length.value)) } });
  const whyNot = searchField({
    label: "Why not another item?", placeholder: "Find the item that you miss", visibleLabel: true, clear: true,
    find: (q, signal) => api.items(q, signal), pick: (item) => onWhyNot(item.id),
    detail: (item) => `${count(item.users)} users`,
  });
  const head = el("div", { class: "ranking-head" }, el("h2", {}, "Recommended"),
    el("span", { class: "length" }, el("label", { for: "length" }, "Show"), length));
  const note = el("p", { class: "ranking-note", hidden: true });
  const box = el("div", { class: "ranking-box" }, head, note, list, left, el("div", { class: "why-not" }, whyNot.box));

  function walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    buttons[Math.min(Math.max(at + step, 0), buttons.length - 1)].focus();
  }

  function lengths(k) {
    const options = LENGTHS.includes(k) ? LENGTHS : [...LENGTHS, k].sort((a, b) => a - b);
    replace(length, options.map((n) => el("option", { value: n, selected: n === k }, n)));
  }

  function row(item) {
    if (!rows.has(item)) {
      const parts = {
        rank: el("span", { class: "row-rank" }), name: bdi("", "row-name"), move: el("span", { class: "row-move" }), about: bdi("", "row-about"),
        fill: el("span", { class: "row-fill" }), score: el("span", { class: "row-score" }),
      };
      const button = el("button", { type: "button", class: "row", on: { click: () => onPick(item) } },
        parts.rank, el("span", { class: "row-main" }, el("span", { class: "row-line" }, parts.name, parts.move), parts.about,
          el("span", { class: "row-track", "aria-hidden": "true" }, parts.fill)), parts.score);
      rows.set(item, { ...parts, button, node: el("li", { data: { item } }, button) });
    }
    return rows.get(item);
  }

  // `base` is the list as it is, `shown` the one to show, `focus` the changed item of a what-if.
  function show({ base, shown, selected, k, changed }) {
    lengths(k);
    const before = new Map(base.map((r) => [r.item, r.rank]));
    const old = new Map([...rows].map(([item, r]) => [item, r.node.isConnected ? r.node.getBoundingClientRect().top : null]));
    const scores = [...base, ...shown].map((r) => r.score);
    const [low, high] = [Math.min(...scores), Math.max(...scores)];
    const floor = low - 0.2 * (high - low || 1);
    const nodes = shown.map((r) => {
      const parts = row(r.item);
      parts.rank.textContent = r.rank;
      parts.name.textContent = r.name;
      if (r.about) parts.about.textContent = r.about;
      parts.button.title = r.name;
      parts.score.textContent = number(r.score);
      parts.fill.style.setProperty("width", `${(100 * (r.score - floor)) / (high - floor || 1)}%`);
      parts.button.setAttribute("aria-current", String(r.item === selected));
      parts.node.classList.toggle("changed", r.item === changed);
      movement(parts.move, changed === null ? 0 : before.has(r.item) ? before.get(r.item) - r.rank : null);
      return parts.node;
    });
    replace(list, nodes);
    const gone = changed === null ? [] : base.filter((r) => !shown.some((s) => s.item === r.item));
    replace(left, gone.length > 0 && [el("p", { class: "left-title" }, "Left the list"),
      gone.map((r) => el("p", { class: "left-row" }, el("span", { class: "row-rank" }, `was ${r.rank}`), bdi(r.name)))]);
    note.hidden = changed === null;
    note.textContent = changed === null ? "" : "As it would be with the attributes you set.";
    animate(old);
  }

  function animate(old) {
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const [item, { node }] of rows) {
      const top = old.get(item);
      if (!node.isConnected || top === null || top === undefined) continue;
      const way = top - node.getBoundingClientRect().top;
      if (Math.abs(way) > 2) node.animate([{ transform: `translateY(${way}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.2,.8,.2,1)" });
    }
  }

  return { box, show, list, forget: () => rows.clear(), note, left };
}

function movement(node, way) {
  node.className = `row-move ${way === null ? "new" : way > 0 ? "up" : way < 0 ? "down" : ""}`;
  if (way === 0) return replace(node);
  if (way === null) return replace(node, "new");
  return replace(node, el("span", { "aria-hidden": "true" }, `${way > 0 ? "▲" : "▼"} ${Math.abs(way)}`),
    el("span", { class: "hidden" }, `${way > 0 ? "up" : "down"} ${Math.abs(way)}`));
}

export const emptyList = () => el("div", { class: "state" }, el("div", { class: "state-mark" }, icon("text")),
  el("h2", {}, "Nothing to recommend"), el("p", {}, "This user has taken every item there is."));
