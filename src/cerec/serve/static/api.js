// Asking the service. A failed question is an `Asking` error with what a person needs to know.

export class Asking extends Error {
  constructor(status, problem) {
    const words = problem.detail || "The service did not answer.";
    super(words[0].toUpperCase() + words.slice(1));
    this.status = status;
    this.title = problem.title || "No answer";
    this.matches = problem.matches || [];
    this.kind = problem.kind;
  }
}

const STORE = "cerec-token";
export let token = sessionStorage.getItem(STORE);

export function setToken(value) {
  token = value;
  sessionStorage.setItem(STORE, value);
}

async function ask(path, options = {}) {
  const headers = { Accept: "application/json", ...(options.headers || {}) };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Asking(0, { title: "Service not reachable", detail: "The service does not answer. Is cerec serve still running?" });
  }
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));
  throw new Asking(response.status, problem);
}

function query(values) {
  const found = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (Array.isArray(value)) value.forEach((v) => found.append(key, v));
    else if (value !== null && value !== undefined && value !== false && value !== "") found.set(key, value);
  }
  return found.toString();
}

const get = (path, values, signal) => ask(`/v1/${path}?${query(values)}`, { signal });
const post = (path, question, signal) =>
  ask(`/v1/${path}`, { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });

export const api = {
  users: (q, signal, limit = 12) => get("users", { q, limit }, signal),
  items: (q, signal, limit = 12) => get("items", { q, limit }, signal),
  values: (relation, q, signal, limit = 12) => get("values", { relation, q, limit }, signal),
  history: (user, signal, limit = 100, offset = 0) => get("history", { user, limit, offset }, signal),
  recommendations: (user, k, signal) => get("recommendations", { user, k }, signal),
  attributes: (item, user, signal) => get("attributes", { item, user }, signal),
  run: (signal) => get("run", {}, signal),
  overview: (signal) => get("overview", {}, signal),
  audit: (signal) => get("audit", {}, signal),
  trial: (relation, signal) => get("trial", { relation }, signal),
  explanation: (question, signal) => post("explanation", question, signal),
  whatIf: (question, signal) => post("what-if", question, signal),
};

// Only the newest of a kind of question matters: asking again drops the one before.
export function latest() {
  let current = null;
  return async (run) => {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    try {
      const answer = await run(mine.signal);
      return mine.signal.aborted ? undefined : answer;
    } catch (error) {
      if (mine.signal.aborted || error.name === "AbortError") return undefined;
      throw error;
    }
  };
}
