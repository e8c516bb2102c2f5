// Which questions the page of variants shows: found, filtered, and those that differ first.

const ROWS_AT_ONCE = 10;
const WHICH = ["all", "differ", "beats", "a_fail", "all_fail", "some_fail"];

function noRowFilters() {
  return { search: "", which: "all", a: 0, b: 1, cause: "", doc: "", only: null, page: 0 };
}

function answersSection(app) {
  app.rows = el("div", { class: "rows" });
  app.filters = el("div", { class: "controls" });
  app.filters.append(...rowControls(app).flat().filter(Boolean));
  const made = section("answers", app.filters, app.rows, hint(failureWords(app)));
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
  const sides = [pick("a"), pick("b")];
  const showSides = (value) => {
    sides[0].hidden = !["beats", "a_fail"].includes(value);
    sides[1].hidden = value !== "beats";
  };
  showSides(wanted.which);
  const which = (value) => {
    showSides(value);
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
    columnButtons(app),
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
    matrix(app, shown),
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
    const ran = failed.filter((_, which) => ![null, "skipped"].includes(outcomes[which]));
    const splits = new Set(ran).size > 1; // some fail, others do not
    facts.push({ outcomes, failed, scores, spread, splits, differs });
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
    (a, b) =>
      facts[b].splits - facts[a].splits ||
      facts[b].differs - facts[a].differs ||
      facts[b].spread - facts[a].spread ||
      a - b,
  );
}

const KEEPS = {
  all: () => true,
  differ: (_, { differs }) => differs,
  beats,
  a_fail: ({ table: { a } }, { failed }) => failed[a],
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
