// The answers of all variants as a table: a row for each question, a column for each variant.

const LONG_TEXT = 600; // characters: a text that scrolls in its box
const ERRORS_SHOWN = 3;

function matrix(app, shown) {
  const columns = shownColumns(app);
  const basis = app.columns[app.shown.against];
  const head = (column) =>
    el("th", { scope: "col", class: column === basis ? "basis" : null }, given(column.name));
  const heads = [say("question"), ...columns.map(head)];
  const rows = shown.map((at) => answersRow(app, at, columns));
  const made = table(say("matrix"), heads, rows, { class: "matrix" });
  made.querySelector("table").style.setProperty("--columns", columns.length);
  return made;
}

function answersRow(app, at, columns) {
  const { data } = app;
  const places = placesOf(app, at);
  const first = (key, isThere) =>
    places.map(({ run, place }) => run.data[key][place]).find(isThere);
  const question = first("question", (number) => number >= 0) ?? -1;
  const references = first("references", (list) => list !== null && list.length);
  const doc = docAt(app, at);
  return el(
    "tr",
    { class: "side", "data-row": at },
    el(
      "th",
      { scope: "row" },
      question < 0 ? null : el("div", { class: "asked" }, longText({ data }, question)),
      references === undefined
        ? null
        : el("div", { class: "expected" }, el("h3", {}, say("references")), listOf({ data }, references)),
      el("p", { class: "note" }, el("span", { class: "id" }, given(idAt(app, at)))),
      doc === null ? null : el("p", { class: "note" }, given(doc.slice(0, 300))),
    ),
    columns.map((column) => answerCell(app, column, at, question)),
  );
}

/** The column that the others are compared with comes first, and stays in sight. */
function shownColumns({ columns, shown: { hidden, against } }) {
  const isBasis = (column) => column === columns[against];
  return columns
    .filter((_, which) => !hidden.has(which))
    .sort((a, b) => isBasis(b) - isBasis(a));
}

function answerCell(app, column, at, question) {
  const { name, run, rows, state } = column;
  const place = rows[at];
  const head = el("h3", {}, given(name));
  if (place < 0)
    return el("td", { class: "cell", "data-column": name }, head, el("p", { class: "none" }, say("no_row")));
  const remarks = remarksOf(run, place);
  const asked = run.data.question[place];
  return el(
    "td",
    {
      class: cellClass(app, column, place),
      "data-column": name,
    },
    el("div", { class: "cell-head" }, head, outcomeBadge(state, place), causeBadges(remarks)),
    brokenChecks(app, column, place, remarks),
    asked >= 0 && asked !== question
      ? el("p", { class: "note" }, `${say("asked_here")}: `, given(textAt(app, asked)))
      : null,
    markedAnswer(app, column, at),
    rankedScore(app, column, place),
    cellDetails(column, place, remarks),
  );
}

/** Which checks an answer fails, each with its figure and what the metric says of it. */
function brokenChecks(app, { run, state }, place, remarks) {
  const reasonOf = (name) => remarks.find((remark) => remark.kind === "reason" && remark.name === name);
  const errors = remarks.filter(({ kind }) => kind === "error");
  const checks = [
    ...missedChecks(state, place),
    ...(errors.length || state.outcomes[place] !== "error" ? [] : lackingScores(state, place)),
  ];
  const lines = checks.map(({ name, words }) => [given(nameOf(name)), " ", words, reasonText(app, reasonOf(name))]);
  for (const { name, text } of errors.slice(0, ERRORS_SHOWN))
    lines.push([given(name), " ", say("error"), reasonText(app, { text })]);
  return lines.length ? el("ul", { class: "checks" }, lines.map((line) => el("li", {}, line))) : null;
}

function reasonText(app, remark) {
  return remark === undefined ? null : el("p", { class: "said", dir: "auto" }, beginning(app, remark.text));
}

/**
 * Thresholds that are missed, and metrics that say no. Without thresholds, the bounds of gates that
 * a score of this answer is beyond, else the metrics that make it low.
 */
function missedChecks(state, place) {
  const { run } = state;
  const missed = state.shortfalls[place].map(({ name, value, ends }) => ({
    name,
    words: ends === null ? say("refused") : compareText(ends, value),
  }));
  if (missed.length || run.data.scenario.thresholds.length) return missed;
  const scoreOf = (name) => scoresOf(state, name)[place];
  const beyond = run.data.gates
    .filter(({ kind, target, ends }) => BOUNDING.has(kind) && scoreOf(target) !== null && !holds(ends, scoreOf(target)))
    .map(({ target: name, ends }) => ({ name, words: compareText(ends, scoreOf(name)) }));
  if (beyond.length || !hasFailedOrIsLow(state, place)) return beyond;
  return run.metrics
    .filter(({ name }) => state.weights.metrics[name] > 0 && bandOf(run, name, scoreOf(name)) === "bad")
    .map(({ name }) => ({ name, words: fixed(scoreOf(name)) }));
}

const BOUNDING = new Set(["mean", "lower_bound"]);

/** For want of what an answer has no verdict, where nothing failed. */
function lackingScores(state, place) {
  return blamedMetrics(state, place).map(({ name }) => ({ name, words: say("no_score") }));
}

/** None for an answer that only passed because nothing can make it fail. */
function outcomeBadge(state, place) {
  const outcome = state.outcomes[place];
  if (outcome !== "passed" || isJudged(state.run)) return badge(outcome);
  if (!hasFailedOrIsLow(state, place)) return null;
  return badge("bad", {}, "low");
}

function cellClass({ columns, shown }, { state, ...column }, place) {
  const isPlain = state.outcomes[place] === "passed" && !isJudged(state.run);
  const outcome = hasFailedOrIsLow(state, place) ? "low" : isPlain ? "" : state.outcomes[place];
  const basis = columns[shown.against]?.name === column.name ? " basis" : "";
  return `cell ${outcome}${basis}`;
}

function causeBadges(remarks) {
  return remarks
    .filter(({ kind }) => kind === "cause")
    .map(({ name }) => el("span", { class: "badge none cause" }, say(`value_${name}`)));
}

/** The score that ranks; the others stand in the details. */
function rankedScore({ metric }, { run, state }, place) {
  if (!metricOf(run, metric)) return null;
  const score = bandedScore(run, metric, scoresOf(state, metric)[place]);
  return el("p", { class: "ranked-score" }, given(nameOf(metric)), " ", score);
}

/** The answer, with what is only here and what is only in the column that it is compared with. */
function markedAnswer(app, column, at) {
  const number = column.run.data.answer[column.rows[at]];
  if (number < 0) return noText();
  const basis = app.columns[app.shown.against];
  const other = basis === undefined || basis === column ? -1 : answerAt(basis, at);
  if (other < 0) return scrolled(longText(app, number), textAt(app, number));
  const { name } = basis;
  const parts = other === number ? [] : differingParts(textAt(app, other), textAt(app, number));
  const said = (key) => el("p", { class: "note" }, sayGiven(key, { name }));
  if (parts === null) return [scrolled(longText(app, number), textAt(app, number)), said("too_long")];
  const changed = parts.filter(({ kind }) => kind !== "same");
  if (!changed.length) return [longText(app, number), said("same_words")];
  const isOther = !parts.some(({ kind, text }) => kind === "same" && /[\p{L}\p{N}]/u.test(text));
  if (isOther) return [scrolled(longText(app, number), textAt(app, number)), said("other_words")];
  const shown = el("p", { class: "text", dir: "auto" }, parts.map((part) => markedPart(part, name)));
  const isCut = typeof app.data.texts[number] !== "string";
  return [scrolled(shown, textAt(app, number)), isCut ? longText(app, number).at(-1) : null];
}

function answerAt({ run, rows }, at) {
  return rows[at] < 0 ? -1 : run.data.answer[rows[at]];
}

/** In a box that scrolls, which the keyboard must reach. */
function scrolled(made, text) {
  const box = Array.isArray(made) ? made[0] : made;
  if (text.length > LONG_TEXT) box.tabIndex = 0;
  return made;
}

function markedPart({ kind, text }, name) {
  if (kind === "same") return text;
  if (kind === "new") return el("ins", { "data-said": say("only_here") }, text);
  return el("del", { "data-said": say("only_there", { name }) }, text);
}

/** What is only made when it is opened: 200 cells on a page would have some thousand texts. */
function cellDetails({ name, run, state }, place, remarks) {
  const body = el("div", {});
  const open = (event) => {
    if (!event.target.open || body.childElementCount) return;
    const scores = detailScores({ run, state }, place, remarks);
    const whose = { name: say("scores"), value: `${run.data.samples.id[place]}, ${name}` };
    scores.setAttribute("aria-label", say("labelled", whose)); // there are more of them
    body.append(
      ...[
        supportBlock(run, place),
        block("scores", scores),
        ...causeBlocks(run, remarks),
        block("contexts", listOf(run, run.data.contexts[place])),
        metadataBlock(run, place),
      ].filter(Boolean),
    );
  };
  return el("details", { toggle: open }, el("summary", {}, say("more_of")), body);
}
