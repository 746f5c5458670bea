// The control room's page. All data comes from the JSON API below /api/; see docs/watch.md.
import { Charts } from "./charts.js";
import { ago, alien, bytes, clean, clock, count, el, number, percent, seconds } from "./format.js";
import { ServerTable, rankTerms, showDialog, table, tiles } from "./tables.js";

const $ = (id) => document.getElementById(id);
const REFRESH = 5000;
/** Bytes of the URLs of one request: the console refuses longer bodies. */
const SEED_BYTES = 90000;
const charts = new Charts($("charts"));
/** Name in the API, heading, and how a value is shown; names are strangers' text. */
const WORKERS = [
  ["worker", "worker", null], ["pages", "pages", count], ["urls", "URLs queued", count], ["servers", "servers", count], ["sessions", "connections", count],
  ["sent", "links sent", count], ["received", "links received", count], ["partitions", "partitions", count],
  ["lag", "saved", ago], ["lease", "lease ends in", seconds], ["actions", "last action", count],
];
let token = "";
let ended = false;
let lines = -1;
let stream = null;
/** Number of the last action that all workers have applied. */
let applied = 0;
let isPaused = false;

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

/** Bytes of a value in a body, with a comma. */
const size = (value) => new TextEncoder().encode(JSON.stringify(value)).length + 1;

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

function showFigures(figures) {
  const state = figures.closing ? "closing" : figures.paused ? "paused" : "running";
  setState(state, state);
  isPaused = Boolean(figures.paused);
  $("pause").hidden = figures.paused;
  $("resume").hidden = !figures.paused;
  for (const name of ["pause", "resume", "stop"]) $(name).disabled = Boolean(figures.closing);
  $("held").hidden = !figures.held_back;
  $("held").textContent = figures.held_back ? `What holds the crawl back: ${clean(figures.held_back)}` : "";
  const inState = (name) => figures[`servers/${name}`];
  const shown = [
    ["Pages of this run", count(figures.pages)],
    ["Pages/s now", number(figures.pages_per_second)],
    ["Pages/s mean", number(figures.mean_pages_per_second)],
    ["Received/s", bytes(figures.bytes_per_second)],
    ["Connections", `${count(figures.sessions)} of ${count(figures.session_limit)}`],
    ["URLs queued", count(figures.queued)],
    ["Of these blocked", figures.blocked ? count(figures.blocked) : undefined],
    ["URLs seen", count(figures.seen)],
    ["Quality gathered", number(figures.quality_gathered)],
    ["Of what is known", percent(figures.quality_share)],
    [figures.is_limit ? "Limit reached" : "Queue fetched", ends(figures)],
    ["Failures", failures(figures.failures)],
    ["Servers", count(inState("known"))],
    ["Ready", count(inState("ready"))],
    ["Resting", count(inState("resting"))],
    ["Waiting", inState("waiting") ? count(inState("waiting")) : undefined],
    ["Leased", count(inState("leased"))],
    ["Given up", count(inState("given_up"))],
    ["Loop lag", seconds(figures.lag).replace("now", "0 ms")],
    ["Memory", bytes(figures.memory)],
  ].filter(([, value]) => value !== undefined && value !== "–");
  fill($("figures"), shown.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: String(value).length > 24 ? "words" : null }, clean(value)))));
}

function ends(figures) {
  if (figures.end !== null && figures.end !== undefined) return `in about ${seconds(figures.end).replace("now", "0 s")}`;
  return figures.why_no_end ? `unknown: ${figures.why_no_end}` : undefined;
}

function failures(found) {
  const kinds = Object.entries(found || {});
  return kinds.length ? kinds.map(([kind, times]) => `${kind}: ${count(times)}`).join(", ") : undefined;
}

/** Replace the children only where the text differs, so that a selection survives. */
function fill(place, made) {
  if (place.children.length !== made.length) { place.replaceChildren(...made); return; }
  made.forEach((one, at) => {
    if (place.children[at].textContent !== one.textContent) place.children[at].replaceWith(one);
  });
}

function showOrders(orders) {
  const undo = (text, path, body) => el("button", { type: "button", onclick: () => act(path, body), "aria-label": `${text} ${clean(body.name)}` }, text);
  const limit = $("sessions-limit");
  if (document.activeElement !== limit && !limit.dataset.touched) limit.value = orders.sessions;
  const items = [
    ...(orders.paused ? [el("li", {}, "the crawl is paused")] : []),
    ...Object.entries(orders.delays).map(([name, wait]) => el("li", {}, alien(name), `: ${wait} s between two requests `, undo("Undo", "delay", { name, seconds: 0 }))),
    ...orders.blocked.map((name) => el("li", {}, alien(name), " is blocked ", undo("Unblock", "unblock", { name }))),
    ...orders.released.map((name) => el("li", {}, alien(name), " is released from the guard")),
  ];
  if (!items.length) items.push(el("li", {}, "none"));
  if (!orders.kept) items.push(el("li", {}, "Orders end with this process: the frontier is not on disk."));
  const key = items.map((item) => item.textContent).join("\n");
  if ($("orders").dataset.key !== key) {
    $("orders").dataset.key = key;
    $("orders").replaceChildren(...items);
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
  $("log").replaceChildren(...made);
  lines = last;
});

const loadCharts = beside(async () => charts.load(await ask("history")));

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
      charts.load(await ask("history"));
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
  showFigures(event.figures);
  const isLong = charts.add(event.figures);
  if (name === "end") {
    ended = true;
    setState("ended", "the crawl has ended");
    for (const button of document.querySelectorAll("button")) button.disabled = true;
    $("server-close").disabled = false;
    return;
  }
  showOrders(event.orders);
  if (isLong) loadCharts();
  if (event.lines !== lines) showLog(event.lines);
}

// Servers

const servers = new ServerTable(
  (query) => ask(`servers?${new URLSearchParams(query)}`),
  (server) => showServer(server.server),
  (error) => { if (!(error instanceof Refused) && !ended) tell(error.message, true); },
);

async function showServer(key) {
  try {
    const found = await ask(`server?${new URLSearchParams({ key })}`);
    showDialog(key, serverParts(found));
  } catch (error) {
    if (!(error instanceof Refused)) tell(error.message, true);
  }
}

function serverParts(server) {
  const name = server.server;
  const again = (path, body) => async () => { await act(path, body); await showServer(name); };
  const button = (text, path, body, kind) => el("button", { type: "button", class: kind, onclick: again(path, body) }, text);
  const terms = [
    ["State", server.state + (server.reason ? `: ${server.reason}` : "")], ["Next request allowed", seconds(server.wait)],
    ["URLs queued", count(server.urls)], ["Pages fetched", count(server.fetched)], ["Failures in a row", count(server.failures)],
    ["Last error", server.last_error || "none"], ["Guarded because", server.guarded || "not guarded"],
    ["URLs that come last", server.doubted ? `${server.doubted}: nothing new on pages like theirs` : "none"],
    ["Trap patterns", server.traps.length ? server.traps.join(" ") : "none"], ["Group", server.group || "none"],
    ["Delay ordered for", server.delayed_by || "none"], ["Blocked by", server.blocked_by || "nobody"],
  ];
  return [
    el("div", { class: "buttons" },
      server.blocked_by === name ? button("Unblock", "unblock", { name }) : button("Block", "block", { name }, "danger"),
      button("Delay 60 s", "delay", { name, seconds: 60 }),
      server.delayed_by === name ? button("No delay", "delay", { name, seconds: 0 }) : null,
      button("Release from guard", "release", { name })),
    el("h3", {}, "State"), tiles(terms), el("h3", {}, "Rank, term by term"), rankTerms(server),
    el("h3", {}, "Best URLs"),
    table(["quality", "priority", "depth", "url"], server.best, { quality: number }, "no URL is queued"),
    el("h3", {}, "Last answers"),
    table(["at", "status", "seconds", "error", "url"], server.answers, { at: clock, seconds }, "none since this console runs"),
    el("h3", {}, "robots.txt"),
    server.robots === null ? el("p", {}, "not known: not asked for yet, or unavailable")
      : el("pre", { tabindex: "0" }, server.robots.text.replace(/[^\n]+/g, (line) => clean(line)) || "nothing is disallowed", server.robots.cut ? "\n…" : ""),
  ];
}

// Workers

async function showWorkers() {
  const found = await ask("workers");
  $("workers-section").hidden = found.workers === null;
  if (found.workers === null) return false;
  const crawl = found.state === "running" && isPaused ? "paused" : found.state;
  $("workers").caption.textContent = found.error ? clean(`Redis does not answer: ${found.error}`) : `${count(found.workers.length)} workers, ${count(found.pages)} pages in all; the crawl is ${clean(crawl)}`;
  const kind = (show) => (show ? null : "text");
  const cell = (worker, name, show) => (show ? alien(show(worker[name])) : [alien(worker[name] ?? "–"), worker[name] === found.own ? " (this page)" : ""]);
  $("workers").tHead.rows[0].replaceChildren(...WORKERS.map(([, title, show]) => el("th", { scope: "col", class: kind(show) }, title)));
  $("workers").tBodies[0].replaceChildren(...found.workers.map((worker) => el("tr", {}, ...WORKERS.map(([name, , show]) => el("td", { class: kind(show) }, ...[cell(worker, name, show)].flat())))));
  if (!found.error) showActions(found.actions, found.workers.length);
  return true;
}

function showActions(actions, workers) {
  const by = (action) => `${count(action.applied)} of ${count(workers)}`;
  const [last] = actions;
  $("applied").hidden = !last;
  $("applied").textContent = last ? `Action ${last.number} (${clean(last.what)}) is applied by ${by(last)} workers.` : "";
  const rows = actions.map((action) => ({ ...action, "applied by": by(action), worker: action.by }));
  $("actions-list").replaceChildren(table(["number", "at", "what", "applied by", "worker"], rows, { at: clock }, "none yet"));
  const done = actions.find((action) => action.applied >= workers);
  if (done) applied = done.number;
}

/** Show soon how many workers have applied what was just done. */
async function watchApplied(number) {
  for (let turn = 0; turn < 30 && !ended; turn += 1) {
    await showWorkers().catch(() => true);
    if (applied >= number) return;
    await new Promise((wake) => setTimeout(wake, 1000));
  }
}

// Actions

async function act(path, body) {
  try {
    const done = await ask(path, body);
    tell(done.done + (done.kept ? "" : " (until this process ends)"));
    servers.show();
    if (done.number) watchApplied(done.number);
    return done;
  } catch (error) {
    tell(error.message, true);
    return null;
  }
}

/** Send `urls` in as many requests as they need, and remove those that were sent. */
async function addSeeds(urls) {
  const sum = { new: 0, seen: 0, sent: 0, refused: 0 };
  const isSplit = size(urls) > SEED_BYTES;
  while (urls.length) {
    let some = 1;
    for (let left = SEED_BYTES - size(urls[0]); some < urls.length; some += 1) {
      left -= size(urls[some]);
      if (left < 0) break;
    }
    const done = await act("seeds", { urls: urls.slice(0, some) });
    if (!done) return;
    urls.splice(0, some);
    for (const what of Object.keys(sum)) sum[what] += done[what];
  }
  if (isSplit) tell(Object.entries(sum).filter(([, of]) => of).map(([what, of]) => `${of} ${what}`).join(", "));
}

function confirm(text) {
  const dialog = $("confirm");
  $("confirm-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((answer) => dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true }));
}

function connect() {
  $("pause").addEventListener("click", () => act("pause", {}));
  $("resume").addEventListener("click", () => act("resume", {}));
  $("stop").addEventListener("click", async () => { if (await confirm("Stop the crawl? Requests in flight will end first.")) act("stop", {}); });
  $("sessions-limit").addEventListener("input", (event) => { event.target.dataset.touched = "1"; });
  const on = (id, act_) => $(id).addEventListener("submit", (event) => { event.preventDefault(); act_(event); });
  on("sessions-form", async () => {
    await act("sessions", { limit: Number($("sessions-limit").value) });
    delete $("sessions-limit").dataset.touched;
  });
  on("server-form", (event) => {
    const action = event.submitter ? event.submitter.value : "delay";
    const body = { name: $("server-name").value };
    if (action === "delay") body.seconds = Number($("delay-seconds").value);
    act(action, body);
  });
  on("seeds-form", async () => {
    const urls = $("seeds").value.split("\n").map((line) => line.trim()).filter(Boolean);
    await addSeeds(urls);
    $("seeds").value = urls.join("\n"); // those that were not sent
  });
  on("login", () => {
    sessionStorage.setItem("token", $("token").value.trim());
    location.reload();
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden && stream) stream.abort(); });
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
  $("spider").textContent = clean(state.spider);
  document.title = `Crawl ${clean(state.spider)}`;
  servers.states(state.states);
  showFigures(state.figures);
  showOrders(state.orders);
  follow();
  servers.show();
  let hasWorkers = await showWorkers().catch(() => false);
  setInterval(async () => {
    if (ended || document.hidden) return;
    if ($("refresh").checked) servers.show();
    if (hasWorkers) hasWorkers = await showWorkers().catch(() => true);
  }, REFRESH);
}

start();
