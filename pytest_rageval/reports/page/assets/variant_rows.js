// The answers of all variants to each question, side by side: found, filtered, and marked where they differ.

const ROWS_AT_ONCE = 10;
const WHICH = ["all", "differ", "beats", "all_fail", "some_fail"];
const LONG_TEXT = 600; // characters: a text that scrolls in its box

function noRowFilters() {
  return { search: "", which: "all", a: 0, b: 1, cause: "", doc: "", only: null, page: 0 };
}

function answersSection(app) {
  app.rows = el("div", { class: "rows" });
  app.filters = el("div", { class: "controls" });
  app.filters.append(...rowControls(app).flat().filter(Boolean));
  const made = section("answers", hint(failureWords(app)), app.filters, columnButtons(app), app.rows);
  drawRows(app);
  return made;
}

/** What it means here that an answer fails, or is low. */
function failureWords({ columns }) {
  const runs = columns.map(({ run }) => run);
  const unbound = runs.filter((run) => !run.data.scenario.thresholds.length);
  const bound = [...new Set(unbound.map((run) => short(run.data.scenario.bands[1])))].join(" / ");
  return [
    runs.some(isJudged) ? [say("fails_are"), say("gap")] : null,
    unbound.length ? say("low_are", { bound }) : null,
  ];
}

/** Whether answers pass or fail by themselves: without thresholds all that were scored pass. */
function isJudged({ data, metrics }) {
  return data.scenario.thresholds.length > 0 || metrics.some(({ refused }) => refused.length);
}

/** "fail" becomes "low" where no answer can fail. */
function whichWords({ columns }, which) {
  const isLow = !columns.some(({ run }) => isJudged(run));
  return say(`which_${isLow ? which.replace("_fail", "_low") : which}`);
}

function rowControls(app) {
  const { table: wanted } = app;
  const set = (key) => (value) => app.filter({ [key]: value });
  const setNumber = (key) => (value) => app.filter({ [key]: Number(value) });
  const options = (values, label) => values.map((value) => ({ value, label: label(value) }));
  const columns = app.columns.map(({ name }, at) => ({ value: String(at), label: name }));
  const pick = (key) => choice(say(`side_${key}`), columns, String(wanted[key]), setNumber(key));
  const sides = el("div", { class: "group", hidden: wanted.which !== "beats" }, pick("a"), pick("b"));
  const which = (value) => {
    sides.hidden = value !== "beats";
    app.filter({ which: value });
  };
  const search = el("input", {
    type: "search",
    id: "search",
    placeholder: say("search_hint"),
    value: wanted.search,
    dir: "auto",
    input: (event) => app.filter({ search: event.target.value }),
  });
  const basis = [{ value: "-1", label: say("nothing") }, ...columns];
  const keep = (key, as) => (value) => app.view({ [key]: as(value) });
  const orders = options(["spread", "data"], (value) => say(`order_${value}`));
  return [
    el("label", { class: "choice search", for: "search" }, el("span", {}, say("search")), search),
    choice(say("which"), options(WHICH, (value) => whichWords(app, value)), wanted.which, which),
    sides,
    app.causes.length ? choice(say("cause"), causeOptions(app), wanted.cause, set("cause")) : null,
    app.docs.length ? choice(say("doc"), docOptions(app), wanted.doc, set("doc")) : null,
    choice(say("order"), orders, app.shown.order, keep("order", String)),
    choice(say("against"), basis, String(app.shown.against), keep("against", Number)),
  ];
}

function causeOptions({ causes }) {
  const any = { value: "", label: say("any") };
  return [any, ...causes.map((value) => ({ value, label: say(`value_${value}`) }))];
}

function docOptions({ docs }) {
  const any = { value: "", label: say("any") };
  return [any, ...docs.map((name) => ({ value: name, label: name.slice(0, 100) }))];
}

/** Which columns are shown; the last one cannot be hidden. */
function columnButtons(app) {
  if (app.columns.length < 3) return null;
  const toggle = (at) => () => {
    const hidden = new Set(app.shown.hidden);
    if (!hidden.delete(at)) hidden.add(at);
    if (hidden.size === app.columns.length) return;
    app.view({ hidden });
    for (const [which, made] of buttons.entries())
      made.setAttribute("aria-pressed", String(!hidden.has(which)));
  };
  const buttons = app.columns.map(({ name }, at) =>
    button(given(name), toggle(at), {
      class: "toggle column",
      "aria-pressed": String(!app.shown.hidden.has(at)),
    }),
  );
  return el(
    "div",
    { class: "group columns-shown", role: "group", "aria-label": say("columns") },
    el("span", { class: "label", "aria-hidden": "true" }, say("columns")),
    buttons,
  );
}

function drawRows(app) {
  app.found = foundRows(app);
  const { found, table: wanted } = app;
  if (!found.length) {
    app.rows.replaceChildren(el("p", { class: "none", role: "status" }, say("none_found")), clearRow(app));
    return;
  }
  const page = Math.min(wanted.page, Math.ceil(found.length / ROWS_AT_ONCE) - 1);
  const shown = found.slice(page * ROWS_AT_ONCE, (page + 1) * ROWS_AT_ONCE);
  app.rows.replaceChildren(
    ...[isFiltered(app) ? clearRow(app) : null].filter(Boolean),
    ...shown.map((at) => answersRow(app, at)),
    pager(app, page, ROWS_AT_ONCE),
  );
}

function isFiltered({ table: wanted }) {
  const none = noRowFilters();
  return Object.keys(none).some((key) => !["a", "b", "page"].includes(key) && wanted[key] !== none[key]);
}

function clearRow(app) {
  return el("p", {}, button(say("clear_filters"), app.clearFilters, { class: "quiet" }));
}

/**
 * Of each row how it ended in each column, and how far the ranked scores are apart: where all have
 * one, those that were ranked, which are over the same metrics.
 */
function rowFacts(app) {
  const facts = [];
  const joined = new Map(app.joined.taken.map((at, place) => [at, place]));
  for (let at = 0; at < app.n; at++) {
    const outcomes = [];
    const failed = [];
    const scores = [];
    for (const [which, { rows, state }] of app.columns.entries()) {
      const place = rows[at];
      const own = place < 0 ? null : (rankedScores(app, state)?.[place] ?? null);
      outcomes.push(place < 0 ? null : state.outcomes[place]);
      failed.push(place >= 0 && hasFailedOrIsLow(state, place));
      scores.push(joined.has(at) ? (app.joined.scores[which]?.[joined.get(at)] ?? null) : own);
    }
    const known = scores.filter((score) => score !== null);
    const spread = known.length > 1 ? Math.max(...known) - Math.min(...known) : 0;
    const differs =
      new Set(outcomes).size > 1 ||
      spread > EQUAL_SCORES * Math.max(...known.map(Math.abs), 0) ||
      (known.length > 0 && known.length < scores.length);
    facts.push({ outcomes, failed, scores, spread, differs });
  }
  return facts;
}

/** The scores that the variants are ranked by; undefined where a variant has no such metric. */
function rankedScores({ metric }, state) {
  return metricOf(state.run, metric) && scoresOf(state, metric);
}

/** Whether an answer failed or, as is_low in pytest_rageval/stats/verdict.py has it, is low. */
function hasFailedOrIsLow(state, place) {
  if (["failed", "error"].includes(state.outcomes[place]) || state.shortfalls[place].length)
    return true;
  if (state.run.data.scenario.thresholds.length) return false;
  return bandOf(state.run, WEIGHTED, state.weighted[place]) === "bad";
}

function foundRows(app) {
  const { table: wanted, shown } = app;
  const words = searchable(wanted.search).split(/\s+/).filter(Boolean);
  const keeps = KEEPS[wanted.which];
  const found = [];
  for (let at = 0; at < app.n; at++) {
    const isFound =
      (wanted.only === null || wanted.only === at) &&
      keeps(app, app.facts[at]) &&
      (!wanted.cause || causesAt(app, at).includes(wanted.cause)) &&
      (!wanted.doc || docAt(app, at) === wanted.doc) &&
      words.every((word) => rowHaystack(app, at).includes(word));
    if (isFound) found.push(at);
  }
  if (shown.order === "data") return found;
  const { facts } = app;
  return found.sort(
    (a, b) => facts[b].differs - facts[a].differs || facts[b].spread - facts[a].spread || a - b,
  );
}

const KEEPS = {
  all: () => true,
  differ: (_, { differs }) => differs,
  beats,
  all_fail: (_, { outcomes, failed }) => {
    const ran = failed.filter((_, at) => outcomes[at] !== null && outcomes[at] !== "skipped");
    return ran.length > 0 && ran.every(Boolean);
  },
  some_fail: (_, { failed }) => failed.some(Boolean),
};

/** Whether both have a score, and that of A is the better one. */
function beats({ table: { a, b }, isUp }, { scores }) {
  if (scores[a] === null || scores[b] === null) return false;
  const difference = differenceOf(scores[a], scores[b]);
  return isUp ? difference > 0 : difference < 0;
}

/** The columns that have a row, each with where it stands there. */
function placesOf(app, at) {
  return app.columns
    .map(({ run, rows }) => ({ run, place: rows[at] }))
    .filter(({ place }) => place >= 0);
}

function causesAt(app, at) {
  return placesOf(app, at)
    .flatMap(({ run, place }) => remarksOf(run, place))
    .filter(({ kind }) => kind === "cause")
    .map(({ name }) => name);
}

function docAt(app, at) {
  for (const { run, place } of placesOf(app, at)) {
    const doc = run.data.samples.doc[place];
    if (doc >= 0) return run.data.samples.docs[doc];
  }
  return null;
}

function idAt(app, at) {
  const [{ run, place }] = placesOf(app, at);
  return run.data.samples.id[place];
}

function rowHaystack(app, at) {
  if (app.haystacks[at] === undefined) {
    const numbers = placesOf(app, at).flatMap(({ run: { data }, place }) => [
      data.question[place],
      data.answer[place],
    ]);
    const texts = [...new Set(numbers)].filter((number) => number >= 0);
    const parts = [idAt(app, at), docAt(app, at) ?? "", ...texts.map((one) => textAt(app, one))];
    app.haystacks[at] = searchable(parts.join("\n"));
  }
  return app.haystacks[at];
}

function answersRow(app, at) {
  const { data } = app;
  const places = placesOf(app, at);
  const first = (key, isThere) =>
    places.map(({ run, place }) => run.data[key][place]).find(isThere);
  const question = first("question", (number) => number >= 0) ?? -1;
  const references = first("references", (list) => list !== null && list.length);
  const id = idAt(app, at);
  const doc = docAt(app, at);
  return el(
    "article",
    { class: "side", "data-row": at, "aria-labelledby": `row-${at}` },
    el("h3", { id: `row-${at}` }, given(id)),
    doc === null ? null : el("p", { class: "note" }, given(doc.slice(0, 300))),
    question < 0 ? null : el("div", { class: "asked" }, longText({ data }, question)),
    references === undefined
      ? null
      : el("div", { class: "expected" }, el("h4", {}, say("references")), listOf({ data }, references)),
    el(
      "div",
      { class: "columns", role: "group", tabindex: "0", "aria-label": say("answers_to", { id }) },
      shownColumns(app).map((column) => answerCell(app, column, at, question)),
    ),
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
  const head = el("h4", {}, given(name));
  if (place < 0)
    return el("section", { class: "cell" }, head, el("p", { class: "none" }, say("no_row")));
  const remarks = remarksOf(run, place);
  const asked = run.data.question[place];
  return el(
    "section",
    {
      class: cellClass(app, column, place),
      "data-column": name,
    },
    el("div", { class: "cell-head" }, head, outcomeBadge(state, place), causeBadges(remarks)),
    scoreLine(app, column, place),
    asked >= 0 && asked !== question
      ? el("p", { class: "note" }, `${say("asked_here")}: `, given(textAt(app, asked)))
      : null,
    markedAnswer(app, column, at),
    remarks
      .filter(({ kind }) => kind === "error")
      .slice(0, 3)
      .map((remark) => el("p", { class: "problem" }, given(`${remark.name}: ${beginning(app, remark.text)}`))),
    cellDetails(column, place, remarks),
  );
}

/** None for an answer that only passed because nothing can make it fail. */
function outcomeBadge(state, place) {
  const outcome = state.outcomes[place];
  if (outcome !== "passed" || isJudged(state.run)) return badge(outcome);
  if (!hasFailedOrIsLow(state, place)) return null;
  const sign = el("span", { class: "sign", "aria-hidden": "true" }, SIGNS.bad);
  return el("span", { class: "badge bad" }, sign, " ", say("low"));
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

/** The score that ranks first, then those of all metrics. */
function scoreLine(app, { run, state }, place) {
  const { metric } = app;
  const others = run.metrics.map(({ name }) => name).filter((name) => name !== metric);
  const names = metricOf(run, metric) ? [metric, ...others] : others;
  return el(
    "p",
    { class: "scores-line" },
    names.map((name) =>
      el(
        "span",
        { class: name === metric ? "ranked-score" : "note" },
        given(nameOf(name)),
        " ",
        bandedScore(run, name, scoresOf(state, name)[place]),
      ),
    ),
  );
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
function cellDetails({ run, state }, place, remarks) {
  const body = el("div", {});
  const open = (event) => {
    if (!event.target.open || body.childElementCount) return;
    body.append(
      ...[
        block("scores", detailScores({ run, state }, place, remarks)),
        ...causeBlocks(run, remarks),
        block("contexts", listOf(run, run.data.contexts[place])),
        metadataBlock(run, place),
      ].filter(Boolean),
    );
  };
  return el("details", { toggle: open }, el("summary", {}, say("more_of")), body);
}
