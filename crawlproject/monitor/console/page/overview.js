// The first screen of a crawl, in the console and in the report: how far it is, three figures, and what holds it back.
import { alien, bytes, clean, count, el, elapsed, exact, number, percent, seconds } from "./format.js";

/** How the bar is measured: what it counts, and how that is shown. */
const MEASURES = { queue: ["known URLs", count], pages: ["pages", count], time: ["the time", elapsed], bytes: ["bytes", bytes], items: ["items", count] };

/** First words of what holds the crawl back -> what changes it, and where. */
const REMEDIES = [
  ["connections", "Allow more connections", "#/controls?at=limits"],
  ["the process cannot keep up", "Allow fewer connections", "#/controls?at=limits"],
  ["the operator: the crawl", "Resume", "resume"],
  ["the operator", "See the active overrides", "#/controls?at=overrides"],
  ["politeness", "See the servers that rest", "#/servers?state=resting"],
  ["one server left", "See the server", "#/servers?sort=urls"],
  ["failures", "See the servers that fail", "#/servers?state=failing"],
  ["few servers", "Add seeds", "#/controls?at=seeds"],
  ["nothing is queued", "Add seeds", "#/controls?at=seeds"],
];

/** A link to a view; without an address, text. */
export const link = (text, to) => (to ? el("a", { href: to }, text) : text);

/** Parameters as a part of an address: those that have a value. */
export const address = (view, given) => `#/${view}?${new URLSearchParams(Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined))}`;

/** Replace the children only where they differ, so that a selection and the focus survive. */
export function fill(place, made) {
  const shown = made.filter((one) => one !== null && one !== undefined);
  if (place.children.length !== shown.length) { place.replaceChildren(...shown); return; }
  shown.forEach((one, at) => {
    if (place.children[at].outerHTML !== one.outerHTML) place.children[at].replaceWith(one);
  });
}

export function progress(figures) {
  const { what, done, of } = figures.progress ?? {};
  if (!of) return el("p", { class: "progress" }, "Nothing is known of its length yet.");
  const [noun, show] = MEASURES[what];
  const share = Math.min(1, done / of);
  const left = figures.end !== null && figures.end !== undefined && !figures.ended
    ? `, ${figures.is_limit ? "reached" : "fetched"} in about ${seconds(figures.end)}${figures.is_limit ? "" : " if no more are found"}`
    : figures.why_no_end && !figures.ended ? `, time not known: ${clean(figures.why_no_end)}` : "";
  const words = `${percent(share)}: ${show(done)} of ${show(of)}${what === "time" ? "" : ` ${noun}`}${what === "queue" ? " done" : what === "time" ? " allowed" : " allowed"}${left}`;
  return el("div", { class: "progress" }, el("progress", { max: 1, value: share.toFixed(3), "aria-label": `Progress: ${noun}` }), el("p", {}, words, figures.budget && !figures.ended ? `; ${clean(figures.budget)}` : ""));
}

export function hero(figures) {
  const scope = figures.scope ?? "this run";
  const all = figures.pages_all !== undefined && figures.pages_all !== null && figures.pages_all !== figures.pages ? `${count(figures.pages_all)} in all runs` : null;
  const big = (title, value, unit, ...notes) => el("div", {}, el("dt", {}, title), el("dd", {}, el("strong", {}, value, unit ? el("small", {}, ` ${unit}`) : ""), ...notes.filter(Boolean).map((note) => el("span", {}, note))));
  return [
    big(`Pages, ${scope}`, count(figures.pages), "", all, figures.seen ? `${count(figures.seen)} URLs known` : null),
    figures.ended
      ? big(`Rate, ${scope}`, number(figures.mean_pages_per_second), "pages/s", "mean")
      : big("Rate, now", number(figures.pages_per_second), "pages/s", `mean ${number(figures.mean_pages_per_second)}`, `${bytes(figures.bytes_per_second)}/s`),
    big(`Quality, ${all || !figures.pages ? "all runs" : scope}`, percent(figures.quality_share), "", figures.quality_share === null || figures.quality_share === undefined ? "not known" : "of all that is known", `${number(figures.quality_gathered)} gathered`),
  ];
}

/** `[name, value, address]` of the small figures; what was not measured is "–". */
export function small(figures) {
  const servers = (name) => figures[`servers/${name}`];
  const isOpen = !figures.ended;
  return [
    ["Connections in use", isOpen ? `${count(figures.sessions)} of ${count(figures.session_limit)}` : null, "#/controls?at=limits"],
    ["URLs queued", count(figures.queued), "#/urls?state=queued"],
    ["Of these blocked", figures.blocked ? count(figures.blocked) : null, "#/servers?state=blocked"],
    ["Received", bytes(figures.bytes)],
    ["Failed, refused or tried again", count(figures.failed), "#/urls?state=lost"],
    ["Servers known", count(servers("known")), "#/servers"],
    ["Ready", isOpen ? count(servers("ready")) : null, "#/servers?state=ready"],
    ["Resting", isOpen ? count(servers("resting")) : null, "#/servers?state=resting"],
    ["Waiting", isOpen && servers("waiting") ? count(servers("waiting")) : null, "#/servers?state=waiting"],
    ["In use", isOpen ? count(servers("leased")) : null, "#/servers?state=in+use"],
    ["Given up", count(servers("given_up")), "#/servers?state=given+up"],
    ["Items", count(figures.items)],
    ["On the topic", figures.relevant ? count(figures.relevant) : null],
    ["Loop lag", isOpen && figures.lag !== undefined ? seconds(figures.lag) : null],
    ["CPU", isOpen && figures.cpu !== undefined ? percent(figures.cpu) : null],
    ["Memory", isOpen && figures.memory !== undefined ? bytes(figures.memory) : null],
  ].filter(([, value]) => value !== null);
}

export const smallTiles = (figures, hasLinks) => small(figures).map(([name, value, to]) => el("div", {}, el("dt", {}, name), el("dd", {}, link(value, hasLinks && to))));

/** What holds the crawl back, and what changes that; `act` carries out an action. */
export function held(figures, act) {
  if (!figures.held_back) return [];
  const [, words, to] = REMEDIES.find(([start]) => figures.held_back.startsWith(start)) ?? [];
  const said = el("span", {}, el("b", {}, "Held back by "), alien(figures.held_back));
  if (!words || !act) return [said];
  return [said, to.startsWith("#") ? el("a", { class: "button", href: to }, words) : el("button", { type: "button", onclick: () => act(to, {}) }, words)];
}

/** Counts as bars, the largest first; `rows`: `[name, count, address]`. */
export function bars(title, rows, most = 8) {
  if (!rows.length) return null;
  const sum = rows.reduce((all, [, value]) => all + value, 0);
  const shown = rows.slice(0, most);
  const rest = rows.slice(most).reduce((all, [, value]) => all + value, 0);
  if (rest) shown.push([`${exact(rows.length - most)} other${rows.length - most > 1 ? "s" : ""}`, rest]);
  const high = Math.max(...shown.map(([, value]) => value));
  return el("section", { class: "card bars" }, el("h3", {}, title), el("ul", {}, ...shown.map(([name, value, to]) => {
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(1, (100 * value) / high)}%`;
    return el("li", {}, el("span", { class: "name" }, link(alien(name), to)), el("span", { class: "value", title: exact(value) }, `${count(value)}, ${percent(value / sum)}`), bar);
  })));
}

