// Tables of the console and of the report: plain ones, and that of servers, a page at a time.
import { alien, clean, count, el, number, seconds } from "./format.js";

const ROWS = 50;
/** Rows that can be reached by turning pages: a search, or another order, finds the others. */
const REACHED = 1050;
export const SERVER_COLUMNS = [
  ["server", "server", "server"], ["state", "state", null], ["rank", "rank", "rank"], ["urls", "URLs", "urls"],
  ["quality", "best quality", "quality"], ["pages", "pages", "pages"], ["response_time", "response", "response_time"],
  ["failures", "failures", "failures"], ["next", "next in", "next"], ["why", "why", null],
];
/** Columns that are words; those of long texts from strangers. */
const WORDS = ["server", "state", "why", "what", "worker", "name"];
const LONG = ["url", "error", "value"];

const kind = (name) => (LONG.includes(name.toLowerCase()) ? "url" : WORDS.includes(name.toLowerCase()) ? "text" : null);

/** `shows`: functions that write the values of columns; `none`: what stands there without rows. */
export function table(names, rows, shows, none, label) {
  if (!rows.length) return el("p", {}, none);
  const kinds = names.map((name, place) => kind(name) ?? (place === 0 && typeof rows[0][name] === "string" ? "text" : null));
  const cell = (name, value, place) => el("td", { class: kinds[place] }, alien(shows[name] ? shows[name](value) : value ?? "–"));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label ?? names.join(", ") }, el("table", {},
    el("thead", {}, el("tr", {}, ...names.map((name, place) => el("th", { scope: "col", class: kinds[place] ? "text" : null }, name)))),
    el("tbody", {}, ...rows.map((values) => el("tr", {}, ...names.map((name, place) => cell(name, values[name], place)))))));
}

/** Names and values as tiles. */
export const tiles = (pairs) => el("dl", { class: "tiles" }, ...pairs.map(([title, value]) => el("div", {}, el("dt", {}, title), el("dd", {}, alien(value)))));

/** The terms of a server's rank, in the console and in the report. */
export const rankTerms = (server) => tiles([
  ["Rank", number(server.rank)], ["URLs of the next session", count(server.batch)], ["Their quality", number(server.batch_quality)],
  ["Best quality", number(server.best_quality)], ["Bonus: what its links bring", number(server.bonus)],
  ["Urgency", number(server.urgency)], ["Worth: factor for copies", number(server.worth)],
  ["Connect time", seconds(server.connect_time)], ["Response time", seconds(server.response_time)],
  ["Time of a page", seconds(server.page_time)], ["Time of the session", seconds(server.session_time)],
  ["Crawl-delay", seconds(server.crawl_delay).replace("now", "none")], ["Minimum delay", seconds(server.request_delay).replace("now", "none")],
].filter(([, value]) => value !== "–"));

/** Shows `parts` of the server `key` in the dialog. */
export function showDialog(key, parts) {
  const dialog = document.getElementById("server");
  document.getElementById("server-title").replaceChildren(alien(key));
  document.getElementById("server-body").replaceChildren(...parts);
  if (!dialog.open) dialog.showModal();
}

/**
 * The section of servers. `find` gets a query (search, state, sort, order, offset, limit) and returns its rows, their
 * offset, `total` that match and `known` servers; `open` is called with a row; `failed` with an error of `find`.
 */
export class ServerTable {
  constructor(find, open, failed, columns = SERVER_COLUMNS) {
    Object.assign(this, { find, open, failed, columns, total: 0, isAsking: false });
    this.query = { search: "", state: "", sort: "urls", order: "desc", offset: 0, limit: ROWS };
    const $ = (id) => document.getElementById(id);
    this.place = $;
    $("search").addEventListener("submit", (event) => {
      event.preventDefault();
      Object.assign(this.query, { search: $("search-text").value, state: $("search-state").value, offset: 0 });
      this.show();
    });
    const turn = (id, offset) => $(id).addEventListener("click", () => { this.query.offset = Math.max(0, offset()); this.show(); });
    turn("first", () => 0);
    turn("previous", () => this.query.offset - ROWS);
    turn("next", () => this.query.offset + ROWS);
    $("server-close").addEventListener("click", () => $("server").close());
  }

  states(names) {
    this.place("search-state").append(...names.map((name) => el("option", { value: name }, name)));
  }

  sortBy(sort) {
    const { query } = this;
    if (query.sort === sort) query.order = query.order === "desc" ? "asc" : "desc";
    else Object.assign(query, { sort, order: sort === "server" || sort === "next" ? "asc" : "desc" });
    query.offset = 0;
    this.show();
  }

  heads() {
    const { sort, order } = this.query;
    this.place("servers").tHead.rows[0].replaceChildren(...this.columns.map(([name, title, key]) => {
      const isSorted = key !== null && key === sort;
      const arrow = isSorted ? (order === "desc" ? " ▼" : " ▲") : "";
      const aria = isSorted ? (order === "desc" ? "descending" : "ascending") : null;
      const inner = key === null ? title : el("button", { type: "button", onclick: () => this.sortBy(key) }, title + arrow);
      return el("th", { scope: "col", "aria-sort": aria, class: kind(name) }, inner);
    }));
  }

  async show() {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      const found = await this.find(this.query);
      const shown = found.rows.length;
      this.total = found.total;
      this.heads();
      this.place("servers-caption").textContent = shown
        ? `${count(found.offset + 1)} to ${count(found.offset + shown)} of ${count(found.total)} servers that match, of ${count(found.known)}`
        : `No server of ${count(found.known)} matches`;
      this.place("servers").tBodies[0].replaceChildren(...found.rows.map((server) => this.row(server)));
      this.place("first").disabled = this.place("previous").disabled = this.query.offset === 0;
      this.place("next").disabled = this.query.offset + ROWS >= Math.min(found.total, REACHED);
    } catch (error) {
      this.failed(error);
    } finally {
      this.isAsking = false;
    }
  }

  row(server) {
    const cells = {
      server: el("button", { type: "button", onclick: () => this.open(server), dir: "ltr" }, clean(server.server)),
      state: clean(server.state),
      rank: number(server.rank),
      urls: count(server.urls),
      quality: number(server.quality),
      pages: count(server.pages),
      response_time: seconds(server.response_time),
      failures: count(server.failures),
      next: seconds(server.next),
      why: alien([server.guarded && `guarded: ${server.guarded}`, server.error].filter(Boolean).join("; ")),
    };
    return el("tr", {}, ...this.columns.map(([name]) => el("td", { class: name === "why" ? "text long" : kind(name) }, cells[name])));
  }
}
