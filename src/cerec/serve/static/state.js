// What is being looked at, kept in the address so that a link shows the same.

const VIEWS = ["explore", "recommender", "run"];
const EMPTY = { view: "explore", relation: null, trial: null, user: null, item: null, k: 20, tab: "why", not: false, lock: [], edits: [] };

function pairs(text) {
  try {
    const found = JSON.parse(text || "[]");
    const fine = (v) => v === null || typeof v === "string";
    return Array.isArray(found) ? found.filter((e) => Array.isArray(e) && e.length === 3 && e.every(fine)) : [];
  } catch {
    return [];
  }
}

export function readState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const k = Number.parseInt(given.get("k") || "20", 10);
  return {
    view: VIEWS.includes(given.get("view")) ? given.get("view") : "explore",
    relation: given.get("relation"),
    trial: given.get("trial"),
    user: given.get("user"),
    item: given.get("item"),
    k: k >= 1 && k <= 200 ? k : 20,
    tab: given.get("tab") === "what-if" ? "what-if" : "why",
    not: given.get("not") === "1",
    lock: given.getAll("lock"),
    edits: pairs(given.get("edits")),
  };
}

export function writeState(state) {
  const out = new URLSearchParams();
  if (state.view !== "explore") out.set("view", state.view);
  if (state.view === "recommender") ["relation", "trial"].forEach((key) => state[key] !== null && out.set(key, state[key]));
  if (state.user !== null) out.set("user", state.user);
  if (state.item !== null) out.set("item", state.item);
  if (state.k !== 20) out.set("k", state.k);
  if (state.item !== null && state.tab !== "why") out.set("tab", state.tab);
  if (state.item !== null && state.not) out.set("not", "1");
  if (state.item !== null) state.lock.forEach((l) => out.append("lock", l));
  if (state.item !== null && state.tab === "what-if" && state.edits.length) out.set("edits", JSON.stringify(state.edits));
  return `#${out}`;
}

export const emptyState = () => ({ ...EMPTY });
