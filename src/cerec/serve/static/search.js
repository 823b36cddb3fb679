// A search field with suggestions (the combobox pattern of WAI-ARIA).
import { bdi, el, icon, replace } from "./dom.js";
import { latest } from "./api.js";

let serial = 0;

export function searchField({ label, placeholder, find, pick, detail, visibleLabel = false, clear = false }) {
  const id = `find-${++serial}`;
  const once = latest();
  let found = [];
  let shownFor = null; // the text that `found` answers
  let active = -1;
  const list = el("ul", { class: "options", role: "listbox", id: `${id}-list`, "aria-label": label, hidden: true });
  const input = el("input", {
    type: "text", id, class: "find", placeholder, autocomplete: "off", spellcheck: "false", maxlength: 200, dir: "auto",
    role: "combobox", "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-autocomplete": "list",
    "aria-label": visibleLabel ? null : label,
    on: { input: look, focus: look, keydown: key, blur: () => setTimeout(close, 120) },
  });
  const box = el("div", { class: "finder" },
    visibleLabel && el("label", { for: id }, label),
    el("div", { class: "find-wrap" }, icon("search"), input), list);

  async function look() {
    try {
      const wanted = input.value.trim();
      const answer = await once((signal) => find(wanted, signal));
      if (answer === undefined) return;
      shownFor = wanted;
      found = answer.results;
      show(answer.total);
    } catch (error) {
      found = [];
      replace(list, el("li", { class: "option-note" }, error.message));
      open();
    }
  }

  function show(total) {
    active = found.length ? 0 : -1;
    const rows = found.map((entry, n) =>
      el("li", {
        class: "option", role: "option", id: `${id}-${n}`, "aria-selected": String(n === active),
        on: { mousedown: (event) => { event.preventDefault(); choose(n); } },
      }, bdi(entry.name, "option-name"), entry.name !== entry.id && el("span", { class: "option-id" }, entry.id),
        detail && el("span", { class: "option-detail" }, detail(entry))));
    const note = !found.length ? "Nothing found" : total > found.length ? `${total.toLocaleString("en")} found, type to narrow` : null;
    replace(list, rows, note && el("li", { class: "option-note", role: "presentation" }, note));
    open();
    mark();
  }

  function open() {
    if (document.activeElement !== input) return;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark() {
    [...list.querySelectorAll(".option")].forEach((row, n) => row.setAttribute("aria-selected", String(n === active)));
    if (active >= 0) {
      input.setAttribute("aria-activedescendant", `${id}-${active}`);
      document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
    }
  }

  function choose(n) {
    const entry = found[n];
    if (!entry) return;
    input.value = clear ? "" : entry.name;
    close();
    pick(entry);
  }

  async function key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) {
        await look();
        return;
      }
      const step = event.key === "ArrowDown" ? 1 : -1;
      active = found.length ? (active + step + found.length) % found.length : -1;
      mark();
    } else if (event.key === "Enter" && !list.hidden) {
      event.preventDefault();
      if (shownFor !== input.value.trim()) await look(); // Enter may come before the answer
      choose(active);
    } else if (event.key === "Escape") {
      close();
    }
  }

  return { box, input };
}
