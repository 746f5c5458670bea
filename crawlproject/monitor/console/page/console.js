// The console's page: access, the stream, and the four views. All data comes from the JSON API below /api/; see docs/watch.md.
import { Charts } from "./charts.js";
import { ago, alien, clean, clock, count, day, el, elapsed, exact, number, seconds, titled, wait } from "./format.js";
import { address, bars, fill, held, hero, progress, smallTiles } from "./overview.js";
import { ServerTable, part, rankTerms, table, tiles, timeline } from "./tables.js";
import { UrlView } from "./urls.js";

const $ = (id) => document.getElementById(id);
const REFRESH = 5000;
/** URLs of one request: longer bodies than 100 kB are refused, and longer URLs than 2,083 characters. */
const SEEDS = 40;
const VIEWS = ["overview", "servers", "server", "urls", "url", "controls", "compare"];
/** The view that is marked in the navigation while another, of one thing, is open. */
const PARENTS = { server: "servers", url: "urls" };
/** Name in the API, heading, how a value is shown, and whether a narrow screen leaves it out; names are strangers' text. */
const WORKERS = [
  ["worker", "worker", null], ["pages", "pages", count], ["pages_per_second", "pages/s", number], ["urls", "URLs queued", count], ["servers", "servers", count, true], ["sessions", "connections", count, true],
  ["sent", "links sent", count, true], ["received", "links received", count, true], ["partitions", "partitions", count, true],
  ["lag", "saved", ago, true], ["lease", "lease ends in", seconds, true],
];
const charts = new Charts($("charts"), "now", (stretch) => { $("unzoom").hidden = stretch === null; });
const compared = new Charts($("compare-charts"), "in the end");
const byPages = new Charts($("compare-by-pages"), "in the end");
const view = { name: "overview", given: new URLSearchParams() };
/** What /api/state said of the crawl. */
let crawl = {};
let token = "";
let ended = false;
let lines = -1;
let stream = null;
let hasWorkers = false;
/** Whose figures the overview shows, of what stretch of time. */
let whose = "crawl";
let range = "300";

// Access

function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    sessionStorage.setItem("token", found);
    history.replaceState(null, "", location.pathname);
  }
  token = sessionStorage.getItem("token") || "";
}

function askToken() {
  $("login").hidden = false;
  for (const section of document.querySelectorAll("[data-room]")) section.hidden = true;
  setState("lost", "token needed");
}

class Refused extends Error {}

async function call(path, body, signal) {
  const options = { headers: { Authorization: `Bearer ${token}` }, cache: "no-store", signal };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(`api/${path}`, options);
  if (answer.status === 401) { askToken(); throw new Refused("the token is missing or wrong"); }
  return answer;
}

async function ask(path, body) {
  const answer = await call(path, body);
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error || `status ${answer.status}`);
  return value;
}

// Messages

let silence = 0;
function tell(text, isWrong) {
  const place = $("message");
  place.textContent = clean(text);
  place.classList.toggle("wrong", Boolean(isWrong));
  place.hidden = false;
  clearTimeout(silence);
  silence = setTimeout(() => { place.hidden = true; }, isWrong ? 20000 : 8000);
}

function setState(state, words) {
  const place = $("state");
  if (place.dataset.state === state && place.textContent === words) return;
  place.dataset.state = state;
  place.textContent = words;
}

// Figures

function showFigures(event) {
  const own = event.figures;
  const shown = hasWorkers && whose === "crawl" && event.whole ? { ...event.whole, scope: "whole crawl" } : { ...own, scope: hasWorkers ? "this worker" : "this run" };
  const state = ended ? "ended" : own.closing ? "closing" : own.paused ? "paused" : "running";
  setState(state, ended ? `ended${event.reason ? `: ${clean(event.reason).replaceAll("_", " ")}` : ""}` : state);
  $("pause").hidden = ended || own.paused;
  $("resume").hidden = ended || !own.paused;
  $("stop").hidden = ended;
  for (const name of ["pause", "resume", "stop"]) $(name).disabled = Boolean(own.closing);
  const about = [crawl.spider && crawl.spider !== crawl.name ? `spider ${crawl.spider}` : null, crawl.job ? `in ${crawl.job}` : hasWorkers ? "kept in Redis" : "kept in memory only", `started ${day(crawl.began)}`, `${ended ? "ran" : "running for"} ${elapsed(own.elapsed)}`];
  const told = about.filter(Boolean).map(clean).join(" · ");
  if ($("about").textContent !== told) $("about").textContent = told;
  const where = shown.held_by && shown.workers > 1 ? ` (${shown.held_by} of ${shown.workers} workers)` : "";
  Object.assign(shown, { ended, held_back: ended ? "" : shown.held_back && shown.held_back + where });
  const since = shown.scope === "whole crawl" ? " since this worker began" : "";
  for (const [id, words] of [["charts-title", `Over time, ${shown.scope}${since}`], ["parts-title", `In parts, ${shown.scope}`]]) if ($(id).textContent !== words) $(id).textContent = words;
  fill($("progress"), [progress(shown)]);
  fill($("hero"), hero(shown));
  fill($("held"), held(shown, act));
  fill($("figures"), smallTiles(shown, !ended));
}

/** Undo an override. */
function undo(path, body) {
  return el("button", { type: "button", onclick: () => act(path, body), "aria-label": `Undo: ${clean(body.name ?? body.pattern ?? path)}` }, "Undo");
}

function showOrders(orders) {
  showLimits(orders.limits);
  const items = [
    ...(orders.paused ? [el("li", {}, "the crawl is paused ", undo("resume", {}))] : []),
    ...orders.limits.filter((limit) => limit.override !== null).map((limit) => el("li", {}, `${limit.words}: ${limitWords(limit, limit.override)} instead of ${limitWords(limit, limit.setting)} `, undo("limit", { name: limit.name, value: null }))),
    ...Object.entries(orders.delays).map(([name, pause]) => el("li", {}, alien(name), `: ${pause} s between two requests `, undo("delay", { name, seconds: 0 }))),
    ...orders.blocked.map((name) => el("li", {}, alien(name), " is blocked ", undo("unblock", { name }))),
    ...orders.released.map((name) => el("li", {}, alien(name), " is released from the guard")),
    ...orders.patterns.map(({ kind, pattern }) => el("li", {}, `${PATTERN_WORDS[kind]} `, alien(pattern), " ", undo("pattern", { kind, pattern, on: false }))),
  ];
  if (!items.length) items.push(el("li", {}, "none"));
  if (!orders.kept) items.push(el("li", {}, "Overrides end with this process: the frontier is not on disk."));
  const key = items.map((item) => item.textContent).join("\n");
  if ($("orders").dataset.key !== key) {
    $("orders").dataset.key = key;
    $("orders").replaceChildren(...items);
  }
}

const PATTERN_WORDS = { exclude: "nothing is fetched of", include: "links are only followed to", raise: "fetched first:", lower: "fetched last:" };
const limitWords = (limit, value) => (value ? (limit.name === "time" ? elapsed(value) : exact(value)) : "no limit");

/** The form of limits; what somebody is typing stays. */
function showLimits(limits) {
  const place = $("limits");
  if (place.children.length !== limits.length) {
    place.replaceChildren(...limits.map(({ name, words }) => {
      const least = name === "sessions" ? 1 : 0;
      const input = el("input", { id: `limit-${name}`, type: "number", min: least, max: 1e12, step: 1 });
      input.addEventListener("input", () => { input.dataset.touched = "1"; });
      return el("p", {}, el("label", { for: `limit-${name}` }, words), input);
    }));
  }
  for (const limit of limits) {
    const input = $(`limit-${limit.name}`);
    input.placeholder = limitWords(limit, limit.setting);
    if (document.activeElement !== input && !input.dataset.touched) input.value = limit.override ?? "";
  }
}

/**
 * A function that runs ``load`` beside the stream, unless it runs already. Its failure must not end the stream, which may
 * have more to tell (that the crawl has ended, when nothing else is answered any more): a later event tries again.
 */
function beside(load) {
  let isRunning = false;
  return async (...given) => {
    if (isRunning) return;
    isRunning = true;
    try { await load(...given); } catch { /* see above */ } finally { isRunning = false; }
  };
}

const showLog = beside(async (last) => {
  const found = await ask("log");
  const made = found.lines.reverse().map((line) => el("li", { class: line.level }, `${clock(line.at)} ${line.level} `, alien(line.text)));
  $("log").replaceChildren(...(made.length ? made : [el("li", {}, "nothing yet")]));
  lines = last;
});

// Stream

async function follow() {
  let wait = 1000;
  while (!ended) {
    if (document.hidden) {
      await new Promise((wake) => document.addEventListener("visibilitychange", wake, { once: true }));
      continue;
    }
    stream = new AbortController();
    try {
      const { crawl: now } = await ask("state");
      if (now.spider !== crawl.spider || Math.abs(now.began - crawl.began) > 0.5) { location.reload(); return; } // another crawl at this port
      await loadCharts();
      const answer = await call("stream", undefined, stream.signal);
      if (!answer.ok) throw new Error((await answer.json()).error);
      wait = 1000;
      await read(answer.body.getReader());
    } catch (error) {
      if (error instanceof Refused) return;
    }
    if (ended) return;
    if (!document.hidden) setState("lost", "connection lost");
    await new Promise((wake) => setTimeout(wake, wait));
    wait = Math.min(2 * wait, 30000);
  }
}

async function read(reader) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const events = text.split("\n\n");
    text = events.pop();
    if (text.length > 1e6) throw new Error("an event without end");
    for (const event of events) {
      const [name, data] = [event.match(/^event: (.*)$/m), event.match(/^data: (.*)$/m)];
      if (name && data) take(name[1], JSON.parse(data[1]));
    }
  }
}

function take(name, event) {
  if (name === "end") {
    ended = true;
    for (const id of ["views", "range", "scope"]) $(id).hidden = true;
    $("over").hidden = false;
    $("over").append(crawl.folder ? el("span", {}, " All of it: ", el("code", {}, clean(`scrapy report ${crawl.folder}`))) : "");
    route(); // the other views ask for what is answered no more
    for (const each of $("parts").querySelectorAll("a")) each.replaceWith(...each.childNodes);
    for (const button of document.querySelectorAll("main button, main input, main select, main textarea")) if (button.id !== "unzoom") button.disabled = true;
  }
  showFigures(event);
  const isLong = charts.add(hasWorkers && whose === "crawl" && event.whole ? event.whole : event.figures);
  if (ended) return;
  showOrders(event.orders);
  if (isLong) loadCharts();
  if (event.lines !== lines) showLog(event.lines);
}

const loadCharts = beside(async () => charts.load(await ask(`history?${new URLSearchParams({ range, of: whose })}`)));

// Views

/** Show the view that the address names. */
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  view.name = VIEWS.includes(path) && !ended ? path : "overview";
  view.given = new URLSearchParams(query);
  for (const name of VIEWS) $(`view-${name}`).hidden = name !== view.name;
  const marked = PARENTS[view.name] ?? view.name;
  for (const each of document.querySelectorAll("nav a")) {
    if (each.getAttribute("href") === `#/${marked}`) each.setAttribute("aria-current", "page"); else each.removeAttribute("aria-current");
  }
  document.title = `${{ overview: "Overview", servers: "Servers", server: view.given.get("key"), urls: "URLs", url: view.given.get("url"), controls: "Controls", compare: "Compare" }[view.name]} – ${crawl.name ?? "crawl"}`;
  window.scrollTo(0, 0);
  if (view.name === "overview") charts.resize();
  if (ended) return;
  if (view.name === "overview") loadCharts();
  if (view.name === "servers") servers.open(view.given);
  if (view.name === "server") showServer(view.given.get("key") ?? "");
  if (view.name === "urls") urls.open(view.given);
  if (view.name === "url") urls.show(view.given.get("url") ?? "");
  if (view.name === "controls") showSpiders();
  if (view.name === "compare") compare(view.given.get("with"));
  if (view.name === "controls") document.querySelector(`[data-at="${view.given.get("at")?.replace(/[^a-z]/g, "")}"]`)?.querySelector("input, textarea, h3")?.focus();
  refresh();
}

/** What the open view shows besides the stream, now and every few seconds. */
const refresh = beside(async () => {
  if (ended || document.hidden) return;
  if (view.name === "servers") await servers.show();
  if (view.name === "overview") await showParts();
  await showWorkers();
});

const failed = (error) => { if (!(error instanceof Refused) && !ended) tell(error.message, true); };
const servers = new ServerTable(
  (query) => ask(`servers?${new URLSearchParams(query)}`),
  (query) => { location.hash = address("servers", query); },
  failed,
);
const urls = new UrlView(ask, (path, body) => act(path, body), failed, (text) => confirm(text));

async function showParts() {
  const found = await ask(`parts?${new URLSearchParams({ of: whose })}`);
  const to = (name) => ([value, times]) => [value, times, address("urls", { [name]: value })];
  const lost = found.reasons.filter((row) => !row.is_page);
  const rows = (name) => Object.entries(found[name] ?? {}).sort((one, other) => other[1] - one[1]);
  fill($("parts"), [
    bars("Lost or refused, by reason", lost.map((row) => [titled(row.reason), row.count, address("urls", { state: "lost", reason: row.reason })])),
    bars("Answers by status", rows("status").map(to("status"))),
    bars("Answers by media type", rows("type")),
    bars("URLs done by depth", Object.entries(found.depth ?? {}).map(([depth, times]) => [`depth ${depth}`, times, address("urls", { depth })])),
    bars("Pages by spider", rows("spider").map(to("spider"))),
  ].filter(Boolean));
}

const showSpiders = beside(async () => {
  if ($("spiders-section").hidden) return;
  const rows = (await ask("spiders")).map((row) => ({ ...row, queued: row.urls, "waits for": row.waits_for }));
  const spider = (name) => el("a", { href: address("urls", { spider: name }) }, clean(name));
  const names = ["spider", "pages", "items", "errors", "queued", "waits for"];
  $("spiders").replaceChildren(table(names, rows, { spider, pages: count, items: count, errors: count, queued: count }, "Only rules: there are no other spiders.", "Spiders"));
});

/** This crawl beside another one of the same folder, as `scrapy report A B` shows them. */
async function compare(other) {
  const place = $("compare-with");
  try {
    const names = await ask("crawls");
    place.replaceChildren(...names.map((name) => el("option", { value: name }, clean(name))));
    if (!names.length) throw new Error(`There is no other crawl beside ${crawl.folder}.`);
    if (!other) return;
    place.value = other;
    const found = await ask(`compare?${new URLSearchParams({ with: other })}`);
    $("compared").replaceChildren(...found.problems.map((problem) => el("p", { class: "note" }, clean(problem))), ...found.lost.map(part), ...found.parts.map(part), el("h2", {}, found.charts));
    compared.load(found.history);
    byPages.load(found.by_pages);
  } catch (error) {
    $("compared").replaceChildren(el("p", {}, clean(error.message)));
  }
}

async function showServer(key) {
  $("server-title").replaceChildren(alien(key));
  try {
    $("server-body").replaceChildren(...serverParts(await ask(`server?${new URLSearchParams({ key })}`)));
  } catch (error) {
    $("server-body").replaceChildren(el("p", {}, clean(error.message)));
  }
}

function serverParts(server) {
  const name = server.server;
  const again = (path, body) => async () => { await act(path, body); await showServer(name); };
  const button = (text, path, body, kind) => el("button", { type: "button", class: kind, onclick: again(path, body) }, text);
  const at = (state) => address("urls", { host: name, state });
  const terms = [
    ["State", server.state + (server.reason ? `: ${server.reason}` : "")], ["Next request allowed", server.urls ? wait(server.wait) : "–"],
    ["URLs queued", count(server.urls), at("queued")], ["Pages fetched", count(server.fetched), at("fetched")], ["Failures in a row", count(server.failures), at("lost")],
    ["Last error", server.last_error || "none"],
    ["URLs that come last", server.doubted ? `${server.doubted}: nothing new on pages like theirs` : "none"],
    ["Trap patterns", server.traps.length ? server.traps.join(" ") : "none"], ["Group", server.group || "none"],
    ["Delay ordered for", server.delayed_by || "none"], ["Blocked by", server.blocked_by || "nobody"],
  ];
  const url = (value) => el("a", { href: address("url", { url: value }) }, clean(value));
  return [
    el("div", { class: "buttons" },
      server.blocked_by === name ? button("Unblock", "unblock", { name }) : button("Block", "block", { name }, "danger"),
      button("Delay 60 s", "delay", { name, seconds: 60 }),
      server.delayed_by === name ? button("No delay", "delay", { name, seconds: 0 }) : null,
      button("Release from guard", "release", { name })),
    tiles(terms), timeline(server.answers),
    el("h3", {}, "Rank, term by term"), rankTerms(server),
    el("h3", {}, "Best URLs"),
    table(["quality", "priority", "depth", "url"], server.best, { quality: number, url }, "no URL is queued", "Best URLs"),
    el("h3", {}, "Last answers"),
    table(["at", "status", "seconds", "url", "error"], server.answers, { at: clock, seconds, url }, "none since this console runs", "Last answers"),
    el("h3", {}, "robots.txt"),
    server.robots === null ? el("p", {}, "not known: not asked for yet, or unavailable")
      : el("pre", { tabindex: "0", role: "region", "aria-label": "robots.txt" }, server.robots.text.replace(/[^\n]+/g, (line) => clean(line)) || "nothing is disallowed", server.robots.cut ? "\n…" : ""),
  ].filter(Boolean);
}

// Workers

async function showWorkers() {
  const found = await ask("workers");
  const is = found.workers !== null;
  $("workers-section").hidden = $("scope").hidden = !is;
  for (const note of document.querySelectorAll(".of-worker")) note.hidden = !is;
  if (is && !hasWorkers) { hasWorkers = true; loadCharts(); }
  showActions(found.actions ?? [], is ? found.workers.length : null);
  if (!is) return;
  $("workers").caption.textContent = found.error ? clean(`Redis does not answer: ${found.error}`) : `${exact(found.workers.length)} workers, ${exact(found.pages)} pages in all runs`;
  const kind = (show, isMinor) => (show ? (isMinor ? "minor" : null) : "text");
  const own = (worker, port) => {
    const text = alien(worker.worker ?? "–");
    if (worker.worker === found.own) return [text, " (this page)"];
    return [port ? el("a", { href: `http://${location.hostname}:${port}/#token=${token}` }, text) : text];
  };
  const cell = (worker, name, show) => (show ? [alien(show(worker[name]))] : own(worker, worker.console));
  $("workers").tHead.rows[0].replaceChildren(...WORKERS.map(([, title, show, isMinor]) => el("th", { scope: "col", class: kind(show, isMinor) }, title)));
  $("workers").tBodies[0].replaceChildren(...found.workers.map((worker) => el("tr", {}, ...WORKERS.map(([name, , show, isMinor]) => el("td", { class: kind(show, isMinor) }, ...cell(worker, name, show))))));
}

function showActions(actions, workers) {
  const by = (action) => `${count(action.applied)} of ${count(workers)}`;
  const [last] = actions;
  $("applied").hidden = !last || workers === null;
  $("applied").textContent = last && workers !== null ? `Action ${last.number} (${clean(last.what)}) is applied by ${by(last)} workers.` : "";
  const rows = actions.map((action) => ({ ...action, "applied by": workers === null ? "" : by(action), worker: action.by }));
  const names = workers === null ? ["at", "what"] : ["number", "at", "what", "applied by", "worker"];
  const made = table(names, rows, { at: clock }, "Nothing was changed yet.", "History");
  if ($("actions-list").textContent !== made.textContent) $("actions-list").replaceChildren(made);
}

// Actions

async function act(path, body) {
  try {
    const done = await ask(path, body);
    tell(done.done + (done.kept ? "" : " (until this process ends)"));
    refresh();
    return done;
  } catch (error) {
    tell(error.message, true);
    return null;
  }
}

/** Send `urls` in as many requests as they need, and remove those that were sent. */
async function addSeeds(urls) {
  const sum = { new: 0, seen: 0, sent: 0, refused: 0 };
  const refused = [];
  while (urls.length) {
    const some = urls.slice(0, SEEDS);
    const done = await act("seeds", { urls: some });
    if (!done) return;
    urls.splice(0, some.length);
    for (const what of Object.keys(sum)) sum[what] += done[what];
    refused.push(...done.others);
  }
  tell(Object.entries(sum).filter(([, of]) => of).map(([what, of]) => `${of} ${what}`).join(", "));
  $("seeds-told").replaceChildren(...(refused.length ? [table(["url", "reason"], refused, {}, "", "Seeds that were not queued")] : []));
  urls.push(...refused.filter((one) => !one.reason.startsWith("seen")).map((one) => one.url)); // to be corrected
}

function confirm(text) {
  const dialog = $("confirm");
  $("confirm-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((answer) => dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true }));
}

function connect() {
  $("reload").addEventListener("click", async () => { await act("spiders", { change: "reload" }); showSpiders(); });
  $("pause").addEventListener("click", () => act("pause", {}));
  $("resume").addEventListener("click", () => act("resume", {}));
  $("stop").addEventListener("click", async () => { if (await confirm("Stop the crawl? Requests in progress will end first.")) act("stop", {}); });
  const on = (id, act_) => $(id).addEventListener("submit", (event) => { event.preventDefault(); act_(event); });
  on("limits-form", async () => {
    for (const input of $("limits").querySelectorAll("[data-touched]")) {
      if (!await act("limit", { name: input.id.replace("limit-", ""), value: input.value === "" ? null : Number(input.value) })) return;
      delete input.dataset.touched;
    }
  });
  on("server-form", (event) => {
    const action = event.submitter ? event.submitter.value : "delay";
    const body = { name: $("server-name").value };
    if (action === "delay") body.seconds = Number($("delay-seconds").value);
    act(action, body);
  });
  on("links-form", (event) => urls.change(event.submitter ? event.submitter.value : "include", $("link-pattern").value));
  on("pattern-form", (event) => urls.change(event.submitter ? event.submitter.value : "lower", $("pattern").value));
  on("seeds-form", async () => {
    const given = $("seeds").value.split("\n").map((line) => line.trim()).filter(Boolean);
    await addSeeds(given);
    $("seeds").value = given.join("\n"); // those that were not sent, or are wrong
  });
  on("compare-form", () => { location.hash = address("compare", { with: $("compare-with").value }); });
  on("login", () => {
    sessionStorage.setItem("token", $("token").value.trim());
    location.reload();
  });
  const choose = (id, set) => {
    for (const button of $(id).querySelectorAll("button")) {
      button.addEventListener("click", () => { set(button.value); choice(id, button.value); charts.zoomTo(null); loadCharts(); refresh(); });
    }
  };
  choose("range", (value) => { range = value; });
  choose("scope", (value) => { whose = value; });
  choice("range", range);
  choice("scope", whose);
  $("unzoom").addEventListener("click", () => charts.zoomTo(null));
  document.addEventListener("visibilitychange", () => { if (document.hidden && stream) stream.abort(); });
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) location.reload(); // the same page, opened by its link again
    route();
    $(`${view.name}-title`)?.focus({ preventScroll: true });
  });
}

/** Mark the chosen one of some buttons. */
function choice(id, value) {
  for (const button of $(id).querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === value));
}

async function start() {
  takeToken();
  connect();
  let state;
  try {
    state = await ask("state");
  } catch (error) {
    if (!(error instanceof Refused)) { tell(error.message, true); setState("lost", "connection lost"); setTimeout(() => location.reload(), REFRESH); }
    return;
  }
  crawl = state.crawl;
  hasWorkers = state.has_workers;
  if (!hasWorkers) whose = "worker";
  $("to-compare").hidden = !crawl.folder;
  $("name").textContent = clean(crawl.name);
  servers.states(state.states);
  urls.offer(state.reasons, state.spiders);
  $("spiders-section").hidden = !state.reloads && state.spiders.length < 2;
  $("reload").hidden = !state.reloads;
  showFigures(state);
  showOrders(state.orders);
  route();
  follow();
  setInterval(refresh, REFRESH);
}

start();
