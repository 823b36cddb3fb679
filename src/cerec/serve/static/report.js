// The report: the view of the run, then a few people with their explanations.
import { bdi, count, el } from "./dom.js";
import { explanationCard, nameOf } from "./card.js";
import { runView } from "./runview.js";

function personReport(person) {
  const rest = person.known - person.history.length;
  return el("section", { class: "report-user" },
    el("h3", {}, bdi(person.user.name)),
    el("p", { class: "fine" }, person.known === 0 ? "Nothing in the history." : ["Took ", person.history.flatMap((name, n) => [n ? ", " : "", bdi(name)]), rest > 0 ? ` and ${count(rest)} more.` : "."]),
    el("div", { class: "report-cards" }, person.explanations.map((e) =>
      el("article", { class: "tile" }, el("h4", { class: "panel-title" }, bdi(nameOf(e, e.item))), explanationCard(e)))));
}

function showReport() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = runView(data.facts, data.overview);
  document.getElementById("report").append(view, el("section", { class: "run-block" }, el("h2", {}, "A few people, explained"), data.people.map(personReport)),
    el("p", { class: "fine report-foot" }, "Made by cerec report. Every explanation was checked by scoring the changed item again."));
}

showReport();
