// The report: the console's first screen, charts and tables, of data that stand in the page.
import { Charts } from "./charts.js";
import { alien, clean, el } from "./format.js";
import { fill, held, hero, progress, smallTiles } from "./overview.js";
import { SERVER_COLUMNS, ServerTable, part, rankTerms, tiles } from "./tables.js";

const told = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

/** The rows of a query, as the console's API finds them. */
async function find({ search, state, sort, order, offset, limit }) {
  const known = told.servers.length;
  const text = search.trim().toLowerCase();
  const rows = told.servers.filter((server) => server.server.toLowerCase().includes(text) && (!state || (state === "failing" ? server.failures > 0 : server.state === state)));
  const value = (server) => server[{ quality: "best_quality", pages: "fetched" }[sort] ?? sort] ?? -1;
  rows.sort((one, other) => (sort === "server" ? one.server.localeCompare(other.server) : value(one) - value(other)) * (order === "desc" ? -1 : 1));
  return { rows: rows.slice(offset, offset + limit), total: rows.length, known, offset };
}

const state = (server) => [["State", server.state], ["Why", server.reason || server.last_error || "–"], ["URLs queued", server.urls], ["Pages fetched", server.fetched], ["Their quality", server.gathered], ["Copies", server.copies], ["Failures in a row", server.failures]];

/** Show the server of an address ``#/server?key=…`` below the table; any other address hides it. */
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const key = new URLSearchParams(query).get("key");
  const server = path === "server" ? told.servers.find((each) => each.server === key) : undefined;
  at("view-server").hidden = !server;
  if (!server) return;
  at("server-title").replaceChildren(alien(server.server));
  at("server-body").replaceChildren(tiles(state(server)), el("h3", {}, "Rank, term by term"), rankTerms(server));
  at("server-title").focus();
}

at("name").textContent = clean(told.title);
at("charts-title").textContent = told.charts;
const [ended, about] = told.about;
at("state").textContent = clean(ended);
at("state").hidden = !ended;
at("about").textContent = clean(about);
if (told.overview) {
  fill(at("progress"), [progress(told.overview)]);
  fill(at("hero"), hero(told.overview));
  fill(at("held"), held(told.overview));
  at("held").hidden = !told.overview.held_back;
  fill(at("figures"), smallTiles(told.overview, false));
}
at("lost").append(...told.lost.map(part));
at("parts").append(...told.parts.map(part));
at("after").append(...told.after.map(part));
const charts = new Charts(at("charts"), "in the end", (stretch) => { at("unzoom").hidden = stretch === null; });
at("unzoom").addEventListener("click", () => charts.zoomTo(null));
charts.load(told.history);
if (told.by_pages) new Charts(at("charts-by-pages"), "in the end").load(told.by_pages);
if (told.servers) {
  at("servers-title").textContent = told.servers_title;
  let servers;
  const go = (query) => { servers.query = query; servers.show(); };
  servers = new ServerTable(find, go, (error) => { throw error; }, SERVER_COLUMNS.filter(([name]) => name !== "next"));
  servers.states([...new Set(told.servers.map((server) => clean(server.state)))].sort());
  servers.query.sort = "pages";
  servers.show();
  window.addEventListener("hashchange", route);
  route();
} else at("view-servers").hidden = true;
