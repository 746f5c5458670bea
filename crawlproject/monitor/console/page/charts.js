// The charts: each a figure with a heading, a sentence that tells the same, and a canvas.
import { bytes, clean, count, el, moment, number, percent, stretch } from "./format.js";
import { table } from "./tables.js";

const perSecond = (value) => `${bytes(value)}/s`;
const CHARTS = [
  { title: "Share of the known quality", series: [["share", "this crawl", "one"], ["expected", "breadth-first, expected", "two"]], show: percent },
  { title: "Pages per second", series: [["pages_per_second", "pages/s", "one"]], show: number },
  { title: "URLs queued and pages fetched", series: [["queued", "queued", "one"], ["pages", "fetched", "two"]], show: count },
  { title: "Connections", series: [["sessions", "in use", "one"], ["session_limit", "allowed", "two"]], show: count },
  { title: "Quality of the pages fetched", series: [["quality_gathered", "quality", "one"]], show: number },
  { title: "Servers", series: [["servers/ready", "ready", "one"], ["servers/resting", "resting", "two"]], show: count },
  { title: "Received per second", series: [["bytes_per_second", "received", "one"]], show: perSecond },
  { title: "Pages on the topic", series: [["relevant", "on the topic", "one"]], show: count },
  { title: "CPU of the process", series: [["cpu", "of one CPU", "one"]], show: percent },
];
/** How values are shown in charts that the data define. */
const SHOWN = { percent, number, count, perSecond };
const MOST = 700;
/** On the screen, and on paper. */
const [HEIGHT, PRINTED] = [190, 120];
/** Distances of ticks where there are only whole numbers. */
const WHOLE = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
/** The same of stretches of time: seconds, minutes, hours, days. */
const TIMES = [[1, [1, 2, 5, 10, 15, 30]], [60, [1, 2, 5, 10, 15, 30]], [3600, [1, 2, 6, 12]], [86400, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]]]
  .flatMap(([unit, counts]) => counts.map((times) => times * unit));
/** Rows of the table beside a chart. */
const VALUES = 12;

/** Number of objects made: the charts of each show the same moment under the pointer. */
let made = 0;

export class Charts {
  /** `last`: what the last point is called in the text of a chart; `zoomed` is called when a stretch of time is chosen. */
  constructor(place, last = "now", zoomed = () => {}) {
    this.place = place;
    this.last = last;
    this.zoomed = zoomed;
    this.isElapsed = this.isOfPages = false;
    this.defined = CHARTS;
    this.names = [];
    this.columns = [];
    this.interval = 1;
    this.most = MOST;
    this.zoom = null;
    this.key = `charts ${(made += 1)}`;
    this.charts = [];
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.build());
    window.matchMedia("print").addEventListener("change", () => this.build());
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** Begin with the points that the server has kept. */
  load(history) {
    this.names = history.names;
    this.defined = history.charts ? history.charts.map((chart) => ({ ...chart, show: SHOWN[chart.show], series: chart.series.map(([name, label, color]) => [name, clean(label), color]) })) : CHARTS;
    const isElapsed = Boolean(history.elapsed);
    const isOther = isElapsed !== this.isElapsed; // another axis
    this.isElapsed = isElapsed;
    this.isOfPages = Boolean(history.of_pages);
    this.interval = history.interval;
    this.most = history.most ?? MOST;
    this.columns = this.names.map((_, column) => history.points.map((row) => row[column]));
    const titles = (charts) => charts.map((chart) => chart.title).join();
    if (!isOther && !history.charts && this.charts.length && titles(this.charts) === titles(this.shown())) this.draw(); else this.build();
  }

  /** Show only what is between two times, in all charts; null: all that is there. */
  zoomTo(stretch) {
    this.zoom = stretch;
    this.draw();
    this.zoomed(stretch);
  }

  /** Add a point; returns whether there are so many that they should be loaded again. */
  add(figures) {
    const times = this.columns[0];
    if (!times || this.isElapsed) return false;
    if (times.length && figures.at - times[times.length - 1] < this.interval * 0.9) return false;
    this.names.forEach((name, column) => this.columns[column].push(name === "at" ? figures.at : figures[name] ?? null));
    this.draw();
    return times.length > this.most;
  }

  shown() {
    return this.defined.filter((chart) => chart.series.some(([name]) => this.has(name)));
  }

  build() {
    for (const chart of this.charts) chart.plot.destroy();
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.charts = this.shown().map((chart) => {
      const text = el("p", {});
      const plotted = el("div", { class: "plot", "aria-hidden": "true" });
      const keys = chart.series.length < 2 ? [] : chart.series.map(([, label, name]) => el("span", { class: "line" }, el("span", { class: `key ${name}` }), label));
      const values = el("details", {}, el("summary", {}, `Values: ${chart.title}`));
      values.addEventListener("toggle", () => { if (values.open) values.replaceChildren(values.firstChild, this.values(chart)); });
      const figure = el("figure", {}, el("figcaption", {}, chart.title, ...keys), text, plotted, values);
      const axis = { stroke: color("quiet"), grid: { stroke: color("chart-grid") }, ticks: { stroke: color("chart-grid") } };
      const series = chart.series.map(([, label, name]) => ({ label, stroke: color(name), width: 2, points: { show: (plot) => plot.data[0].length === 1 } }));
      const one = { ...chart, figure, text, plotted };
      const options = {
        width: 300, height: HEIGHT, legend: { show: false },
        cursor: { y: false, sync: { key: this.key }, drag: { x: true, y: false, setScale: false } },
        hooks: { setCursor: [(plot) => this.tell(one, plot.cursor.idx)], setSelect: [(plot) => this.select(plot)] },
        scales: { x: { range: (plot, from, to) => this.zoom ?? span(plot, from, to), time: !this.isElapsed && !this.isOfPages }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.05 : 1] } },
        axes: [{ ...axis, space: 74, incrs: this.isOfPages ? WHOLE : this.isElapsed ? TIMES : undefined, values: (_, ticks) => ticks.map((at) => this.time(at, ticks[ticks.length - 1] - ticks[0])) }, { ...axis, size: 74, incrs: chart.show === count ? WHOLE : undefined, values: (_, ticks) => ticks.map((tick) => chart.show(tick).replace(/\.0+(?= |$)/, "")) }],
        series: [{}, ...series],
      };
      one.plot = new uPlot(options, this.data(chart), plotted);
      return one;
    });
    this.place.replaceChildren(...this.charts.map((chart) => chart.figure));
    this.resize();
    this.draw();
  }

  /** A stretch that was drawn with the pointer in one chart is shown in all. */
  select(plot) {
    if (plot.select.width < 8) return;
    const [from, to] = [plot.select.left, plot.select.left + plot.select.width].map((at) => plot.posToVal(at, "x"));
    for (const chart of this.charts) chart.plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoomTo([from, to]);
  }

  /** What the chart shows at the point under the pointer; without one, its last values. */
  tell(chart, at) {
    const [times, ...columns] = this.data(chart);
    const said = at === null || at === undefined || at >= times.length
      ? columns.map((values, place) => tell(chart.series[place][1], values, chart.show, this.last)).join("; ")
      : `${this.time(times[at], 0)}: ${columns.map((values, place) => `${chart.series[place][1]} ${chart.show(values[at])}`).join(", ")}`;
    if (chart.text.textContent !== said) chart.text.textContent = said;
  }

  time(at, span) {
    if (this.isOfPages) return count(at);
    return this.isElapsed ? stretch(at) : moment(at, span);
  }

  /** Some points of a chart as a table: the same for those who do not see it. */
  values(chart) {
    const [times, ...columns] = this.data(chart);
    const last = times.length - 1;
    const places = [...new Set(Array.from({ length: VALUES + 1 }, (_, place) => Math.max(0, Math.round((place * last) / VALUES))))];
    const x = this.isOfPages ? "pages" : "time";
    const names = [x, ...chart.series.map(([, label]) => label)];
    const rows = places.map((place) => Object.fromEntries([[x, this.time(times[place], times[last] - times[0])], ...chart.series.map(([, label], at) => [label, chart.show(columns[at][place])])]));
    return table(names, rows, {}, "nothing yet", `Values: ${chart.title}`);
  }

  has(name) {
    const column = this.columns[this.names.indexOf(name)];
    return column !== undefined && (column.length === 0 || column.some((value) => value !== null));
  }

  data(chart) {
    return [this.columns[0] || [], ...chart.series.map(([name]) => this.columns[this.names.indexOf(name)] || [])];
  }

  draw() {
    if (this.place.offsetParent === null) return; // another view is open
    for (const chart of this.charts) {
      chart.plot.setData(this.data(chart));
      this.tell(chart, chart.plot.cursor.idx);
    }
  }

  resize() {
    for (const chart of this.charts) {
      const width = Math.floor(chart.plotted.clientWidth);
      const height = matchMedia("print").matches ? PRINTED : HEIGHT;
      if (width > 0 && (width !== chart.plot.width || height !== chart.plot.height)) chart.plot.setSize({ width, height });
    }
  }
}

/** The stretch of time that is shown: of a single point, a minute around it. */
const span = (plot, from, to) => (plot.data[0].length === 1 ? [plot.data[0][0] - 30, plot.data[0][0] + 30] : [from, to]);

/** The text alternative of one line. */
function tell(label, values, show, last) {
  const known = (values || []).filter((value) => value !== null);
  if (!known.length) return `${label}: nothing yet`;
  const most = known.reduce((one, other) => Math.max(one, other));
  return `${label}: ${last} ${show(known[known.length - 1])}, at most ${show(most)}`;
}
