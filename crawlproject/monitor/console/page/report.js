// The report: the console's charts and tables, of data that stand in the page.
import { Charts } from "./charts.js";
import { alien, clean, el } from "./format.js";
import { SERVER_COLUMNS, ServerTable, rankTerms, showDialog, table, tiles } from "./tables.js";

const told = JSON.parse(document.getElementById("data").textContent);
const section = (title, ...parts) => el("section", {}, el("h2", {}, title), ...parts);
const paragraphs = (sentences) => sentences.map((sentence) => el("p", {}, alien(sentence)));
const tables = (found) => found.map(({ names, rows, none }) => table(names, rows.map((row) => Object.fromEntries(names.map((name, place) => [name, row[place]]))), {}, none));
const part = ({ title, sentences, tables: found }) => section(title, ...paragraphs(sentences), ...tables(found));

/** The rows of a query, as the console's API finds them. */
async function find({ search, state, sort, order, offset, limit }) {
  const known = told.servers.length;
  const text = search.trim().toLowerCase();
  const rows = told.servers.filter((server) => server.server.toLowerCase().includes(text) && (!state || server.state === state));
  const value = (server) => server[sort] ?? -1;
  rows.sort((one, other) => (sort === "server" ? one.server.localeCompare(other.server) : value(one) - value(other)) * (order === "desc" ? -1 : 1));
  return { rows: rows.slice(offset, offset + limit), total: rows.length, known, offset };
}

const state = (server) => [["State", server.state], ["Why", server.error || "–"], ["URLs queued", server.urls], ["Pages fetched", server.pages], ["Their quality", server.gathered], ["Copies", server.copies], ["Failures in a row", server.failures]];
const open = (server) => showDialog(server.server, [el("h3", {}, "State"), tiles(state(server)), el("h3", {}, "Rank, term by term"), rankTerms(server)]);

document.getElementById("charts-title").textContent = told.charts;
document.getElementById("servers-title").textContent = told.servers_title;
document.getElementById("parts").append(...told.parts.map(part));
document.getElementById("after").append(...told.after.map(part));
new Charts(document.getElementById("charts"), "in the end").load(told.history);
const servers = new ServerTable(find, open, (error) => { throw error; }, SERVER_COLUMNS.filter(([name]) => name !== "next"));
servers.states([...new Set(told.servers.map((server) => clean(server.state)))].sort());
servers.query.sort = "pages";
servers.show();
