// One explanation, drawn: sentence, changes, rank scale, path.
import { bdi, count, el, icon, number, percent, plural, words } from "./dom.js";
import { pathGraph } from "./graph.js";
import { rankScale } from "./scale.js";

export function nameOf(explanation, id) {
  return explanation.names.find((n) => n.id === id)?.name ?? id;
}

// The sentence with the names in it set apart; longer names first, so that none is cut in two.
export function sentence(explanation) {
  const marks = new Map();
  for (const c of explanation.changes) {
    if (c.before_name) marks.set(c.before_name, "was");
    if (c.after_name) marks.set(c.after_name, "would");
  }
  for (const n of [...explanation.names.slice(1), ...explanation.history]) marks.set(n.name, "title");
  for (const r of explanation.reasons) if (r.kind === "history" && !marks.has(r.name)) marks.set(r.name, "title");
  const names = [...marks.keys()].filter((n) => n.length > 1).sort((a, b) => b.length - a.length);
  const line = el("p", { class: "sentence", dir: "auto" });
  let rest = explanation.text;
  while (rest) {
    let first = null;
    for (const name of names) {
      const at = rest.indexOf(name);
      if (at >= 0 && (first === null || at < first.at)) first = { at, name };
    }
    if (first === null) break;
    const kind = marks.get(first.name);
    line.append(rest.slice(0, first.at), el("b", { class: kind }, bdi(first.name)));
    rest = rest.slice(first.at + first.name.length);
  }
  line.append(rest);
  return line;
}

const SEALS = {
  minimum: ["no smaller set does it", "Checked by scoring again. No smaller set flips the list."],
  toward: ["no fewer changes towards ", "Checked by scoring the changed item again. No set of fewer changes towards this item flips the list."],
  irreducible: ["none of it can be left out", "Checked by scoring again. Leaving out any one part would not flip the list."],
  none: ["", "Checked by scoring again."],
};
const ANSWERED = { verified: "Verified", canonical: "A pattern in the scores", fitted: "By a fit to the scores" };
const UNSEALED = {
  not_found: "No change found",
  no_attributes: "Nothing known to change",
  not_recommended: "Not in the list",
  timed_out: "Out of time",
};

export function seal(e) {
  if (!(e.status in ANSWERED)) return el("span", { class: "seal bad" }, icon("warn"), UNSEALED[e.status]);
  const [words, title] = SEALS[e.certificate || "none"];
  return el("span", { class: "seal good", title }, icon("check"),
    el("span", {}, words ? `${ANSWERED[e.status]}, ${words}` : ANSWERED[e.status], e.certificate === "toward" && bdi(nameOf(e, e.counterfactual_item))));
}

const KINDS = { own: "liked more than its attributes say", other: "what its attributes do not carry", "usual values": "usual: attributes of the average item", "usual history": "usual: what your history says for the average item" };
const OTHERS = { value: "other attributes", history: "other items you know", "": "smaller parts" };
const usual = (r) => (r.count === null || r.count === undefined ? null : ` ${count(r.count)} of yours, ${r.usual.toFixed(1)} usual`);

// The largest parts of the score as bars, the others by kind; together they are the lead.
function reasonBars(reasons) {
  const rows = reasons.slice(0, 6).map((r) => ({ name: r.relation_name ? `${words(r.relation_name)}: ${r.name}` : r.name || KINDS[r.kind] || r.kind, part: r.part, note: usual(r) }));
  for (const [kind, name] of Object.entries(OTHERS)) {
    const rest = reasons.slice(6).filter((r) => (r.kind in OTHERS ? r.kind : "") === kind);
    if (rest.length) rows.push({ name: `${count(rest.length)} ${name}`, part: rest.reduce((sum, r) => sum + r.part, 0) });
  }
  const widest = Math.max(...rows.map((r) => Math.abs(r.part)), 1e-12);
  const total = reasons.reduce((sum, r) => sum + r.part, 0);
  return el("dl", { class: "reasons", "aria-label": "Parts of the score" }, rows.map((r) =>
    el("div", { class: r.part < 0 ? "reason against" : "reason" }, el("dt", { title: r.name }, bdi(r.name), r.note && el("span", { class: "fine" }, r.note)),
      el("dd", {}, el("span", { class: "part", style: { "inline-size": `${(60 * Math.abs(r.part)) / widest}%` } }), ` ${r.part < 0 ? "−" : "+"}${number(Math.abs(r.part))}`))),
    el("div", { class: "reason total" }, el("dt", {}, "above the average item"), el("dd", {}, number(total))));
}

export function changeRows(changes) {
  return el("ul", { class: "changes", "aria-label": "Changes" }, changes.map((c) =>
    el("li", { class: "change" },
      el("span", { class: "relation" }, bdi(words(c.relation_name || c.relation))),
      chip("before", c.before_name ?? c.before, "not there"),
      el("span", { class: "to", role: "img", "aria-label": "becomes" }, icon("arrow")),
      chip("after", c.after_name ?? c.after, "removed"))));
}

function chip(side, name, absent) {
  return name === null || name === undefined
    ? el("span", { class: `chip ${side} absent` }, absent)
    : el("span", { class: `chip ${side}`, title: name }, bdi(name));
}

function outcome(e) {
  const other = nameOf(e, e.replacement);
  const comes = e.question === "why_not" ? "drops out" : "comes in";
  return el("dl", { class: "numbers" },
    pair("Score", `${number(e.score_before)} → ${number(e.score_after)}`),
    pair("Score to pass", number(e.cutoff)),
    typeof e.holds === "number" && pair("Holds if a tenth of the data goes", percent(e.holds)),
    el("div", { class: "wide" }, el("dt", {}, comes === "comes in" ? "Comes in instead" : "Drops out for it"), el("dd", {}, bdi(other, "would"))));
}

const pair = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));

function answerBlock(e) {
  if (e.by === "history") return block(e.question === "why_not" ? "What it would take" : "Without these", el("ul", { class: "changes", "aria-label": "Items" }, e.history.map((n) => el("li", { class: "change" }, el("span", { class: "chip before" }, bdi(n.name))))));
  const n = e.changes.filter((c) => !c.along).length;
  return block(n === 1 ? "The one change" : `The ${count(n)} changes`, changeRows(e.changes));
}

export function explanationCard(e) {
  const why = e.reasons.length > 0 && block(e.question === "why_not" ? "What its score is made of" : "Why it is there", reasonBars(e.reasons));
  const notes = e.notes.map((n) => el("p", { class: "fine" }, n));
  if (!(e.status in ANSWERED)) return el("div", { class: "card-body" }, seal(e), sentence(e), notes, why);
  return el("div", { class: "card-body" },
    seal(e),
    sentence(e),
    answerBlock(e),
    notes,
    why,
    block("What it does to the rank", rankScale({ before: e.rank_before, after: e.rank_after, k: e.k }), outcome(e)),
    e.path.length > 0 && block("How the agent walked there", pathGraph(e.path, e.question === "why_not" ? "asked about" : "recommended")));
}

// The best answer within each relation, and an answer of the other kind.
export function besides(e, history) {
  const other = history && history.by !== e.by && history.status in ANSWERED ? history : e.beside;
  return [
    other && block(other.by === "history" ? "By your history" : "By its attributes", sentence(other), other.by !== "history" && changeRows(other.changes)),
    e.by_relation.length > 0 && block("Within one relation alone", el("ul", { class: "relation-ways" }, e.by_relation.map((way) =>
      el("li", {}, changeRows(way.changes), el("span", { class: "fine" }, `rank ${count(way.rank_before)} → ${count(way.rank_after)}`))))),
  ];
}

export function block(title, ...content) {
  return el("section", { class: "block" }, el("h3", {}, title), content);
}

export function explanationText(e) {
  const lines = [e.text];
  for (const c of e.changes) lines.push(`  ${words(c.relation_name || c.relation)}: ${c.before_name ?? c.before ?? "(not there)"} -> ${c.after_name ?? c.after ?? "(removed)"}`);
  if (e.status in ANSWERED) lines.push(`  rank ${e.rank_before} -> ${e.rank_after} of the top ${e.k}; ${plural(e.by === "history" ? e.history.length : e.changes.length, e.by === "history" ? "item" : "change")}, ${e.certificate || e.status}`);
  return lines.join("\n");
}
