// Numbers and strangers' texts for people. Texts reach the page only as text nodes.

/** Characters that are invisible or turn the direction of what follows: shown as their number. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const LONGEST = 400;

/** A stranger's text: cut, and without characters that could deceive. */
export function clean(text) {
  const cut = String(text).slice(0, LONGEST);
  const shown = cut.replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return String(text).length > LONGEST ? `${shown}…` : shown;
}

/** An element with children: texts become text nodes. */
export function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A stranger's text in an element of its own direction. */
export const alien = (text) => el("bdi", {}, clean(text));

export function count(value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  if (size >= 1) return value.toFixed(1);
  return size === 0 ? "0" : value.toPrecision(2);
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return value <= 0 ? "now" : `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  return value < 172800 ? `${(value / 3600).toFixed(1)} h` : `${(value / 86400).toFixed(1)} d`;
}

export const ago = (value) => (value === null || value === undefined ? "–" : `${seconds(value).replace("now", "0 s")} ago`);

export const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(0)}%`);

/** A stretch of time beside an axis: `30 s`, `1:30 min`, `2 h`. */
export function stretch(value) {
  if (value < 60) return `${+value.toFixed(1)} s`;
  if (value >= 86400) return `${+(value / 86400).toFixed(1)} d`;
  const [size, unit] = value < 3600 ? [60, "min"] : [3600, "h"];
  const sixtieths = Math.round((60 * value) / size);
  const [whole, rest] = [Math.floor(sixtieths / 60), sixtieths % 60];
  return rest ? `${whole}:${String(rest).padStart(2, "0")} ${unit}` : `${whole} ${unit}`;
}

/** Hours and minutes, of a stretch of more than two days the date. */
export function moment(at, stretch) {
  const date = new Date(at * 1000);
  const day = { month: "short", day: "numeric" };
  const time = { hour: "2-digit", minute: "2-digit", second: stretch < 300 ? "2-digit" : undefined, hour12: false };
  return stretch > 172800 ? date.toLocaleDateString("en", day) : date.toLocaleTimeString("en-GB", time);
}

export const clock = (at) => new Date(at * 1000).toLocaleTimeString("en-GB");
