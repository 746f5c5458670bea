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

/** A reason as people write it. */
export const titled = (reason) => reason.replaceAll("_", " ");

/** What was not measured. */
const NONE = "–";
const isMissing = (value) => value === null || value === undefined || !Number.isFinite(value);
const UNITS = ["", " k", " M", " G", " T"];

/** At most three digits, and a unit: `1.54 k`. */
function short(value, units, base = 1000) {
  let unit = 0;
  while (Math.abs(value) >= (unit ? 999.5 : base - 0.5) && unit < units.length - 1) { value /= 1000; unit += 1; }
  const digits = Math.abs(value) >= 99.95 || (unit === 0 && Number.isInteger(value)) ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)}${units[unit]}`;
}

export const count = (value) => (isMissing(value) ? NONE : short(Math.round(value), UNITS));

/** All digits: where somebody counts. */
export const exact = (value) => (isMissing(value) ? NONE : Math.round(value).toLocaleString("en"));

export function number(value) {
  if (isMissing(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 1 || value === 0) return short(value, UNITS);
  return size < 0.001 ? "< 0.001" : String(+value.toPrecision(2));
}

export const bytes = (value) => (isMissing(value) ? NONE : short(Math.round(value), [" B", " kB", " MB", " GB", " TB"]));

export function seconds(value) {
  if (isMissing(value)) return NONE;
  if (value < 0.9995) return value <= 0 ? "0 s" : `${+(value * 1000).toPrecision(value < 0.01 ? 2 : 3)} ms`;
  if (value < 120) return `${value.toFixed(value < 9.95 ? 1 : 0)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  return value < 172800 ? `${(value / 3600).toFixed(1)} h` : `${(value / 86400).toFixed(value < 864000 ? 1 : 0)} d`;
}

/** The time until something may happen. */
export const wait = (value) => (isMissing(value) ? NONE : value <= 0 ? "now" : seconds(value));

export const ago = (value) => (isMissing(value) ? NONE : `${seconds(value)} ago`);

/** `45 s`, `12 min 5 s`, `3 h 20 min`, `5 d 3 h`. */
export function elapsed(value) {
  if (isMissing(value)) return NONE;
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  let left = Math.floor(value);
  const first = Math.max(0, units.findIndex(([size]) => left >= size));
  if (left < 1) return "0 s";
  return units.slice(first, first + 2).map(([size, unit]) => { const whole = Math.floor(left / size); left -= whole * size; return whole ? `${whole} ${unit}` : ""; }).filter(Boolean).join(" ");
}

export function percent(value) {
  if (isMissing(value)) return NONE;
  return value > 0 && value < 0.0995 ? `${(100 * value).toFixed(1)}%` : `${(100 * value).toFixed(0)}%`;
}

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

export const clock = (at) => (isMissing(at) ? NONE : new Date(at * 1000).toLocaleTimeString("en-GB"));

/** Day and time, to the minute. */
export const day = (at) => (isMissing(at) || !at ? NONE : new Date(at * 1000).toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }));
