// Pieces that several views share: waiting, failing, copying, telling.
import { el, icon, replace } from "./dom.js";
import { setToken } from "./api.js";

export function skeleton(rows, words) {
  return el("div", { class: "skeleton", "aria-busy": "true", role: "status" }, el("span", { class: "hidden" }, words),
    Array.from({ length: rows }, (_, n) => el("div", { class: "bone", style: { width: `${92 - ((n * 17) % 40)}%` }, "aria-hidden": "true" })));
}

export function failure(error, again, pickMatch) {
  if (error.status === 401) return tokenForm(again);
  return el("div", { class: "state bad", role: "alert" },
    el("div", { class: "state-mark" }, icon("warn")),
    el("h2", {}, error.title || "That did not work"),
    el("p", {}, pickMatch && error.matches?.length ? `${error.message.split("; did you mean")[0]}.` : error.message),
    pickMatch && error.matches?.length > 0 && el("p", { class: "matches" }, "Did you mean ",
      error.matches.map((m) => el("button", { type: "button", class: "pill", on: { click: () => pickMatch(m) } }, m)), "?"),
    again && el("button", { type: "button", class: "plain", on: { click: again } }, icon("reset"), "Try again"));
}

function tokenForm(again) {
  const input = el("input", { type: "password", id: "token", class: "find", autocomplete: "off", required: true });
  const send = (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    (again || (() => location.reload()))();
  };
  return el("form", { class: "state", on: { submit: send } },
    el("div", { class: "state-mark" }, icon("lock")),
    el("h2", {}, "This run is protected"),
    el("p", {}, "Enter the token that the service was started with. It is kept until this tab is closed."),
    el("label", { for: "token" }, "Token"), input, el("button", { type: "submit", class: "primary" }, "Continue"));
}

export function emptyNote(mark, title, ...words) {
  return el("div", { class: "state" }, el("div", { class: "state-mark" }, icon(mark)), el("h2", {}, title), words.map((w) => el("p", {}, w)));
}

export function tell(words) {
  const live = document.getElementById("live");
  if (live) live.textContent = words;
}

let fading = null;
function toast(words) {
  const box = document.getElementById("toast");
  replace(box, icon("check"), words);
  box.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => box.classList.remove("shown"), 1800);
  tell(words);
}

async function copy(text, words) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // without https, and not on this machine, browsers keep the clipboard closed to scripts
    const area = el("textarea", { class: "hidden", "aria-label": "To copy" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(words);
}

export function copyButtons(link, json, text) {
  const button = (mark, name, make, words) =>
    el("button", { type: "button", class: "plain small", on: { click: () => copy(make(), words) } }, icon(mark), name);
  return el("div", { class: "copies", role: "group", "aria-label": "Copy" },
    button("link", "Link", link, "Link copied"), button("text", "Text", text, "Text copied"), button("code", "JSON", json, "JSON copied"));
}
