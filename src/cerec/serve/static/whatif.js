// Setting an item's attributes by hand: switch one off, put another in its place, add one.
import { bdi, count, el, icon, number, replace } from "./dom.js";
import { api } from "./api.js";
import { rankScale } from "./scale.js";
import { searchField } from "./search.js";

const FEW = 6;
const same = (a, b) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];

// Edits are [relation, before | null, after | null]; the set that they make of the item's own.
export function edited(own, edits) {
  const gone = new Set(edits.filter((e) => e[1] !== null).map((e) => JSON.stringify([e[0], e[1]])));
  const found = new Map(own.filter((p) => !gone.has(JSON.stringify(p))).map((p) => [JSON.stringify(p), p]));
  for (const [relation, , after] of edits) if (after !== null) found.set(JSON.stringify([relation, after]), [relation, after]);
  return [...found.values()];
}

export const ownPairs = (attributes) => attributes.results.map((a) => [a.relation.id, a.attribute.id]);

export function whatIfResult(answer, k) {
  if (!answer) return el("div", { class: "what-result" }, el("p", { class: "fine" }, "Switch an attribute off, or put another in its place, and watch the list."));
  const [a, b] = [answer.rank_before, answer.rank_after];
  const [wasIn, isIn] = [a !== null && a <= k, b !== null && b <= k];
  const words = wasIn && !isIn ? "leaves the list" : !wasIn && isIn ? "enters the list" : isIn ? "stays in the list" : "stays outside the list";
  return el("div", { class: "what-result" },
    el("p", { class: `verdict ${isIn ? "in" : "out"}` }, el("b", {}, `Rank ${count(a)} → ${count(b)}`), `, ${words}. `,
      el("span", { class: "fine" }, `Score ${number(answer.score_before)} → ${number(answer.score)}`)),
    rankScale({ before: a, after: b, k }));
}

export function attributeEditor(attributes, edits, names, change) {
  const groups = new Map();
  for (const a of attributes.results) {
    if (!groups.has(a.relation.id)) groups.set(a.relation.id, { relation: a.relation, rows: [] });
    groups.get(a.relation.id).rows.push(a);
  }
  for (const [relation] of edits) if (!groups.has(relation)) groups.set(relation, { relation: { id: relation, name: relation }, rows: [] });
  const most = Math.max(1e-12, ...attributes.results.map((a) => Math.abs(a.pull ?? 0)));
  const weight = (g) => Math.max(0, ...g.rows.map((a) => Math.abs(a.pull ?? 0)));
  const ordered = [...groups.values()].sort((a, b) => weight(b) - weight(a));
  const body = el("div", { class: "groups" });
  const draw = (wanted) => replace(body, ordered.map((g) => group(g, { edits, names, change, most, wanted })));
  draw("");
  const filter = attributes.total > 24 && el("input", {
    type: "search", class: "find filter", placeholder: `Filter ${count(attributes.total)} attributes`, "aria-label": "Filter attributes",
    on: { input: (event) => draw(event.target.value.trim().toLowerCase()) },
  });
  return el("div", { class: "editor" }, filter, body);
}

function group({ relation, rows }, context) {
  const { edits, names, change, wanted } = context;
  const mine = edits.filter((e) => e[0] === relation.id);
  const touched = (a) => mine.some((e) => e[1] === a.attribute.id);
  const fits = rows.filter((a) => !wanted || a.attribute.name.toLowerCase().includes(wanted) || relation.name.toLowerCase().includes(wanted));
  if (wanted && !fits.length) return null;
  const ordered = fits.sort((a, b) => touched(b) - touched(a) || (b.pull ?? 0) - (a.pull ?? 0));
  const list = el("ul", { class: "attributes" });
  const drawRows = (n) => replace(list, ordered.slice(0, n).map((a) => attributeRow(a, context)),
    mine.filter((e) => e[1] === null).map((e) => addedRow(e, names, () => change(edits.filter((x) => !same(x, e))))));
  drawRows(FEW);
  const rest = ordered.length - FEW;
  const more = rest > 0 && el("button", { type: "button", class: "plain small", on: { click: (event) => { drawRows(FEW + 200); event.target.remove(); } } },
    rest > 200 ? `Show 200 of ${count(rest)} more` : `Show ${count(rest)} more`);
  const adding = el("div", { class: "adding" });
  return el("section", { class: "group" }, el("div", { class: "group-head" }, el("h4", {}, bdi(relation.name)), adder(relation, adding, context)), adding, list, more);
}

function attributeRow(a, { edits, names, change, most }) {
  const key = [a.relation.id, a.attribute.id];
  const edit = edits.find((e) => e[0] === key[0] && e[1] === key[1]);
  const without = edits.filter((e) => e !== edit);
  const row = el("li", { class: `attribute ${edit ? "touched" : ""}` });
  const toggle = el("button", {
    type: "button", role: "switch", class: "switch", "aria-checked": String(!edit), "aria-label": `${a.relation.name}: ${a.attribute.name}`,
    on: { click: () => change(edit ? without : [...edits, [...key, null]]) },
  });
  const pull = a.pull ?? 0;
  const meter = el("span", { class: "pull", title: `Adds ${number(pull)} to the score` }, el("span", {
    class: `pull-fill ${pull < 0 ? "down" : "up"}`, style: { width: `${(50 * Math.abs(pull)) / most}%`, [pull < 0 ? "right" : "left"]: "50%" },
  }), el("span", { class: "hidden" }, `adds ${number(pull)}`));
  const swap = el("button", { type: "button", class: "icon small", "aria-label": `Replace ${a.attribute.name}`, title: "Replace", on: { click: () => openSwap() } }, icon("swap"));
  const openSwap = () => {
    if (row.querySelector(".finder")) return;
    const field = valueField(a.relation, `Instead of ${a.attribute.name}`, (value) => {
      names.set(JSON.stringify([a.relation.id, value.id]), value.name);
      change([...without, [...key, value.id]]);
    });
    row.append(field.box);
    field.input.focus();
  };
  const after = edit?.[2];
  row.append(el("div", { class: "attribute-line" }, toggle,
    el("span", { class: "attribute-name", title: a.attribute.name }, bdi(a.attribute.name, edit ? "struck" : ""),
      after && [el("span", { class: "to", "aria-hidden": "true" }, " → "), bdi(names.get(JSON.stringify([key[0], after])) ?? after, "would")]),
    a.pull !== null && meter, swap));
  return row;
}

function addedRow([relation, , after], names, undo) {
  const name = names.get(JSON.stringify([relation, after])) ?? after;
  return el("li", { class: "attribute touched" }, el("div", { class: "attribute-line" },
    el("button", { type: "button", role: "switch", class: "switch", "aria-checked": "true", "aria-label": `Added: ${name}`, on: { click: undo } }),
    el("span", { class: "attribute-name" }, bdi(name, "would")), el("span", { class: "tag" }, "added")));
}

function adder(relation, spot, { edits, names, change }) {
  const open = () => {
    const field = valueField(relation, `Add to ${relation.name}`, (value) => {
      names.set(JSON.stringify([relation.id, value.id]), value.name);
      change([...edits.filter((e) => !same(e, [relation.id, null, value.id])), [relation.id, null, value.id]]);
    });
    replace(spot, field.box);
    field.input.focus();
  };
  return el("button", { type: "button", class: "add", "aria-label": `Add to ${relation.name}`, on: { click: open } }, icon("plus"), "Add");
}

function valueField(relation, label, pick) {
  return searchField({ label, placeholder: label, find: (q, signal) => api.values(relation.id, q, signal), pick, detail: (v) => `${count(v.items)} items` });
}

// Names of values that came with a link, where only ids stand.
export async function resolveNames(edits, names) {
  const missing = edits.filter((e) => e[2] !== null && !names.has(JSON.stringify([e[0], e[2]])));
  await Promise.all(missing.slice(0, 20).map(async ([relation, , after]) => {
    const found = await api.values(relation, after, undefined, 5).catch(() => ({ results: [] }));
    const exact = found.results.find((v) => v.id === after);
    if (exact) names.set(JSON.stringify([relation, after]), exact.name);
  }));
}
