// What is wrong by a support table: a citation that does not hold, a claim of nobody, what is missing.

const MOST_FAULTS = 5; // open on a card
const MOST_REASONS = 3;
const MOST_TEXTS = 3; // of contexts, beside a statement
const BEST_FIRST = ["full", "partial", "none", "failed"];

/**
 * What is wrong with a row: {level, rank, words, columns, places}; null where nothing is. `columns`
 * are those whose reasons tell why, `places` the contexts to read beside it.
 */
function faultOf(found, row) {
  const { of } = row.statement;
  return Object.hasOwn(FAULTS, of) ? FAULTS[of](found, row) : null;
}

const FAULTS = {
  sentence: sentenceFault,
  claim: claimFault,
  reference_claim: missingFault,
  nugget: missingFault,
};

/** The columns of some kinds of sources that were asked of a row. */
function askedColumns({ sources }, row, ...kinds) {
  return sources.flatMap(({ kind }, column) =>
    kinds.includes(kind) && levelIn(row, column) !== "unasked" ? [column] : [],
  );
}

/** The best level in some columns; undefined for none. */
function bestOf(row, columns) {
  return BEST_FIRST.find((level) => columns.some((column) => levelIn(row, column) === level));
}

function fullOf(row, columns) {
  return columns.filter((column) => levelIn(row, column) === "full");
}

function namesOf({ sources }, columns) {
  return columns.map((column) => sourceName(sources[column])).join(say("comma"));
}

/** What failed is not known, but where another source supports it. */
function hasFailed(row, columns) {
  return bestOf(row, columns) !== "full" && columns.some((column) => levelIn(row, column) === "failed");
}

function fault(level, rank, words, columns, places = []) {
  return { level, rank, words, columns, places };
}

function sentenceFault(found, row) {
  const { cites, lost = [] } = row.statement;
  // Of these no source was asked, or only some: no others make up for what does not exist.
  if (lost.length) {
    const named = () => lost.map((one) => `[${one}]`).join(say("comma"));
    return fault("none", 1, () => sayGiven("fault_lost", { lost: named() }), []);
  }
  if (!cites.length) return fault("none", 4, () => say("fault_uncited"), []);
  const asked = askedColumns(found, row, "contexts").filter((column) => isCited(row, found.sources[column]));
  const together = asked.filter((column) => found.sources[column].index.length === cites.length);
  const deciding = together.length ? together : asked;
  const best = hasFailed(row, deciding) ? "failed" : bestOf(row, deciding);
  if (best === undefined || best === "full") return null;
  // Of many citations, only the first may have been asked.
  const seen = cites.filter((place) => deciding.some((column) => found.sources[column].index.includes(place)));
  const sources = sourceName({ ...found.sources[deciding[0]], index: seen });
  const words = () => say(`fault_cited_${best}`, { sources });
  return fault(best, { failed: 0, none: 1, partial: 2 }[best], words, asked, seen.slice(0, MOST_TEXTS));
}

function claimFault(found, row) {
  const evidence = askedColumns(found, row, "contexts", "history");
  const reference = askedColumns(found, row, "reference");
  if (hasFailed(row, evidence) || hasFailed(row, reference)) {
    return unknownFault(row, [...evidence, ...reference]);
  }
  const [inSome, inReference] = [fullOf(row, evidence), fullOf(row, reference)];
  const columns = [...reference, ...evidence].filter((column) => levelIn(row, column) !== "full");
  const level = bestOf(row, columns);
  const inPart = contextPlaces(found, evidence.filter((column) => levelIn(row, column) === "partial"));
  if (evidence.length && !inSome.length) {
    if (inReference.length) return fault(level, 3, () => say("fault_no_context_right"), columns, inPart);
    const key = reference.length ? "fault_nowhere" : "fault_no_context";
    return fault(level, 1, () => say(inPartOf(key, level)), columns, inPart);
  }
  if (!reference.length || inReference.length) return null;
  const key = inSome.length ? "fault_wrong_from" : inPartOf("fault_wrong", level);
  const words = () => say(key, { sources: namesOf(found, inSome) });
  return fault(level, 2, words, reference, contextPlaces(found, inSome));
}

/** The words for what some source has in part. */
function inPartOf(key, level) {
  return level === "partial" ? `${key}_partial` : key;
}

function missingFault(found, row) {
  const answer = askedColumns(found, row, "answer");
  const contexts = askedColumns(found, row, "contexts", "history");
  const deciding = answer.length ? answer : contexts;
  if (!deciding.length || fullOf(row, deciding).length) return null;
  if (hasFailed(row, deciding)) return unknownFault(row, deciding);
  const having = fullOf(row, contexts);
  const best = bestOf(row, deciding);
  const rank = row.statement.importance === "okay" ? 3 : best === "partial" ? 2 : 1;
  if (!answer.length) return fault(best, rank, () => say(inPartOf("fault_no_context", best)), contexts);
  const isNowhere = contexts.length && !having.length && !hasFailed(row, contexts);
  const where = having.length ? "_had" : isNowhere ? "_nowhere" : "";
  const key = `fault_${best === "partial" ? "partly" : "missing"}${where}`;
  return fault(best, rank, () => say(key, { sources: namesOf(found, having) }), answer, contextPlaces(found, having));
}

function unknownFault(row, columns) {
  const failed = columns.filter((column) => levelIn(row, column) === "failed");
  return fault("failed", 0, () => say("fault_unknown"), failed);
}

/** The place of the first context in some columns, as a list: one text tells enough. */
function contextPlaces({ sources }, columns) {
  return columns.flatMap((column) => sources[column].index).slice(0, 1);
}

/** On a card: what is wrong, open, and the table folded; null where the page has no table. */
function supportOnCard(run, at) {
  const found = supportOf(run, at);
  if (!found) return isTableLeft(run, at) ? hint(say("support_left")) : null;
  const size = { rows: found.rows.length, columns: found.sources.length };
  const fill = ({ target }) => {
    if (target.open && target.childElementCount === 1) target.append(...supportMatrix(found));
  };
  const fold = el("details", { toggle: fill }, el("summary", {}, say("support_all", size)));
  return el("div", { class: "support-of" }, faultList(run, at, found, MOST_FAULTS), fold);
}

function faultList(run, at, found, most) {
  const wrong = found.rows.filter((row) => row.fault).sort((a, b) => a.fault.rank - b.fault.rank);
  if (!wrong.length) return found.rows.length ? el("p", { class: "note" }, say("support_right")) : null;
  const made = (rows) => el("ul", { class: "faults" }, rows.map((row) => faultItem(run, at, found, row)));
  const rest = wrong.slice(most);
  const more = rest.length
    ? el("details", {}, el("summary", {}, say("more_faults", { n: rest.length })), made(rest))
    : null;
  return [el("h4", {}, say("support_wrong", { n: wrong.length })), made(wrong.slice(0, most)), more];
}

function faultItem(run, at, found, row) {
  const { statement, fault: { level, words, columns, places } } = row;
  const kind = { partial: "warn", failed: "error" }[level] ?? "bad";
  const sign = signOf(LEVEL_SIGNS[level]);
  const importance = importanceOf(statement);
  const place = [say(`one_${statement.of}`, statement), importance ? [say("comma"), importance] : null];
  const head = el(
    "p",
    { class: "cell-head" },
    el("span", { class: `badge ${kind}` }, sign, " ", words()),
    el("span", { class: "note" }, place),
  );
  const said = el("p", { class: "stated", dir: "auto" }, statement.text);
  const telling = [...columns].sort((a, b) => tellingRank(row, a) - tellingRank(row, b));
  const why = reasonList(found, row, telling.slice(0, MOST_REASONS));
  const texts = places.map((place) => sourceText(run, at, found, place, statement.text)).filter(Boolean);
  return el(
    "li",
    { "data-fault": level },
    head,
    el("div", { class: "pair" }, el("div", {}, said, why), texts.length ? el("div", {}, texts) : null),
  );
}

/** What is there in part tells more than what is not there at all. */
function tellingRank(row, column) {
  return ["partial", "failed", "none"].indexOf(levelIn(row, column));
}

/** What a context says: the passage closest to the statement, and the whole of it folded. */
function sourceText(run, at, found, place, statement) {
  const held = found.contexts?.[place];
  const number = held === undefined ? run.data.contexts[at]?.[place - 1] : undefined;
  if (held === undefined && !(number >= 0)) return null;
  const text = held === undefined ? textAt(run, number) : typeof held === "string" ? held : held[0];
  const whole = () => (held === undefined ? longText(run, number) : wholeOf(held));
  const docs = found.sources.find(({ index }) => index.length === 1 && index[0] === place) ?? {};
  const called = sourceName({ ...found.sources[0], index: [place] });
  const name = `${called}${documentsOf(docs) && ` ${documentsOf(docs)}`}`;
  const passage = closestPassage(text, statement);
  const fill = ({ target }) => {
    if (target.open && target.childElementCount === 1) target.append(...[whole()].flat());
  };
  return [
    el("h4", {}, sayGiven("source_says", { source: name })),
    el("p", { class: "passage", dir: "auto" }, passage),
    passage === text ? null : el("details", { toggle: fill }, el("summary", {}, say("whole_source"))),
  ];
}

function wholeOf(held) {
  return typeof held === "string" ? plainText(held) : cutText(...held);
}

const LONG_PASSAGE = 400; // characters

/** The sentence of a text that shares most words with another, with its neighbours; cut where long. */
function closestPassage(text, other) {
  if (text.length <= LONG_PASSAGE) return text;
  const parts = text.match(/[^.!?。！？\n]+(?:[.!?。！？]+|\n+|$)|[.!?。！？\n]+/gu) ?? [text];
  const bag = bagOf(other);
  const shares = parts.map((part) => sharedWords(bag, bagOf(part)));
  const best = shares.indexOf(Math.max(...shares));
  const around = [Math.max(0, best - 1), Math.min(parts.length, best + 2)];
  const isLong = parts.slice(...around).join("").length > LONG_PASSAGE;
  const [start, end] = isLong ? [best, best + 1] : around;
  const shown = parts.slice(start, end).join("").trim();
  const isCut = end < parts.length || shown.length > LONG_PASSAGE;
  return `${start > 0 ? "… " : ""}${shown.slice(0, LONG_PASSAGE)}${isCut ? " …" : ""}`;
}

/**
 * The answer in parts, `new` where it says what its sources do not support; null where none of that
 * is found in it. Citations in it do not count as words.
 */
function unsupportedParts(run, at, text) {
  const found = supportOf(run, at);
  const wrong = (found?.rows ?? []).filter((row) => isUnsupported(found, row));
  if (!wrong.length) return null;
  const markers = [...text.matchAll(/\[[^\]\n]{1,60}\]|【[^】\n]{1,60}】/gu)];
  const isOutside = ({ from }) =>
    !markers.some(({ 0: marker, index }) => from >= index && from < index + marker.length);
  const words = wordsOf(text).filter(isOutside);
  const places = spansInAnswer(words, found.rows);
  const spans = wrong.map((row) => places.get(row)).filter(Boolean);
  if (!spans.length) return null;
  const parts = [];
  let shown = 0;
  for (const [from, to] of spans.sort(([a], [b]) => a - b)) {
    if (from < shown) continue;
    parts.push({ kind: "same", text: text.slice(shown, from) }, { kind: "new", text: text.slice(from, to) });
    shown = to;
  }
  return [...parts, { kind: "same", text: text.slice(shown) }];
}

/** Whether it is a sentence that its citation does not support, or a claim that nothing supports. */
function isUnsupported(found, row) {
  const { fault: wrong, statement, cells } = row;
  if (!wrong?.columns.length || wrong.level === "failed") return false;
  if (statement.of === "sentence") return true;
  const isAsked = askedColumns(found, row, "contexts", "history").length > 0;
  return statement.of === "claim" && isAsked && !fullOf(row, [...cells.keys()]).length;
}

/** By row where it stands in the answer: sentences one after another, as equal ones may be in it. */
function spansInAnswer(words, rows) {
  const places = new Map();
  let next = 0;
  for (const row of rows) {
    const isSentence = row.statement.of === "sentence";
    const wanted = wordsOf(row.statement.text);
    const at = firstPlaceOf(words, wanted, isSentence ? next : 0);
    if (at < 0) continue;
    places.set(row, [words[at].from, words[at + wanted.length - 1].to]);
    if (isSentence) next = at + wanted.length;
  }
  return places;
}

/** At which word, from `start` on, some words stand in a row among others; -1 where they do not. */
function firstPlaceOf(words, wanted, start) {
  if (!wanted.length) return -1;
  const isAt = (at) => wanted.every(({ key }, by) => words[at + by]?.key === key);
  return words.findIndex((_, at) => at >= start && isAt(at));
}
