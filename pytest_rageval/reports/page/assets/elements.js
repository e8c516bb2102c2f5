// Elements are made one by one and filled with text: nothing that comes from data is ever parsed.

const SVG = "http://www.w3.org/2000/svg";

/** An element; attributes that are functions are listeners, null and false ones are left out. */
function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(3).filter((child) => child !== null && child !== undefined && child !== ""),
  );
  return element;
}

/** Text that comes from data, in its own direction: marks in it cannot turn what is around. */
function given(text) {
  const parts = text.split(BREAKS).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));
  return el("bdi", { dir: "auto" }, parts);
}

/** Where a line may end in a name: between its words, inside of those of 25 characters or more. */
const BREAKS =
  /(?<=[_/|]|\S\()(?=.)|(?<=[.:])(?=\p{L}{5})|(?<=\p{Ll}{2})(?=\p{Lu})|(?<=[\p{Ll}\p{N}]{24}|[\p{Lu}\p{N}]{24})(?=.)/u;

/** The words for a key, with what stands in `{braces}` set apart where it comes from data. */
function sayGiven(key, figures) {
  const parts = (WORDS[language][key] ?? WORDS.en[key]).split(/\{(\w+)\}/);
  return parts.map((part, at) => (at % 2 ? given(String(figures[part])) : part));
}

function textAt(run, number) {
  const text = run.data.texts[number];
  return typeof text === "string" ? text : text[0];
}

/** As much of a text as a table shows. */
function beginning(run, number) {
  return number < 0 ? "" : textAt(run, number).slice(0, 300);
}

/** The whole text or its beginning, with a note where it was cut. */
function longText(run, number) {
  const text = run.data.texts[number];
  if (typeof text === "string") return plainText(text);
  return cutText(...text);
}

/** The beginning of a text, with the length of all of it in characters. */
function cutText(shown, length) {
  const cut = say("cut_text", { shown: grouped([...shown].length), length: grouped(length) });
  return [plainText(shown), el("p", { class: "note" }, cut)];
}

const LONG_PLAIN = 500; // characters, of a text that may scroll in its box on a phone

function plainText(text) {
  if (text === "") return el("p", { class: "text none" }, say("empty_text"));
  const tabindex = text.length > LONG_PLAIN ? "0" : null;
  return el("p", { class: "text", dir: "auto", tabindex }, text);
}

function noText() {
  return el("p", { class: "text none" }, say("missing_text"));
}

/** A numbered list of texts that are made already. */
function textList(made) {
  return el(
    "ol",
    { class: "texts" },
    made.map((text) => el("li", {}, text)),
  );
}

/** A part of a sample, with its heading. */
function block(key, content) {
  return el("section", { class: "block" }, el("h3", {}, say(key)), content);
}

function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A text to search in or for: any case, full width as half width. */
function searchable(text) {
  return text.normalize("NFKC").toLowerCase();
}

/** A moment of ISO 8601, to the second. */
function moment(text) {
  return `${text.replace("T", " ").replace(/\.\d+|\+00:00/g, "")} UTC`;
}

function button(label, onclick, attributes) {
  return el("button", { type: "button", click: onclick, ...attributes }, label);
}

const SIGNS = {
  good: "✓",
  warn: "!",
  bad: "✕",
  passed: "✓",
  failed: "✕",
  error: "⚠",
  skipped: "–",
  xfailed: "≈",
  partial: "?",
  unjudged: "?",
  stopped: "■",
};

/** A sign is not read out: a word beside it says the same. */
function signOf(mark) {
  return el("span", { class: "sign", "aria-hidden": "true" }, mark);
}

/** A word with a sign and a colour: for a band or an outcome. */
function badge(kind, attributes, word = kind) {
  return badgeWith(kind, SIGNS[kind], say(word), attributes);
}

function badgeWith(kind, mark, words, attributes) {
  return el("span", { class: `badge ${kind}`, ...attributes }, signOf(mark), " ", words);
}

/** What somebody wrote about a scenario, null for nothing. */
function description(text) {
  return text ? el("p", { class: "description", dir: "auto" }, text) : null;
}

/** How a sample ended; where nothing could fail it, the band of its score in place of "passed". */
function stateBadge(state, at) {
  const outcome = state.outcomes[at];
  // No mark of the row: a gate decides how many of these may be.
  if (failsWithLeave(state, at)) return badge(outcome, {}, "tolerated");
  if (outcome !== "passed" || canFail(state.run)) return badge(outcome);
  return bandBadge(state.run, WEIGHTED, state.weighted[at]);
}

/** Whether samples pass or fail by themselves, not only by gates over all of them. */
function canFail({ data, metrics }) {
  const { thresholds, is_of_file: isOfFile } = data.scenario;
  return !isOfFile || thresholds.length > 0 || metrics.some(({ refused }) => refused.length);
}

function bandBadge(run, target, score) {
  const band = bandOf(run, target, score);
  if (band === null && score !== null) return el("span", { class: "badge none" }, fixed(score));
  return bandOrNone(band);
}

function bandOrNone(band) {
  return band === null ? el("span", { class: "badge none" }, say("no_score")) : badge(band);
}

/** A score with the sign of its band, for tables: the sign is read out as a word. */
function bandedScore(run, target, score) {
  const band = bandOf(run, target, score);
  if (band === null) return el("span", { class: "none" }, score === null ? "–" : fixed(score));
  return scoreWithSign(score, band);
}

function scoreWithSign(score, band) {
  return el(
    "span",
    { class: `score ${band}` },
    fixed(score),
    " ",
    signOf(SIGNS[band]),
    el("span", { class: "unseen" }, ` ${say(band)}`),
  );
}

function nameOf(target) {
  return target === WEIGHTED ? say("weighted_score") : target;
}

function shownValue(run, number, field) {
  const text = textAt(run, number);
  if (text === "(none)") return say("none_value");
  return isCause(run, field) ? say(`value_${text}`) : text;
}

/** Whether a field holds the causes of low answers; without them it is a column of the data. */
function isCause(run, field) {
  return run.data.scenario.diagnoses && field === "cause";
}

function fieldName(run, field) {
  return isCause(run, field) ? say("cause") : field;
}

function figure(value) {
  return value === null ? "–" : fixed(value);
}

/** A section with a heading, which the links at the top lead to. */
function section(id, ...children) {
  const heading = el("h2", { id: `${id}-title` }, say(id));
  return el("section", { id, "aria-labelledby": `${id}-title` }, heading, ...children);
}

function notice(...words) {
  return el("p", { class: "notice", role: "note" }, ...words);
}

function hint(...words) {
  return el("p", { class: "hint" }, ...words);
}

/** A list of pairs: a name and its value. */
function definitions(pairs, attributes) {
  const rows = pairs.map(([name, ...value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, ...value)),
  );
  return el("dl", attributes, rows);
}

/** A choice among `options` ({value, label}); `onchange` gets the value. */
function choice(label, options, chosen, onchange) {
  const made = options.map(({ value, label: text }) =>
    el("option", { value, selected: value === chosen }, text),
  );
  const select = el("select", { change: (event) => onchange(event.target.value) }, made);
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

/** The head of a column of figures, which stand to the right. */
function numberHead(words) {
  return el("th", { scope: "col", class: "number" }, words);
}

function table(caption, heads, rows, attributes) {
  const head = el(
    "tr",
    {},
    heads.map((cell) => (cell instanceof Node ? cell : el("th", { scope: "col" }, cell))),
  );
  const made = el(
    "table",
    attributes,
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, head),
    el("tbody", {}, rows),
  );
  nameRoles(made);
  return el("div", { class: "scroll", role: "group", "aria-label": caption, tabindex: "0" }, made);
}

const ROLES = {
  table: "table",
  thead: "rowgroup",
  tbody: "rowgroup",
  tr: "row",
  td: "cell",
  "th[scope=col]": "columnheader",
  "th[scope=row]": "rowheader",
};

/** On a phone rows are laid out as cards; said outright, they stay rows for a screen reader. */
function nameRoles(made) {
  made.setAttribute("role", ROLES.table);
  for (const [selector, role] of Object.entries(ROLES)) {
    for (const part of made.querySelectorAll(selector)) part.setAttribute("role", role);
  }
}

function targetsOf(run) {
  return [WEIGHTED, ...run.metrics.map((metric) => metric.name)];
}

function targetChoice(run, chosen, onchange) {
  const options = targetsOf(run).map((target) => ({ value: target, label: nameOf(target) }));
  return choice(say("metric"), options, chosen, onchange);
}
