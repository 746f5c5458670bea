// Tables of the console and of the report: plain ones, that of servers a page at a time, and the page of a server.
import { alien, clean, clock, count, el, exact, number, seconds, wait } from "./format.js";
import { address } from "./overview.js";

const ROWS = 50;
/** Rows that can be reached by turning pages: a search, or another order, finds the others. */
const REACHED = 1050;
/** Name, heading, by what it sorts, and whether a narrow screen leaves it out. */
export const SERVER_COLUMNS = [
  ["server", "server", "server"], ["state", "state", null], ["rank", "rank", "rank", true], ["urls", "URLs", "urls"],
  ["quality", "best quality", "quality", true], ["pages", "pages", "pages"], ["response_time", "response", "response_time", true],
  ["failures", "failures", "failures"], ["next", "next in", "next", true], ["why", "why", null, true],
];
/** Columns that are words; those of long texts from strangers. */
const WORDS = ["server", "state", "why", "what", "worker", "name", "what to change", "spider", "waits for"];
const LONG = ["url", "error", "value", "examples", "reason"];

const kind = (name) => (LONG.includes(name.toLowerCase()) ? "url" : WORDS.includes(name.toLowerCase()) ? "text" : null);

/** `shows`: functions that write the values of columns; `none`: what stands there without rows. */
export function table(names, rows, shows, none, label) {
  if (!rows.length) return el("p", {}, none);
  const kinds = names.map((name, place) => kind(name) ?? (place === 0 && typeof rows[0][name] === "string" ? "text" : null));
  const cell = (name, value, place) => {
    const shown = shows[name] ? shows[name](value) : value ?? "–";
    return el("td", { class: kinds[place] }, shown instanceof Node ? shown : alien(shown));
  };
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label ?? names.join(", ") }, el("table", {},
    el("thead", {}, el("tr", {}, ...names.map((name, place) => el("th", { scope: "col", class: kinds[place] ? "text" : null }, clean(name))))),
    el("tbody", {}, ...rows.map((values) => el("tr", {}, ...names.map((name, place) => cell(name, values[name], place)))))));
}

/** A section of a report: sentences and tables. */
export const part = ({ title, sentences, tables }) => el("section", {}, el("h2", {}, clean(title)), ...sentences.map((sentence) => el("p", {}, alien(sentence))),
  ...tables.map(({ names, rows, none }) => table(names, rows.map((row) => Object.fromEntries(names.map((name, place) => [name, row[place]]))), {}, none, title)));

/** Names and values as tiles. */
export const tiles = (pairs) => el("dl", { class: "tiles" }, ...pairs.map(([title, value, to]) => el("div", {}, el("dt", {}, title), el("dd", { class: String(value).length > 24 ? "words" : null }, to ? el("a", { href: to }, clean(value)) : alien(value)))));

/** The terms of a server's rank, in the console and in the report. */
export const rankTerms = (server) => tiles([
  ["Rank", number(server.rank)], ["URLs of the next session", count(server.batch)], ["Their quality", number(server.batch_quality)],
  ["Best quality", number(server.best_quality)], ["Bonus: what its links bring", number(server.bonus)],
  ["Worth: factor for copies", number(server.worth)],
  [`Connect time${guess(server)}`, seconds(server.connect_time)], [`Response time${guess(server)}`, seconds(server.response_time)],
  [`Time of a page${guess(server)}`, seconds(server.page_time)], [`Time of the session${guess(server)}`, server.urls ? seconds(server.session_time) : "–"],
  ["Crawl-delay", server.crawl_delay ? seconds(server.crawl_delay) : "none"], ["Minimum delay", server.request_delay ? seconds(server.request_delay) : "none"],
].filter(([, value]) => value !== "–"));

/** A server that has never answered has the times of all others. */
const guess = (server) => (server.measured ? "" : ", assumed");

/**
 * The section of servers. `find` gets a query (search, state, sort, order, offset, limit) and returns its rows, their
 * offset, `total` that match and `known` servers; `go` shows the query that was chosen; `failed` gets an error of `find`.
 */
export class ServerTable {
  constructor(find, go, failed, columns = SERVER_COLUMNS) {
    Object.assign(this, { find, go, failed, columns, total: 0, isAsking: false });
    this.query = { search: "", state: "", sort: "urls", order: "desc", offset: 0, limit: ROWS };
    const $ = (id) => document.getElementById(id);
    this.place = $;
    $("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.go({ ...this.query, search: $("search-text").value, state: $("search-state").value, offset: 0 });
    });
    const turn = (id, offset) => $(id).addEventListener("click", () => this.go({ ...this.query, offset: Math.max(0, offset()) }));
    turn("first", () => 0);
    turn("previous", () => this.query.offset - ROWS);
    turn("next", () => this.query.offset + ROWS);
  }

  states(names) {
    const place = this.place("search-state");
    const known = [...place.options].map((option) => option.value);
    place.append(...names.filter((name) => !known.includes(name)).map((name) => el("option", { value: name }, name)));
  }

  /** Show the query that an address has. */
  open(given) {
    const query = { search: "", state: "", sort: "urls", order: "desc", offset: 0, limit: ROWS };
    for (const name of Object.keys(query)) if (given.has(name)) query[name] = typeof query[name] === "number" ? Number(given.get(name)) : given.get(name);
    this.query = query;
    this.place("search-text").value = query.search;
    this.states([query.state].filter(Boolean));
    this.place("search-state").value = query.state;
    return this.show();
  }

  sortBy(sort) {
    const { query } = this;
    const isSame = query.sort === sort;
    const order = isSame ? (query.order === "desc" ? "asc" : "desc") : sort === "server" || sort === "next" ? "asc" : "desc";
    this.go({ ...query, sort, order, offset: 0 });
  }

  heads() {
    const { sort, order } = this.query;
    const focused = document.activeElement?.dataset?.sort;
    this.place("servers").tHead.rows[0].replaceChildren(...this.columns.map(([name, title, key, isMinor]) => {
      const isSorted = key !== null && key === sort;
      const arrow = isSorted ? (order === "desc" ? " ▼" : " ▲") : "";
      const aria = isSorted ? (order === "desc" ? "descending" : "ascending") : null;
      const inner = key === null ? title : el("button", { type: "button", "data-sort": key, onclick: () => this.sortBy(key) }, title + arrow);
      return el("th", { scope: "col", "aria-sort": aria, class: [kind(name), isMinor && "minor"].filter(Boolean).join(" ") || null }, inner);
    }));
    if (focused) this.place("servers").querySelector(`[data-sort="${focused}"]`)?.focus();
  }

  async show() {
    if (this.isAsking) return;
    this.isAsking = true;
    const asked = this.query;
    try {
      const found = await this.find(asked);
      const shown = found.rows.length;
      this.total = found.total;
      this.heads();
      this.place("servers-caption").textContent = shown
        ? `${exact(found.offset + 1)} to ${exact(found.offset + shown)} of ${exact(found.total)} servers that match, of ${exact(found.known)}`
        : `No server of ${exact(found.known)} matches`;
      this.place("servers").tBodies[0].replaceChildren(...found.rows.map((server) => this.row(server)));
      this.place("first").disabled = this.place("previous").disabled = asked.offset === 0;
      this.place("next").disabled = asked.offset + ROWS >= Math.min(found.total, REACHED);
    } catch (error) {
      this.failed(error);
    } finally {
      this.isAsking = false;
    }
    if (asked !== this.query) await this.show(); // another was chosen meanwhile
  }

  row(server) {
    const cells = {
      server: el("a", { href: address("server", { key: server.server }), dir: "ltr" }, clean(server.server)),
      state: clean(server.state),
      rank: number(server.rank),
      urls: count(server.urls),
      quality: server.urls ? number(server.best_quality) : "–",
      pages: count(server.fetched),
      response_time: server.measured ? seconds(server.response_time) : "–",
      failures: server.failures && this.place("view-urls") ? el("a", { href: address("urls", { host: server.server, state: "lost" }) }, count(server.failures)) : count(server.failures),
      next: server.urls ? wait(server.wait) : "–",
      why: alien(server.reason || server.last_error || ""),
    };
    return el("tr", {}, ...this.columns.map(([name, , , isMinor]) => el("td", { class: [name === "why" ? "text long" : kind(name), isMinor && "minor"].filter(Boolean).join(" ") || null }, cells[name])));
  }
}

/** A server's last answers on a line of time: high is slow; a new connection begins a session. */
export function timeline(answers) {
  if (answers.length < 2) return null;
  const [last, first] = [answers[0].at, answers[answers.length - 1].at];
  const slowest = Math.max(...answers.map((answer) => answer.seconds ?? 0), 0.001);
  const place = el("div", { class: "timeline", "aria-hidden": "true" });
  for (const answer of answers) {
    const isFailed = !answer.status || answer.status >= 400;
    const mark = el("span", { class: `${isFailed ? "bad" : "good"}${answer.connect === null ? "" : " new"}`, title: `${clock(answer.at)} ${answer.status || clean(answer.error)} ${seconds(answer.seconds)}` });
    mark.style.left = `${(98 * (answer.at - first)) / Math.max(0.001, last - first)}%`;
    mark.style.height = `${15 + (85 * (answer.seconds ?? slowest)) / slowest}%`;
    place.append(mark);
  }
  return el("figure", {}, el("figcaption", {}, `Sessions and answers, ${clock(first)} to ${clock(last)}`, el("span", { class: "line" }, el("span", { class: "key one" }), "answer"), el("span", { class: "line" }, el("span", { class: "key bad" }), "failure"), el("span", { class: "line" }, el("span", { class: "key new" }), "a new session")), place);
}
