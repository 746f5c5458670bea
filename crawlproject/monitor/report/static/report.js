"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const drawn = new Map();
  // Distances of ticks: whole seconds, minutes, hours, days.
  const TIMES = [[1, [1, 2, 5, 10, 15, 30]], [60, [1, 2, 5, 10, 15, 30]], [3600, [1, 2, 6, 12]], [86400, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]]]
    .flatMap(([unit, counts]) => counts.map((count) => count * unit));

  function words(seconds) {
    if (seconds < 60) return `${+seconds.toFixed(1)} s`;
    if (seconds >= 86400) return `${+(seconds / 86400).toFixed(1)} d`;
    const [size, unit] = seconds < 3600 ? [60, "min"] : [3600, "h"];
    const sixtieths = Math.round(60 * seconds / size);
    const [whole, rest] = [Math.floor(sixtieths / 60), sixtieths % 60];
    return rest ? `${whole}:${String(rest).padStart(2, "0")} ${unit}` : `${whole} ${unit}`;
  }
  function written(value, unit) {
    if (value == null) return "–";
    if (unit === "percent") return `${Math.round(100 * value)}%`;
    return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 2 : 0 });
  }
  function short(value, unit) {
    if (unit === "percent") return `${Math.round(100 * value)}%`;
    return value.toLocaleString("en", { notation: "compact" });
  }
  function draw(chart) {
    const place = document.getElementById(`chart-${chart.id}`);
    drawn.get(chart.id)?.destroy();
    const css = getComputedStyle(document.documentElement);
    const color = (name) => css.getPropertyValue(name).trim();
    const colors = ["--c1", "--c2", "--c3"].map(color);
    const axis = { stroke: color("--text"), grid: { stroke: color("--grid"), width: 1 }, ticks: { stroke: color("--grid") } };
    const bars = chart.kind === "bars";
    const label = (_, value) => (value == null ? "–" : bars ? chart.labels[value] : words(value));
    const series = chart.names.slice(1).map((name, i) => ({
      label: name, stroke: colors[i], width: 2, dash: i === 1 ? [8, 4] : i === 2 ? [2, 3] : undefined,
      fill: bars ? colors[i] + "66" : undefined, points: { show: !bars && chart.columns[0].length < 3 },
      paths: bars ? uPlot.paths.bars({ size: [0.8, 60] }) : undefined,
      value: (_, value) => written(value, chart.unit),
    }));
    const options = {
      width: Math.max(200, place.clientWidth), height: 260,
      scales: { x: bars ? { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] } : { time: false },
                y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      series: [{ label: chart.names[0], value: label }, ...series],
      axes: [
        { ...axis, values: (_, ticks) => (ticks || []).map((tick) => (bars ? (Number.isInteger(tick) ? chart.labels[tick] ?? "" : "") : words(tick))),
          space: bars ? 80 : 70, incrs: bars || chart.columns[0].at(-1) < 4 ? undefined : TIMES },
        { ...axis, values: (_, ticks) => ticks.map((tick) => short(tick, chart.unit)), size: 60 },
      ],
    };
    drawn.set(chart.id, new uPlot(options, chart.columns, place));
  }
  const drawAll = () => charts.forEach(draw);
  drawAll();
  let width = document.documentElement.clientWidth;
  addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    for (const chart of charts) {
      drawn.get(chart.id).setSize({ width: Math.max(200, document.getElementById(`chart-${chart.id}`).clientWidth), height: 260 });
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  matchMedia("print").addEventListener("change", drawAll);

  const table = document.getElementById("servers");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const found = document.getElementById("found");
  const search = document.getElementById("search");
  function show() {
    const wanted = search.value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      count += !row.hidden;
    }
    found.textContent = `${count} of ${rows.length} servers`;
  }
  function key(row, column, numeric) {
    const cell = row.cells[column];
    return numeric ? Number(cell.dataset.value ?? 0) : cell.textContent;
  }
  heads.forEach((head, column) => {
    const numeric = head.classList.contains("number");
    head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : numeric;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, other) => {
        const [a, b] = [key(one, column, numeric), key(other, column, numeric)];
        return (numeric ? a - b : a.localeCompare(b)) * (down ? -1 : 1);
      };
      body.append(...rows.sort(order));
    });
  });
  search.addEventListener("input", show);
  show();
})();
