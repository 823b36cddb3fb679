// The whole run: data, accuracy, training, and what its explanations look like.
import { count, el, number, percent, plural } from "./dom.js";
import { columns, curve, ring } from "./charts.js";
import { dependsView } from "./recommender.js";

const DATA = [["users", "users"], ["items", "items"], ["interactions", "interactions"], ["triples", "facts"], ["relations", "relations"], ["values", "attribute values"]];
const STATUS = {
  verified: "verified by attributes", canonical: "a pattern in the scores", fitted: "by a fit to the scores",
  not_found: "no change of attributes does it", no_attributes: "nothing known of its attributes", not_recommended: "not recommended", timed_out: "out of time",
};
const SKIP = /^(epoch|step|phase|seconds?|time|wall|memory)/i;

export function runView(facts, overview) {
  return el("div", { class: "run-view" },
    el("header", { class: "run-head" }, el("h1", {}, facts.name), el("p", { class: "lead" },
      `${plural(facts.data.users, "user")}, ${plural(facts.data.items, "item")} and ${plural(facts.data.triples, "fact")} about them.`)),
    tiles(DATA.map(([key, name]) => [count(facts.data[key]), name]), "Data"),
    overview.audit && dependsView(overview.audit),
    accuracy(facts.metrics),
    training(overview.history),
    explaining(overview),
    settings(facts));
}

function tiles(rows, title, cls = "") {
  if (!rows.length) return null;
  return el("section", { class: "run-block" }, el("h2", {}, title), el("dl", { class: `tiles ${cls}` },
    rows.map(([value, name, note]) => el("div", { class: "tile" }, el("dt", {}, name, note && el("span", { class: "tile-note" }, note)), el("dd", {}, value)))));
}

// Test figures large, those of validation beside them; figures of any other shape as they come.
function accuracy(metrics) {
  const test = metrics.test && typeof metrics.test === "object" ? metrics.test : null;
  if (!test) return tiles(flatNumbers(metrics).slice(0, 24).map(([name, v]) => [number(v), name]), "Accuracy", "accent");
  const rows = Object.entries(test).filter(([name, v]) => typeof v === "number" && name !== "users");
  return tiles(rows.map(([name, v]) => [number(v), name, typeof metrics.valid?.[name] === "number" ? `validation ${number(metrics.valid[name])}` : null]), "Accuracy on held-out interactions", "accent");
}

export function flatNumbers(value, prefix = "") {
  if (typeof value === "number") return [[prefix, value]];
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, v]) => flatNumbers(v, prefix ? `${prefix} ${key}` : key));
}

// Rows of several phases (recommender, agent) share one history; each phase has its own curves.
export function trainingCurves(history) {
  const phases = [...new Set(history.map((row) => row.phase ?? ""))];
  return phases.flatMap((phase) => {
    const rows = history.filter((row) => (row.phase ?? "") === phase);
    return [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !SKIP.test(name)).map((name) => ({
      name, phase, points: rows.map((row, n) => ({ x: row.epoch ?? n + 1, y: row[name] })).filter((p) => typeof p.y === "number"),
    }));
  }).filter(({ points }) => points.length > 1 && points.some((p) => p.y !== points[0].y));
}

function training(history) {
  const curves = trainingCurves(history);
  if (!curves.length) return null;
  return el("section", { class: "run-block" }, el("h2", {}, "Training"), el("div", { class: "curves" },
    curves.slice(0, 12).map(({ name, phase, points }) => el("figure", { class: "tile figure" },
      el("figcaption", {}, el("span", {}, name, phase && el("span", { class: "fine" }, ` ${phase}`)), el("b", {}, number(points.at(-1).y))), curve(points, name)))));
}

function explaining(o) {
  const s = o.sample;
  if (!s.pairs) return null;
  const verified = Object.values(o.certificates).reduce((sum, n) => sum + n, 0);
  const minimum = o.certificates.minimum || 0;
  const sizes = grouped(o.sizes, 10);
  return el("section", { class: "run-block" }, el("h2", {}, "Explanations"),
    el("p", { class: "lead" }, `Coverage counts all ${plural(o.pairs, "listed item")} of everybody's top ${s.k}. The rest is a sample of ${count(s.pairs)}, of ${plural(s.users, "user")}: ${percent(s.answered)} of it has an answer by attributes or by history.`),
    el("div", { class: "figures" },
      el("figure", { class: "tile figure" }, el("figcaption", {}, el("span", {}, "Coverage")),
        el("div", { class: "ring-row" }, ring(o.coverage, "Coverage"),
          el("ul", { class: "legend" }, Object.entries(o.status).sort((a, b) => b[1] - a[1]).map(([key, n]) => el("li", { class: `legend-${key}` }, el("b", {}, count(n)), ` ${STATUS[key] || key}`)),
            el("li", {}, el("b", {}, percent(verified ? minimum / verified : null)), " proven smallest")))),
      el("figure", { class: "tile figure" }, el("figcaption", {}, el("span", {}, "Changes needed")),
        sizes.length ? columns(sizes, "How many changes explanations need", "changes in one explanation") : empty()),
      el("figure", { class: "tile figure" }, el("figcaption", {}, el("span", {}, "How far items fall")),
        o.falls.length ? columns(byRange(o.falls), "How many ranks items fall", "ranks lost by the change") : empty())));
}

const empty = () => el("p", { class: "empty-note" }, "No explanation in the sample.");

export function grouped(sizes, most) {
  const shown = sizes.filter((s) => s.value < most).map((s) => ({ label: String(s.value), count: s.count }));
  const rest = sizes.filter((s) => s.value >= most).reduce((n, s) => n + s.count, 0);
  return rest ? [...shown, { label: `${most}+`, count: rest }] : shown;
}

const RANGES = [5, 10, 20, 50, 100, 500];
export function byRange(falls) {
  const rows = [...RANGES, Infinity].map((most, n) => {
    const least = (RANGES[n - 1] ?? 0) + 1;
    const found = falls.filter((f) => f.value >= least && f.value <= most).reduce((sum, f) => sum + f.count, 0);
    return { label: most === Infinity ? `${least}+` : `${least}–${most}`, count: found };
  });
  while (rows.length > 1 && rows.at(-1).count === 0) rows.pop();
  return rows;
}

function settings(facts) {
  const rows = flatText(facts.settings);
  const notes = facts.notes.map((n) => el("li", {}, n));
  return el("section", { class: "run-block" }, el("h2", {}, "Settings"),
    el("details", { class: "tile" }, el("summary", {}, `${plural(rows.length, "value")}, kept with the run`),
      el("table", { class: "settings" }, el("tbody", {}, rows.map(([name, v]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, v)))))),
    notes.length > 0 && el("details", { class: "tile" }, el("summary", {}, "Notes on the data"), el("ul", { class: "notes" }, notes)));
}

function flatText(value, prefix = "") {
  if (value === null || typeof value !== "object") return [[prefix, value === null ? "–" : typeof value === "number" ? number(value) : String(value)]];
  if (Array.isArray(value)) return [[prefix, value.map((v) => (typeof v === "object" ? JSON.stringify(v) : v)).join(", ")]];
  return Object.entries(value).flatMap(([key, v]) => flatText(v, prefix ? `${prefix}.${key}` : key));
}
