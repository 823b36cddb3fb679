// The whole recommender: what lists depend on, groups side by side, an attribute on trial.
import { bdi, count, el, percent, plural, replace } from "./dom.js";
import { bars } from "./charts.js";

const signed = (x) => `${x > 0 ? "+" : ""}${(100 * x).toFixed(1)}%`;
const spread = (s, text) => `${text(s.value)} (${text(s.low)} to ${text(s.high)})`;

// `link(changes)` gives the address of a state; without it (in a report) nothing is a link.
export function dependsView(a, { relation = null, link = null } = {}) {
  const main = a.parameters.filter((p) => p.share.value >= 0.0005);
  const relations = main.filter((p) => p.kind === "relation" && a.values.some((v) => v.relation === p.id));
  const opened = relations.find((p) => p.id === relation) ?? relations[0];
  const small = a.parameters.length - main.length;
  const bar = (p) => ({ name: p.name, value: p.share.value, note: percent(p.share.value), title: `95 % interval ${percent(p.share.low)} to ${percent(p.share.high)}`,
    href: link && relations.includes(p) ? link({ relation: p.id }) : null, current: link && p === opened });
  return el("section", { class: "run-block", id: "depends" }, el("h2", {}, "What the lists depend on"),
    el("p", { class: "lead wide" }, a.text),
    el("div", { class: "figures" },
      el("figure", { class: "tile figure" }, el("figcaption", {}, "Main parameters"),
        bars(main.map(bar), "Share of what lifts listed items above the average unseen item"),
        el("p", { class: "fine" }, `Shares of the lead of ${count(a.pairs)} listed items, of ${plural(a.users, "user")}, over the average unseen item.`,
          a.everybody && ` ${percent(a.everybody.value)} of it is what everybody makes of attributes.`,
          small > 0 && ` ${plural(small, "more relation has", "more relations have")} next to nothing.`)),
      opened && el("figure", { class: "tile figure", id: "opened" }, opening(opened, a, link))),
    groups(a, main),
    a.signs.length > 0 && el("figure", { class: "tile figure below" }, el("figcaption", {}, "What looks wrong"),
      el("ul", { class: "notes" }, a.signs.map((s) => el("li", {}, el("b", {}, `${s.kind}: `), bdi(s.text))))));
}

function opening(p, a, link) {
  const often = [["Decides", p.decides, "the item would leave, were this part that of the average item"],
    ["Alone enough", p.needed, "a change within this relation takes the item out"], ["In the answer", p.answered, "the smallest change of all is about it"]];
  const values = a.values.filter((v) => v.relation === p.id);
  return [el("figcaption", {}, el("span", {}, "Inside ", bdi(p.name)), link && el("a", { class: "plain small", href: link({ relation: p.id, trial: p.id }) }, "Put it on trial")),
    bars(values.map((v) => ({ name: v.name, value: Math.max(v.share, 0), note: percent(v.share), title: `${count(v.pairs)} listed items` })), `Values of ${p.name} by share`),
    el("dl", { class: "often" }, often.filter(([, s]) => s).map(([name, s, words]) => el("div", {}, el("dt", {}, name), el("dd", {}, el("b", {}, percent(s.value)), ` of the time ${words}.`)))),
    !p.needed && el("p", { class: "fine" }, "Worked out from what people did, so answers keep it as it is.")];
}

function groups(a, main) {
  if (!a.segments.length) return null;
  const shown = main.slice(0, 5);
  const sum = (s) => shown.map((p) => Math.max(new Map(s.shares).get(p.id).value, 0));
  const differs = (s, p) => { const gap = new Map(s.gap).get(p.id); return gap.low > 0 || gap.high < 0; };
  return el("figure", { class: "tile figure below" }, el("figcaption", {}, "Groups side by side"),
    el("ul", { class: "keys" }, shown.map((p, n) => el("li", {}, el("i", { class: `key part-${n}` }), bdi(p.name)))),
    el("div", { class: "scroll" }, el("table", { class: "sides" },
      el("thead", {}, el("tr", {}, ["Group", "Users", "Shares", ...shown.map((p) => p.name)].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, a.segments.map((s) => el("tr", {},
        el("th", { scope: "row" }, el("span", { class: "bars-group" }, s.by), bdi(s.group)), el("td", {}, count(s.users)),
        el("td", { class: "stacked-cell" }, el("span", { class: "stacked", "aria-hidden": "true" }, sum(s).map((x, n) => el("span", { class: `part-${n}`, style: { width: `${100 * x}%` } })))),
        shown.map((p) => el("td", {}, percent(new Map(s.shares).get(p.id).value), differs(s, p) && el("b", { title: "differs from everybody" }, "*")))))))),
    el("p", { class: "fine" }, "* differs from everybody (95 % interval over users).", a.suppressed > 0 && ` ${plural(a.suppressed, "group")} of fewer than ${a.least} users are not shown.`));
}

// The trial of a relation: a choice, and what came of it.
export function trialBox(relations, chosen, onChoose) {
  const pick = el("select", { class: "find pick", id: "trial-relation" }, relations.map((p) => el("option", { value: p.id, selected: p.id === chosen }, p.name)));
  const found = el("div", { class: "trial-found", "aria-live": "polite" });
  const box = el("section", { class: "run-block", id: "trial" }, el("h2", {}, "An attribute on trial"),
    el("p", { class: "lead wide" }, "Each item in turn gets every other value of it, everything else unchanged. Which places depend on it, and for which value?"),
    el("form", { class: "trial-form", on: { submit: (event) => { event.preventDefault(); onChoose(pick.value); } } },
      el("label", { for: "trial-relation", class: "fine" }, "Attribute"), pick, el("button", { type: "submit", class: "primary" }, "Put on trial")), found);
  return { box, show: (...content) => replace(found, ...content) };
}

export function trialView(t) {
  const heads = ["Value", "Items", "Of the catalogue", "Of the places", "Effect on places", "By chance", ""];
  const row = (v) => el("tr", {}, el("th", { scope: "row" }, bdi(v.name)), el("td", {}, count(v.items)), el("td", {}, percent(v.catalogue)), el("td", {}, percent(v.now)),
    el("td", {}, spread(v.effect, signed)), el("td", {}, v.chance[0] === null ? "–" : `${signed(v.chance[0])} to ${signed(v.chance[1])}`),
    el("td", {}, v.flagged && el("span", { class: "badge beyond" }, "beyond chance")));
  const items = (rows, words) => rows.length > 0 && el("figure", { class: "tile figure" }, el("figcaption", {}, words),
    bars(rows.map(([, name, n]) => ({ name, value: n, note: n.toFixed(1) })), words));
  return [el("p", { class: "lead wide" }, t.text),
    el("div", { class: "tile figure scroll" }, el("table", { class: "sides" }, el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, t.values.slice(0, 30).map(row)))),
    el("div", { class: "figures below" }, items(t.leaving, "Would leave most lists"), items(t.coming, "Would come into most lists")),
    t.segments.length > 0 && el("div", { class: "tile figure below scroll" }, el("table", { class: "sides" },
      el("thead", {}, el("tr", {}, ["Group", "Users", "Places that depend on it"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, t.segments.map(([by, group, n, s]) => el("tr", {}, el("th", { scope: "row" }, el("span", { class: "bars-group" }, by), bdi(group)), el("td", {}, count(n)), el("td", {}, spread(s, percent))))))),
    el("p", { class: "fine" }, `${plural(t.users, "user")}, lists of ${t.k}, ${plural(t.pairs, "listed item")} with a ${t.name}. It is how the recommender behaves: not why, and nothing of the world.`)];
}
