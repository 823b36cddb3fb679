// The service's own description, /openapi.json, as a page from which every endpoint can be asked.

import { setToken, token } from "./api.js";
import { el, replace } from "./dom.js";

const main = document.getElementById("main");
const headers = () => (token ? { Authorization: `Bearer ${token}` } : {});

const typeOf = (schema) =>
  schema.type || (schema.anyOf || []).map(typeOf).filter((t) => t !== "null").join(" or ") || "";

function field(parameter) {
  const input = el("input", { name: parameter.name, required: parameter.required, "aria-label": parameter.name });
  const words = [typeOf(parameter.schema), parameter.description].filter(Boolean).join(": ");
  return el("label", {}, el("code", {}, parameter.name), " ", input, " ", el("small", {}, words));
}

function bodyOf(operation, document_) {
  const content = operation.requestBody?.content?.["application/json"];
  if (!content) return null;
  const schema = document_.components.schemas[content.schema.$ref?.split("/").pop()] || content.schema;
  const example = (schema.examples || [{}])[0];
  return el("textarea", { rows: 5, cols: 80, "aria-label": "body" }, JSON.stringify(example, null, 2));
}

function section(path, method, operation, document_) {
  const fields = (operation.parameters || []).map((p) => ({ p, row: field(p) }));
  const body = bodyOf(operation, document_);
  const answer = el("pre", { class: "answer", "aria-live": "polite" });
  async function ask(event) {
    event.preventDefault();
    const given = new URLSearchParams();
    for (const { p, row } of fields) {
      const text = row.querySelector("input").value;
      const values = typeOf(p.schema).includes("array") ? text.split(",") : [text];
      values.filter(Boolean).forEach((v) => given.append(p.name, v));
    }
    const query = given.toString();
    const sent = body ? { body: body.value, headers: { ...headers(), "Content-Type": "application/json" } } : { headers: headers() };
    const response = await fetch(query ? `${path}?${query}` : path, { method: method.toUpperCase(), ...sent });
    const text = await response.text();
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // not JSON: as it is
    }
    answer.textContent = `${response.status}\n${shown.slice(0, 20000)}`;
  }
  return el("details", {},
    el("summary", {}, el("strong", {}, method.toUpperCase()), " ", el("code", {}, path), ` ${operation.summary || ""}`),
    el("form", { on: { submit: ask } }, fields.map(({ row }) => el("p", {}, row)), body, el("p", {}, el("button", { type: "submit" }, "Ask"))),
    answer);
}

async function show() {
  const response = await fetch("/openapi.json", { headers: headers() });
  if (response.status === 401) {
    const input = el("input", { type: "password", "aria-label": "Token" });
    const given = (event) => { event.preventDefault(); setToken(input.value); show(); };
    replace(main, el("form", { on: { submit: given } }, el("label", {}, "Token ", input), el("button", { type: "submit" }, "Open")));
    return;
  }
  const found = await response.json();
  const parts = Object.entries(found.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(path, method, operation, found)));
  replace(main, el("h1", {}, `${found.info.title} ${found.info.version}`), el("p", {}, found.info.description),
    el("p", {}, el("a", { href: "/openapi.json" }, "openapi.json"), " · ", el("a", { href: "/" }, "the studio")), parts);
}

show();
