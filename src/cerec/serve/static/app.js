// The studio: what the address says is what is shown.
import { bdi, icon, replace } from "./dom.js";
import { api, latest } from "./api.js";
import { panelView } from "./panel.js";
import { failure, skeleton, tell } from "./parts.js";
import { personSearch, showPerson, showStart } from "./person.js";
import { emptyList, rankingView } from "./ranking.js";
import { dependsView, trialBox, trialView } from "./recommender.js";
import { runView } from "./runview.js";
import { emptyState, readState, writeState } from "./state.js";

const at = (id) => document.getElementById(id);
let state = emptyState();
let list = null; // the list as it is, without any what-if
let imagined = null; // the answer of a what-if, or null
const onlyNewestList = latest();

const search = personSearch((user) => go({ user, item: null, not: false, lock: [], edits: [] }));
const ranking = rankingView({
  onPick: (item) => go({ item, not: false, edits: [] }, null, false, true),
  onLength: (k) => go({ k }),
  onWhyNot: (item) => go({ item, not: true, tab: "why", edits: [] }, null, false, true),
});
const panel = panelView(at("panel"), { go, onWhatIf });

function go(changes, learnt = null, quiet = false, scroll = false) {
  if (learnt) panel.learn(learnt);
  const next = writeState({ ...state, ...changes });
  if (next === writeState(state)) return;
  history[quiet ? "replaceState" : "pushState"](null, "", next);
  apply();
  if (scroll && !window.matchMedia("(min-width: 60rem)").matches) at("panel").scrollIntoView({ block: "start", behavior: "smooth" });
}

function apply() {
  const before = state;
  state = readState(location.hash);
  for (const view of ["explore", "recommender", "run"]) {
    at(view).hidden = state.view !== view;
    at(`nav-${view}`).setAttribute("aria-current", state.view === view ? "page" : "false");
    at(`nav-${view}`).href = writeState({ ...state, view });
  }
  if (state.view === "run") return showRun();
  if (state.view === "recommender") return showRecommender(before);
  const first = !list;
  const someone = state.user !== null;
  at("explore").classList.toggle("start", !someone);
  if (state.user !== before.user || first) showPerson(at("person"), state.user);
  if (!someone) {
    list = null;
    showStart(at("ranking"), (user) => go({ user }), search.box);
    return replace(at("panel"));
  }
  if (!at("user-search").contains(search.box)) at("user-search").append(search.box);
  if (state.user !== before.user || state.k !== before.k || first) showList();
  else drawList();
  panel.show(state);
  return undefined;
}

async function showList() {
  imagined = null;
  const box = at("ranking");
  if (!list || list.user.id !== state.user) replace(box, skeleton(12, "Loading the list"));
  try {
    const answer = await onlyNewestList((signal) => api.recommendations(state.user, state.k, signal));
    if (answer === undefined) return;
    if (!list || list.user.id !== answer.user.id) ranking.forget();
    list = answer;
    replace(box, ranking.box);
    drawList();
    tell(`${answer.results.length} items recommended for ${answer.user.name}`);
  } catch (error) {
    list = null;
    replace(box, failure(error, error.status === 404 ? null : apply, (user) => go({ user })));
    replace(at("panel"));
  }
}

function onWhatIf(answer) {
  imagined = answer;
  drawList();
}

function drawList() {
  if (!list || list.user.id !== state.user) return;
  if (!list.results.length) {
    replace(at("ranking"), emptyList());
    return;
  }
  const fits = imagined !== null && imagined.item === state.item && imagined.k === list.k && imagined.user === state.user;
  ranking.show({ base: list.results, shown: fits ? imagined.list : list.results, selected: state.item, k: state.k, changed: fits ? imagined.item : null });
}

// A large run takes the service longer than one request may last; asking again goes on waiting.
async function patient(question, times = 30) {
  try {
    return await question();
  } catch (error) {
    if (error.status !== 503 || times === 0) throw error;
    return patient(question, times - 1);
  }
}

let runShown = false;
async function showRun() {
  if (runShown) return;
  const box = at("run");
  replace(box, skeleton(14, "Loading the run"));
  try {
    const [facts, overview] = await Promise.all([api.run(), patient(api.overview)]);
    replace(box, runView(facts, overview));
    runShown = true;
  } catch (error) {
    replace(box, failure(error, showRun));
  }
}

let audited = null;
let trying = null;
async function showRecommender(before) {
  const box = at("recommender");
  try {
    if (!audited) {
      replace(box, skeleton(14, "Looking at the lists of many users"));
      audited = await patient(api.audit);
    }
    const relations = audited.parameters.filter((p) => p.kind === "relation");
    const chosen = state.trial ?? state.relation;
    const link = (changes) => writeState({ ...state, ...changes });
    const shown = dependsView(audited, { relation: state.relation, link });
    if (!trying || before.trial !== state.trial) {
      trying = trialBox(relations, chosen, (relation) => go({ trial: relation }));
      if (state.trial !== null) showTrial(trying, state.trial);
    }
    replace(box, shown, trying.box);
    if (state.trial !== null && before.trial !== state.trial) trying.box.scrollIntoView({ block: "start" });
  } catch (error) {
    replace(box, failure(error, () => showRecommender(before)));
  }
}

async function showTrial(box, relation) {
  box.show(skeleton(6, "Trying every value"));
  try {
    box.show(...trialView(await patient(() => api.trial(relation))));
  } catch (error) {
    box.show(failure(error, () => showTrial(box, relation)));
  }
}

const THEMES = ["auto", "light", "dark"];
const THEME_ICON = { auto: "auto", light: "sun", dark: "moon" };
function theme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  at("theme").setAttribute("aria-label", `Colour theme: ${name === "auto" ? "automatic" : name}`);
  replace(at("theme"), icon(THEME_ICON[name]));
}

function start() {
  let chosen = localStorage.getItem("cerec-theme") || "auto";
  theme(chosen);
  at("theme").addEventListener("click", () => {
    chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
    localStorage.setItem("cerec-theme", chosen);
    theme(chosen);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.input.focus();
    }
  });
  window.addEventListener("popstate", apply);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address holds the state, so it must not become #main
    at("main").focus();
  });
  api.run().then((facts) => {
    replace(at("run-name"), bdi(facts.name));
    document.title = `${facts.name} · cerec studio`;
  }).catch(() => {});
  apply();
}

start();
