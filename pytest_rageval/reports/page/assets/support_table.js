// Statements by sources: a sign and a word for each cell, and under a row why it is not full.

const ORIGINS = ["sentence", "claim", "reference_claim", "nugget"];
const SOURCES = ["contexts", "reference", "answer", "history"];
const LEVEL_SIGNS = { full: "✓", partial: "½", none: "✕", failed: "⚠", unasked: "–" };

/**
 * The table of a sample: {sources, rows: [{statement, cells, fault}]}; null where there is none. A
 * source knows how places are named: as `[2]`, or in full where answers mean something else by that.
 */
function supportOf(run, at) {
  run.support ??= new Map(run.data.support.tables);
  const found = run.support.get(at);
  if (!found) return null;
  if (!found.rows) {
    const byPlace = found.cited_by_place !== false;
    for (const source of found.sources) source.named = byPlace ? "" : "contexts";
    const row = (statement, at) => ({ statement, cells: found.cells[at] ?? [] });
    found.rows = found.statements.map(row);
    for (const made of found.rows) made.fault = faultOf(found, made);
  }
  return found;
}

function isTableLeft(run, at) {
  run.supportLeft ??= new Set(run.data.support.left);
  return run.supportLeft.has(at);
}

/** The level of a cell: `unasked` where nothing is known, or a word that this page does not know. */
function levelIn(row, column) {
  const level = row.cells[column]?.[0];
  return Object.hasOwn(LEVEL_SIGNS, level ?? "") ? level : "unasked";
}

/** What a source is called, as answers cite it: `[2]`, `[1, 3]`, or a word; else `contexts[2]`. */
function sourceName({ kind, index, named }) {
  if (index.length) return `${named}[${index.join(", ")}]`;
  return SOURCES.includes(kind) ? say(`source_${kind}`) : kind;
}

/** The documents of a source, "" where they are not known. */
function documentsOf({ docs = [] }) {
  return [...new Set(docs.filter(Boolean))].join(say("comma"));
}

function isCited({ statement }, { kind, index }) {
  return kind === "contexts" && index.length > 0 && index.every((place) => statement.cites.includes(place));
}

/** In a sample's detail: what is wrong, then the table. */
function supportBlock(run, at) {
  const found = supportOf(run, at);
  if (!found) return isTableLeft(run, at) ? block("support", hint(say("support_left"))) : null;
  const parts = [faultList(run, at, found, Infinity), supportMatrix(found)];
  return block("support", el("div", { class: "support-of" }, parts));
}

function supportMatrix(found) {
  const columns = [...found.sources.keys()];
  const heads = columns.map((column) => sourceHead(found.sources[column]));
  const known = ORIGINS.filter((origin) => found.rows.some(({ statement }) => statement.of === origin));
  const others = found.rows.some(({ statement }) => !ORIGINS.includes(statement.of)) ? [null] : [];
  const groups = [...known, ...others].map((origin) => originRows(found, columns, origin));
  const made = table(say("support"), [say("statement"), ...heads], groups, { class: "support" });
  return [el("p", { class: "note narrow" }, say("only_asked")), made];
}

function sourceHead(source) {
  const documents = el("span", { class: "note" }, given(documentsOf(source)));
  return el("th", { scope: "col" }, sourceName(source), documents);
}

function originRows(found, columns, origin) {
  const isOf = ({ statement }) => (ORIGINS.includes(statement.of) ? statement.of : null) === origin;
  const name = say(origin ? `of_${origin}` : "statement");
  const title = el("th", { scope: "row", colspan: columns.length + 1 }, name);
  const rows = found.rows.filter(isOf).flatMap((row) => statementRows(found, columns, row));
  return [el("tr", { class: "origin" }, title), ...rows];
}

function statementRows(found, columns, row) {
  const { statement } = row;
  const importance = importanceOf(statement);
  const note = importance ? el("span", { class: "note" }, " (", importance, ")") : null;
  const words = [`${statement.number}. `, given(statement.text), note];
  const cells = columns.map((column) => levelCell(row, found.sources[column], column));
  const made = el("tr", { class: row.fault ? "wrong" : null }, el("th", { scope: "row" }, words), cells);
  const why = reasonList(found, row, columns);
  if (!why) return [made];
  const summary = el("summary", {}, say("why_not", { n: why.childElementCount }));
  const fold = el("details", { open: row.fault !== null }, summary, why);
  return [made, el("tr", { class: "reasons" }, el("td", { colspan: columns.length + 1 }, fold))];
}

function importanceOf({ importance }) {
  if (!importance) return "";
  return ["vital", "okay"].includes(importance) ? say(`importance_${importance}`) : given(importance);
}

function levelCell(row, source, column) {
  const level = levelIn(row, column);
  const cited = isCited(row, source);
  return el(
    "td",
    { class: `level ${level}${cited ? " cited" : ""}`, "data-name": sourceName(source) },
    levelSaid(level),
    cited ? el("span", { class: "note" }, ` ${say("cited")}`) : null,
  );
}

function levelSaid(level) {
  const sign = signOf(LEVEL_SIGNS[level]);
  return el("span", { class: `level-words ${level}` }, sign, " ", say(`level_${level}`));
}

/** Why cells of a row are not full, those of the cited sources first; null where nothing is said. */
function reasonList(found, row, columns) {
  const said = [...columns].filter((column) => row.cells[column]?.[1]);
  if (!said.length) return null;
  const byCited = said.sort((a, b) => isCited(row, found.sources[b]) - isCited(row, found.sources[a]));
  return el(
    "ul",
    { class: "why-not" },
    byCited.map((column) =>
      el(
        "li",
        {},
        el("span", { class: "note" }, sourceName(found.sources[column]), " "),
        levelSaid(levelIn(row, column)),
        say("colon"),
        given(row.cells[column][1]),
      ),
    ),
  );
}
