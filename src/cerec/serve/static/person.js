// Who is looked at: search, and what they took.
import { bdi, count, el, plural, replace } from "./dom.js";
import { api, latest } from "./api.js";
import { failure, skeleton } from "./parts.js";
import { searchField } from "./search.js";

export function personSearch(pick) {
  return searchField({
    label: "Find a user", placeholder: "Find a user by name or id", visibleLabel: true, clear: true,
    find: (q, signal) => api.users(q, signal), pick: (user) => pick(user.id),
    detail: (user) => plural(user.history, "item"),
  });
}

const onlyNewest = latest();
export async function showPerson(box, user) {
  if (user === null) return replace(box);
  replace(box, skeleton(6, "Loading the history"));
  try {
    const answer = await onlyNewest((signal) => api.history(user, signal));
    if (answer !== undefined) replace(box, personCard(answer));
  } catch {
    replace(box); // the list, which asks about the same user, says what is wrong
  }
  return undefined;
}

function initials(name) {
  const words = name.split(/\s+/).filter(Boolean);
  return (words.length > 1 ? [...words[0]][0] + [...words.at(-1)][0] : [...name].slice(-2).join("")).toUpperCase();
}

function personCard(answer) {
  const { user, total, results } = answer;
  const list = el("ul", { class: "history", tabindex: 0, "aria-label": `History of ${user.name}` }, results.map(entry));
  const more = el("button", { type: "button", class: "plain small", on: { click: load } }, "Show more");
  let shown = results.length;
  async function load() {
    const next = await api.history(user.id, undefined, 100, shown);
    list.append(...next.results.map(entry));
    shown += next.results.length;
    more.hidden = shown >= total;
  }
  more.hidden = shown >= total;
  return el("div", { class: "person-card" },
    el("div", { class: "person-head" }, el("span", { class: "avatar", "aria-hidden": "true" }, initials(user.name)),
      el("div", {}, el("h1", { class: "person-name" }, bdi(user.name)), el("p", { class: "fine" }, user.id !== user.name && `${user.id} · `, `${count(total)} in the history`))),
    el("details", { class: "history-box", open: window.matchMedia("(min-width: 75rem)").matches },
      el("summary", {}, "History"),
      total === 0 ? el("p", { class: "empty-note" }, "Nothing yet: this user is new to the recommender.") : [list, more]));
}

const entry = (item) => el("li", { title: item.name }, bdi(item.name));

// The start: nobody chosen yet.
export async function showStart(box, pick, searchBox) {
  const people = el("div", { class: "people" }, skeleton(3, "Loading users"));
  replace(box, el("div", { class: "hero" },
    el("h1", {}, "Why this? And what would have come instead?"),
    el("p", { class: "lead" }, "Choose someone, look at their list, and ask any item why it is there. The answer is the smallest change of its attributes that would have taken it out, checked by scoring it again."),
    searchBox,
    el("h2", {}, "Or start with one of these"), people));
  try {
    const answer = await api.users("", undefined, 9);
    replace(people, answer.results.map((user) => el("button", { type: "button", class: "person-pick", on: { click: () => pick(user.id) } },
      el("span", { class: "avatar", "aria-hidden": "true" }, initials(user.name)),
      el("span", {}, bdi(user.name, "pick-name"), el("span", { class: "fine" }, plural(user.history, "item"))))));
    if (!answer.results.length) replace(people, el("p", { class: "empty-note" }, "This run has no users."));
  } catch (error) {
    replace(people, failure(error, () => showStart(box, pick, searchBox)));
  }
}
