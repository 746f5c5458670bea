// The view of URLs: searched a page at a time, one URL with its history, patterns, exports.
import { alien, clean, count, day, el, exact, number, titled } from "./format.js";
import { address } from "./overview.js";
import { table, tiles } from "./tables.js";

const ROWS = 50;
/** Rows of an export, and searches after each other without a row. */
const MOST_EXPORTED = 1e5;
const COLUMNS = ["url", "state", "reason", "status", "depth", "quality", "at"];
const WORDS = { exclude: "Delete", include: "Drop all queued URLs but", raise: "Fetch first", lower: "Fetch last" };
const AFTER = { exclude: "and fetch none that is found later", include: "and follow no other links", raise: "before the others of their servers", lower: "after the others of their servers" };
const $ = (id) => document.getElementById(id);

export class UrlView {
  /** `ask` and `act` call the API; `failed` gets errors of queries; `confirm` asks a person. */
  constructor(ask, act, failed, confirm) {
    Object.assign(this, { ask, act, failed, confirm, next: null, rows: 0, search: 0 });
    $("url-search").addEventListener("submit", (event) => {
      event.preventDefault();
      const to = address("urls", Object.fromEntries(new FormData($("url-search"))));
      if (location.hash === to) this.open(new URLSearchParams(to.split("?")[1])); else location.hash = to;
    });
    $("urls-more").addEventListener("click", () => this.more(this.search));
    $("urls-csv").addEventListener("click", () => this.export("csv"));
    $("urls-jsonl").addEventListener("click", () => this.export("jsonl"));
    const head = ([name, isMinor]) => el("th", { scope: "col", class: [name === "url" || name === "state" ? "text" : null, isMinor && "minor"].filter(Boolean).join(" ") || null }, name);
    $("urls").tHead.rows[0].replaceChildren(...[["url"], ["state"], ["status"], ["depth", true], ["quality", true], ["at", true]].map(head));
  }

  /** What can be chosen: reasons, and spiders if there are several. */
  offer(reasons, spiders) {
    $("url-reason").append(...reasons.map((reason) => el("option", { value: reason }, titled(reason))));
    $("of-spider").hidden = spiders.length < 2;
    $("url-spider").append(...spiders.map((name) => el("option", { value: name }, clean(name))));
  }

  /** Search for what an address names. */
  open(given) {
    for (const input of $("url-search").elements) if (input.name) input.value = given.get(input.name) ?? "";
    $("pattern").value ||= given.get("search") ?? "";
    this.given = given;
    this.search += 1;
    this.next = "";
    this.rows = 0;
    $("urls").tBodies[0].replaceChildren();
    return this.more(this.search);
  }

  /** A page of answers; each says where the next one begins. */
  page(next, limit) {
    const query = new URLSearchParams(this.given);
    query.set("limit", limit);
    if (next) query.set("next", next);
    return this.ask(`urls?${query}`);
  }

  /** Show ROWS more: a search of many URLs takes several requests, each short. */
  async more(search) {
    $("urls-more").disabled = true;
    let wanted = ROWS;
    try {
      while (wanted > 0 && this.next !== null) {
        const found = await this.page(this.next, wanted);
        if (search !== this.search) return; // another one was begun
        this.next = found.next;
        this.rows += found.rows.length;
        wanted -= found.rows.length;
        $("urls").tBodies[0].append(...found.rows.map((row) => this.row(row)));
        const told = [found.note, this.next === null ? null : found.share === null ? null : `${(100 * found.share).toFixed(0)}% searched`].filter(Boolean).join(" · ");
        $("urls-told").textContent = clean(told);
        $("urls-caption").textContent = this.rows ? `${exact(this.rows)} URLs${this.next === null ? ", all that match" : ""}` : this.next === null ? "No URL matches" : "Searching …";
      }
    } catch (error) {
      this.failed(error);
    }
    $("urls-more").disabled = this.next === null;
  }

  row(row) {
    const words = row.reason && row.state !== "fetched" ? `${row.state}: ${titled(row.reason)}` : row.state;
    return el("tr", {},
      el("td", { class: "url" }, el("a", { href: address("url", { url: row.url }) }, clean(row.url))),
      el("td", { class: "text wrap" }, clean(words)), el("td", {}, row.status || "–"),
      el("td", { class: "minor" }, count(row.depth)), el("td", { class: "minor" }, number(row.quality)), el("td", { class: "minor" }, day(row.at)));
  }

  /** One URL: what became of it, when, and what can be done. */
  async show(url) {
    $("url-title").replaceChildren(alien(url));
    let found;
    try { found = await this.ask(`url?${new URLSearchParams({ url })}`); } catch (error) { $("url-body").replaceChildren(el("p", {}, clean(error.message))); return; }
    const button = (text, path, body, kind) => el("button", { type: "button", class: kind, onclick: async () => { if (await this.act(path, body)) this.show(url); } }, text);
    const terms = [
      ["What became of it", found.url_state], ["What to change", found.change || "nothing need be"], ["Status", found.status || "–"], ["Depth", count(found.depth)],
      ["Quality", number(found.quality)], ["Priority", found.priority === undefined ? "–" : String(found.priority)], ["Fetched", day(found.at)],
      ["Server", found.server, address("server", { key: found.server })],
    ];
    $("url-body").replaceChildren(
      el("div", { class: "buttons" }, button("Fetch now", "fetch", { url: found.url })),
      tiles(terms), el("h3", {}, "History"),
      table(["at", "what", "status"], found.history, { at: day }, "Nothing has happened to it, as far as it is kept.", "History of the URL"));
  }

  /** Change what becomes of the URLs of a pattern, after asking how many there are. */
  async change(kind, pattern) {
    let many = 0;
    let next = "";
    try {
      do {
        const found = await this.ask(`urls?${new URLSearchParams({ search: pattern, state: "queued", count: 1, ...(next && { next }) })}`);
        many += found.count;
        next = found.next;
        $("urls-told").textContent = `${exact(many)} queued URLs match so far`;
      } while (next !== null);
    } catch (error) { this.failed(error); return; }
    $("urls-told").textContent = "";
    const what = kind === "include" ? `Keep the ${exact(many)} queued URLs that match “${clean(pattern)}”, delete all others, ${AFTER[kind]}?` : `${WORDS[kind]} the ${exact(many)} queued URLs that match “${clean(pattern)}”, ${AFTER[kind]}?`;
    if (await this.confirm(what)) await this.act("pattern", { kind, pattern, on: true });
  }

  async export(form) {
    const rows = [];
    let next = "";
    try {
      do {
        const found = await this.page(next, 200);
        rows.push(...found.rows);
        next = found.next;
        $("urls-told").textContent = `${exact(rows.length)} URLs`;
      } while (next !== null && rows.length < MOST_EXPORTED);
    } catch (error) { this.failed(error); return; }
    // a cell that begins like a formula would be one in a spreadsheet
    const cell = (value) => `"${String(value ?? "").replace(/^([=+\-@\t\r])/, "'$1").replaceAll('"', '""')}"`;
    const text = form === "csv" ? [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))].map((line) => line.map(cell).join(",")).join("\r\n") : rows.map((row) => JSON.stringify(row)).join("\n");
    const link = el("a", { href: URL.createObjectURL(new Blob([`${text}\n`], { type: form === "csv" ? "text/csv" : "application/jsonl" })), download: `urls.${form}` });
    link.click();
    URL.revokeObjectURL(link.href);
    if (next !== null) $("urls-told").textContent = `The first ${exact(rows.length)} URLs: scrapy frontier exports all.`;
  }
}
