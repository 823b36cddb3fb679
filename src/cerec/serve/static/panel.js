// The right-hand side: why this item, why not that one, and what if.
import { bdi, count, el, icon, plural, replace, words } from "./dom.js";
import { api, latest } from "./api.js";
import { besides, block, changeRows, explanationCard, explanationText } from "./card.js";
import { copyButtons, emptyNote, failure, skeleton, tell } from "./parts.js";
import { attributeEditor, edited, ownPairs, resolveNames, whatIfResult } from "./whatif.js";

const ALTERNATIVES = 3;

export function panelView(box, { go, onWhatIf }) {
  const explain = latest();
  const know = latest();
  const imagine = latest();
  const names = new Map();
  let facts = null; // attributes of the item looked at
  let current = null; // state drawn last

  function head(state, name) {
    const tab = (id, words) => el("button", {
      type: "button", role: "tab", id: `tab-${id}`, class: "tab", "aria-selected": String(state.tab === id), "aria-controls": "panel-body",
      tabindex: state.tab === id ? 0 : -1, on: { click: () => go({ tab: id }), keydown: turn },
    }, words);
    return el("div", { class: "panel-head" },
      el("a", { class: "back plain small", href: "#ranking", on: { click: (event) => { event.preventDefault(); document.getElementById("ranking").scrollIntoView({ block: "start" }); } } }, "Back to the list"),
      el("h2", { class: "panel-title" }, bdi(name)),
      el("div", { class: "tabs", role: "tablist", "aria-label": "Question" }, tab("why", state.not ? "Why not?" : "Why this?"), tab("what-if", "What if?")));
  }

  function turn(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    go({ tab: event.target.id === "tab-why" ? "what-if" : "why" });
    requestAnimationFrame(() => document.querySelector('[role="tab"][aria-selected="true"]')?.focus());
  }

  async function show(state) {
    const fresh = !current || current.user !== state.user || current.item !== state.item;
    current = state;
    if (state.item === null) {
      facts = null;
      onWhatIf(null);
      return replace(box, emptyNote("arrow", "Ask any item", "Choose an item of the list to see the smallest change that would have taken it out.", "Or name one that is missing, at the end of the list."));
    }
    const body = el("div", { id: "panel-body", role: "tabpanel", "aria-labelledby": `tab-${state.tab}`, class: "panel-body" });
    if (fresh || !facts) {
      replace(box, head(state, "…"), body);
      replace(body, skeleton(9, "Looking for the answer"));
    }
    try {
      const answer = fresh || !facts ? await know((signal) => api.attributes(state.item, state.user, signal)) : facts;
      if (answer === undefined) return undefined;
      facts = answer;
      replace(box, head(state, facts.item.name), body);
      await (state.tab === "why" ? why(state, body) : whatIf(state, body));
    } catch (error) {
      replace(body, failure(error, () => show(state), error.kind === "item" ? (item) => go({ item }) : null));
      if (error.kind !== undefined) onWhatIf(null);
    }
    return undefined;
  }

  async function why(state, body) {
    onWhatIf(null);
    const old = body.firstChild;
    if (!old) replace(body, skeleton(9, "Looking for the answer"));
    const question = { user: state.user, [state.not ? "why_not" : "item"]: state.item, k: state.k, lock: state.lock, alternatives: ALTERNATIVES, relations: true };
    const answer = await explain((signal) => api.explanation(question, signal));
    if (answer === undefined) return;
    drawWhy(state, body, [answer, ...answer.alternatives], 0);
    if (answer.by !== "history" && answer.status !== "not_recommended") byHistory(state, body, question, answer);
    tell(answer.text);
  }

  // Not every recommender scores histories.
  async function byHistory(state, body, question, answer) {
    const run = await api.run().catch(() => null);
    if (!run?.histories || current !== state) return;
    const history = await explain((signal) => api.explanation({ ...question, alternatives: 0, relations: false, by: "history" }, signal)).catch(() => undefined);
    const place = body.querySelector(".besides");
    if (history && place) replace(place, besides(answer, history));
  }

  function drawWhy(state, body, answers, chosen) {
    const e = answers[chosen];
    replace(body,
      el("div", { class: "card" }, explanationCard(e), hints(state, e)),
      answers.length > 1 && block("Other ways", el("div", { class: "ways", role: "group", "aria-label": "Ways to change it" }, answers.map((way, n) =>
        el("button", { type: "button", class: "way", "aria-pressed": String(n === chosen), on: { click: () => { drawWhy(state, body, answers, n); tell(answers[n].text); document.querySelectorAll(".way")[n]?.focus(); } } },
          el("span", { class: "way-title" }, n === 0 ? "The smallest" : `Another, ${plural(way.changes.length, "change")}`, el("span", { class: "fine" }, `rank ${count(way.rank_before)} → ${count(way.rank_after)}`)),
          changeRows(way.changes.slice(0, 2)), way.changes.length > 2 && el("span", { class: "fine" }, `and ${way.changes.length - 2} more`))))),
      el("div", { class: "besides" }, besides(answers[0], null)),
      locks(state),
      el("div", { class: "panel-foot" }, copyButtons(() => location.href, () => JSON.stringify(e, null, 2), () => explanationText(e)),
        e.changes.length > 0 && el("button", { type: "button", class: "plain small", on: { click: () => go({ tab: "what-if", edits: e.changes.map((c) => [c.relation, c.before, c.after]) }, e.changes.map((c) => [[c.relation, c.after], c.after_name])) } }, icon("swap"), "Try these changes")));
  }

  function hints(state, e) {
    if (e.status === "not_recommended" && !state.not) return el("button", { type: "button", class: "primary", on: { click: () => go({ not: true }) } }, "Ask why not");
    if (e.status === "not_found" && state.lock.length) return el("p", { class: "fine" }, "Unlocking a relation below gives the search more to change.");
    return null;
  }

  function locks(state) {
    const relations = new Map();
    for (const a of facts.results) relations.set(a.relation.id, { name: a.relation.name, n: (relations.get(a.relation.id)?.n ?? 0) + 1 });
    if (!relations.size) return null;
    const chips = [...relations].sort((a, b) => b[1].n - a[1].n).map(([id, r]) => {
      const on = state.lock.includes(id);
      return el("button", { type: "button", class: "lock", "aria-pressed": String(on), "aria-label": `Keep ${words(r.name)} as it is`, on: { click: () => go({ lock: on ? state.lock.filter((l) => l !== id) : [...state.lock, id] }) } },
        icon(on ? "lock" : "open"), bdi(words(r.name)));
    });
    return block("Keep as it is", el("div", { class: "locks", role: "group", "aria-label": "Locked relations" }, chips));
  }

  async function whatIf(state, body) {
    await resolveNames(state.edits, names);
    const result = el("div", { class: "card" }, whatIfResult(null, state.k));
    const reset = state.edits.length > 0 && el("button", { type: "button", class: "plain small", on: { click: () => go({ edits: [] }) } }, icon("reset"), "Start again");
    const scroll = body.closest(".panel")?.scrollTop;
    const link = () => location.href;
    let answer = null;
    const own = ownPairs(facts);
    const editor = facts.total === 0 && !state.edits.length
      ? emptyNote("text", "Nothing known", "This item has no attributes, so there is nothing to change.")
      : attributeEditor(facts, state.edits, names, (edits) => go({ edits }, null, true));
    const answered = () => answer ?? { user: state.user, item: state.item, attributes: own };
    replace(body, result, el("div", { class: "panel-foot" }, copyButtons(link, () => JSON.stringify(answered(), null, 2), () => whatIfText(facts, answer)), reset),
      block(`What is known of it (${count(facts.total)})`, editor));
    if (scroll) body.closest(".panel").scrollTop = scroll;
    if (!state.edits.length) return onWhatIf(null);
    const question = { user: state.user, item: state.item, k: state.k, attributes: edited(own, state.edits) };
    answer = await imagine((signal) => api.whatIf(question, signal));
    if (answer === undefined) return undefined;
    replace(result, whatIfResult(answer, state.k));
    onWhatIf(answer);
    tell(`Rank ${answer.rank_before} becomes ${answer.rank_after}`);
    return undefined;
  }

  return { show, learn: (pairs) => pairs.forEach(([key, name]) => name && names.set(JSON.stringify(key), name)) };
}

function whatIfText(facts, answer) {
  if (!answer) return `${facts.item.name}: nothing changed`;
  return `${facts.item.name} with other attributes: rank ${answer.rank_before} -> ${answer.rank_after}, score ${answer.score_before} -> ${answer.score}`;
}
