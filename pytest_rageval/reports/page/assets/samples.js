// The table of samples: search, filters, sorting, and pages, so that many open at once.

const PAGE_SIZE = 50;
const OUTCOMES = ["passed", "failed", "error", "xfailed", "skipped"];
const WORST_FIRST = ["error", "failed", "xfailed", "passed", "skipped"];
const BANDS = ["good", "warn", "bad"];

function samplesSection(app) {
  app.rows = el("div", { class: "rows" });
  app.filters = el("div", { class: "filters" });
  const search = el("input", {
    type: "search",
    id: "search",
    placeholder: say("search_hint"),
    value: app.table.search,
    dir: "auto",
    input: (event) => app.filter({ search: event.target.value }),
  });
  const box = el(
    "label",
    { class: "choice search", for: "search" },
    el("span", {}, say("search")),
    search,
  );
  const made = section("samples", el("div", { class: "controls" }, box), app.filters, app.rows);
  drawSamples(app);
  return made;
}

function drawSamples(app) {
  app.found = foundSamples(app);
  app.filters.replaceChildren(...filterButtons(app).flat());
  app.rows.replaceChildren(...samplesPage(app));
}

/** Samples that pass all filters, in the order asked for; other ties in dataset order. */
function foundSamples({ run, state, table: wanted }) {
  const words = searchable(wanted.search).split(/\s+/).filter(Boolean);
  const found = run.all.filter(
    (at) =>
      (!wanted.outcomes.size || wanted.outcomes.has(state.outcomes[at])) &&
      (!wanted.bands.size || wanted.bands.has(bandOf(run, WEIGHTED, state.weighted[at]))) &&
      (!wanted.slice || run.fields.get(wanted.slice.field).at[at] === wanted.slice.value) &&
      (!wanted.cell || wanted.cell.samples.has(at)) &&
      (!wanted.flip ||
        (run.asRun.outcomes[at] === wanted.flip[0] && state.outcomes[at] === wanted.flip[1])) &&
      words.every((word) => haystack(run, at).includes(word)),
  );
  const key = sortKey(run, state, wanted.sort);
  const sign = wanted.isDescending ? -1 : 1;
  const { weighted } = state; // of one outcome, the lowest score first
  const ties = wanted.sort === "own outcome" ? (at) => weighted[at] : () => null;
  return found.sort(
    (a, b) => compareKeys(key(a), key(b), sign) || compareKeys(ties(a), ties(b), 1) || a - b,
  );
}

function haystack(run, at) {
  run.haystacks ??= [];
  if (run.haystacks[at] === undefined) {
    const { data } = run;
    const numbers = [data.question[at], data.answer[at]].filter((number) => number >= 0);
    const doc = data.samples.doc[at];
    const parts = [
      data.samples.id[at],
      doc < 0 ? "" : data.samples.docs[doc],
      ...numbers.map((number) => textAt(run, number)),
    ];
    run.haystacks[at] = searchable(parts.join("\n"));
  }
  return run.haystacks[at];
}

function sortKey(run, state, by) {
  const { samples } = run.data;
  if (by === "own index") return (at) => at;
  if (by === "own id") return (at) => samples.id[at];
  if (by === "own question" || by === "own answer") {
    const numbers = run.data[by.slice("own ".length)];
    return (at) => (numbers[at] < 0 ? null : textAt(run, numbers[at]));
  }
  if (by === "own doc") return (at) => (samples.doc[at] < 0 ? null : samples.docs[samples.doc[at]]);
  if (by === "own outcome") return (at) => WORST_FIRST.indexOf(state.outcomes[at]);
  const scores = scoresOf(state, targetOf(by));
  return (at) => scores[at];
}

/** What is missing stands last, whichever way the column is sorted. */
function compareKeys(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a < b ? -sign : a > b ? sign : 0;
}

function filterButtons(app) {
  const { run, state, table: wanted } = app;
  const outcomes = OUTCOMES.filter(
    (outcome) => state.counts[outcome] || wanted.outcomes.has(outcome),
  );
  const isPlain = outcomes.join() === "passed" && !canFail(run);
  const bands = new Map();
  for (const score of state.weighted) {
    const band = bandOf(run, WEIGHTED, score);
    bands.set(band, (bands.get(band) ?? 0) + 1);
  }
  const extra = [];
  if (wanted.slice)
    extra.push(
      dropButton(
        app,
        "slice",
        say("filtered_by", {
          field: fieldName(run, wanted.slice.field),
          value: shownValue(
            run,
            run.fields.get(wanted.slice.field).values[wanted.slice.value],
            wanted.slice.field,
          ),
        }),
      ),
    );
  if (wanted.flip)
    extra.push(
      dropButton(
        app,
        "flip",
        say("only_flipped", { before: say(wanted.flip[0]), after: say(wanted.flip[1]) }),
      ),
    );
  if (wanted.cell) extra.push(dropButton(app, "cell", say("only_cell", wanted.cell)));
  const isFiltered = wanted.search || wanted.outcomes.size || wanted.bands.size || extra.length;
  const clear = isFiltered
    ? button(say("clear_filters"), () => app.clearFilters(), { class: "quiet" })
    : null;
  return [
    isPlain ? null : filterGroup(app, "outcomes", say("outcome"), outcomes, (outcome) => state.counts[outcome]),
    filterGroup(app, "bands", say("band"), BANDS, (band) => bands.get(band) ?? 0),
    extra.length ? el("div", { class: "group" }, extra) : null,
    clear,
    labelButtons(app),
  ].filter(Boolean);
}

function filterGroup(app, key, label, values, count) {
  const toggle = (value) => {
    const chosen = new Set(app.table[key]);
    if (!chosen.delete(value)) chosen.add(value);
    app.filter({ [key]: chosen });
    app.filters.querySelector(`[data-filter="${key} ${value}"]`)?.focus();
  };
  const buttons = values.map((value) =>
    button([badge(value), ` ${count(value)}`], () => toggle(value), {
      class: "toggle",
      "aria-pressed": String(app.table[key].has(value)),
      "data-filter": `${key} ${value}`,
    }),
  );
  return el(
    "div",
    { class: "group", role: "group", "aria-label": label },
    el("span", { class: "label", "aria-hidden": "true" }, label),
    buttons,
  );
}

function dropButton(app, key, name) {
  return button([given(name), " ×"], () => app.filter({ [key]: null }), {
    class: "toggle",
    "aria-label": say("drop_filter", { name }),
  });
}

function samplesPage(app) {
  const { found, table: wanted } = app;
  if (!found.length) return [el("p", { class: "none", role: "status" }, say("none_found"))];
  const pages = Math.ceil(found.length / PAGE_SIZE);
  const page = Math.min(wanted.page, pages - 1);
  const shown = found.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
  const rows = shown.map((at) => sampleRow(app, at));
  const made = table(say("samples"), sampleHeads(app), rows, { class: "samples" });
  return [made, pager(app, page, PAGE_SIZE)];
}

/** Columns of our own and those of scores: a metric may be called as it likes. */
function columnsOf(run) {
  const texts = ["question", "answer"].filter((key) => run.data[key].some((number) => number >= 0));
  const docs = run.docs.length ? ["own doc"] : [];
  const scores = targetsOf(run).map((target) => `score ${target}`);
  return ["own index", "own id", "own outcome", ...texts.map((key) => `own ${key}`), ...docs, ...scores];
}

/** The metric of a column of scores, null for other columns. */
function targetOf(column) {
  return column.startsWith("score ") ? column.slice("score ".length) : null;
}

const OWN_COLUMNS = {
  "own index": "number",
  "own id": "id",
  "own question": "question",
  "own answer": "answer",
  "own doc": "doc",
  "own outcome": "outcome",
};

function columnName(column) {
  const target = targetOf(column);
  return target === null ? say(OWN_COLUMNS[column]) : nameOf(target);
}

function sampleHeads(app) {
  const { sort, isDescending } = app.table;
  return columnsOf(app.run).map((column) => {
    const isSorted = sort === column;
    const order = isSorted ? (isDescending ? "descending" : "ascending") : "none";
    const arrow = el(
      "span",
      { class: "arrow", "aria-hidden": "true" },
      isSorted ? (isDescending ? "▼" : "▲") : "",
    );
    const name = columnName(column);
    const sortIt = () => {
      app.filter({ sort: column, isDescending: isSorted && !isDescending });
      app.rows.querySelector(`[data-column="${CSS.escape(column)}"]`)?.focus();
    };
    const label = say("sort_by", { name });
    const isFigure = targetOf(column) !== null || column === "own index";
    return el(
      "th",
      { scope: "col", "aria-sort": order, class: isFigure ? "number" : null },
      button([given(name), arrow], sortIt, { class: "sort", title: label, "data-column": column }),
    );
  });
}

function sampleRow(app, at) {
  const { run, state } = app;
  const { data } = run;
  const id = data.samples.id[at].slice(0, 300);
  const open = button(given(id), () => app.openSample(at), {
    class: "link",
    "aria-label": say("open_sample", { id }),
  });
  const text = (key) => el("td", { class: key }, el("span", { dir: "auto" }, beginning(run, data[key][at])));
  const doc = data.samples.doc[at];
  const docName = doc < 0 ? "" : data.samples.docs[doc].slice(0, 300);
  const cells = {
    "own index": el("td", { class: "number index" }, String(at + 1)),
    "own id": el("th", { scope: "row", class: "id" }, open),
    "own question": text("question"),
    "own answer": text("answer"),
    "own doc": el("td", { class: "doc" }, el("span", { title: docName }, given(docName))),
    "own outcome": el("td", { class: "outcome-cell" }, stateBadge(state, at)),
  };
  const score = (target) =>
    el(
      "td",
      { class: target === WEIGHTED ? "number weighted" : "number metric" },
      bandedScore(run, target, scoresOf(state, target)[at]),
    );
  return el(
    "tr",
    { "data-sample": at, dblclick: () => app.openSample(at) },
    columnsOf(run).map((column) => cells[column] ?? score(targetOf(column))),
  );
}
