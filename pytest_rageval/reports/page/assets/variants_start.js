// The page of variants comes to life: a run for each column, weights for all, one ranking.

function startVariants(data) {
  const columns = data.variants.map((plain, at) => columnOf(data, plain, at));
  const app = {
    data,
    columns,
    columnOf: new Map(columns.map((column) => [column.name, column])),
    metric: data.ranking.metric,
    isUp: data.ranking.higher_is_better,
    n: data.rows[0]?.length ?? 0,
    leading: Math.max(columns.findIndex(({ name }) => name === data.contest.reference), 0),
    ranking: data.ranking,
    table: noRowFilters(),
    haystacks: [],
    arePairsOpen: false,
    areDocsOpen: null,
  };
  app.allRows = [...Array(app.n).keys()];
  app.run = runOfAll(app);
  app.weights = app.run.weights;
  app.table.b = columns.length > 1 ? 1 : 0;
  app.shown = { order: "spread", against: app.leading, hidden: new Set() };
  app.causes = valuesOf(app, causesAt);
  app.docs = valuesOf(app, (_, at) => [docAt(app, at)].filter(Boolean)).slice(0, MOST_DOCS);
  const ours = rankedNow(app);
  app.joined = ours.joined;
  app.facts = rowFacts(app);
  app.differing = columns.flatMap(({ run }) => differingFromPython(run));
  app.differing.push(...offMeans(app.ranking, ours));
  connectVariants(app);
  takeWishes(app);
  app.drawPage();
  window.rageval = {
    weigh: (weights) => {
      app.weigh({ metrics: weights.metrics, docs: new Map(weights.docs) });
      updateVariants(app);
      return app.ranking;
    },
    states: () => app.columns.map(({ state }) => state),
  };
  followLinks((id) => showAlone(app, id));
}

const MOST_DOCS = 500;

function columnOf(data, plain, at) {
  const run = prepare({ ...plain, ...data.variant_texts[at], texts: data.texts });
  const leftOut = new Set(plain.left_out);
  return { name: plain.name, run, state: run.asRun, rows: data.rows[at], leftOut };
}

/** What the fields for weights work on: every metric and document that some column has. */
function runOfAll({ data, columns, leading }) {
  const ordered = [columns[leading], ...columns];
  const metrics = new Map();
  const docs = new Map();
  for (const { run } of ordered) {
    for (const metric of run.metrics)
      if (!metrics.has(metric.name)) metrics.set(metric.name, metric);
    for (const doc of run.docs)
      if (!(docs.get(doc.name)?.n >= doc.n)) docs.set(doc.name, doc);
  }
  const weights = {
    metrics: Object.fromEntries([...metrics.values()].map(({ name, weight }) => [name, weight])),
    docs: columns[leading].run.weights.docs,
  };
  const isOther = ({ run }) =>
    run.metrics.some(({ name, weight }) => weights.metrics[name] !== weight) ||
    JSON.stringify([...run.weights.docs]) !== JSON.stringify([...weights.docs]);
  return {
    data,
    metrics: [...metrics.values()],
    docs: [...docs.values()],
    weights,
    leader: columns[leading].name,
    isMixed: columns.some(isOther),
  };
}

/** The values that rows have, each once, as they first appear. */
function valuesOf(app, read) {
  return [...new Set(app.allRows.flatMap((at) => read(app, at)))];
}

/** The variants whose means are not those of Python: none, or this page has a defect. */
function offMeans(python, page) {
  const ours = new Map(page.variants.map((one) => [one.name, one]));
  const isOff = (a, b) => (a === null || b === null ? a !== b : Math.abs(a - b) > TOLERANCE * Math.max(1, Math.abs(b)));
  return python.variants
    .filter((one) =>
      ["mean", "ci_low", "ci_high", "n"].some((key) => isOff(ours.get(one.name)[key], one[key])),
    )
    .map(({ name }) => name);
}

const VARIANTS_DRAWN = {
  answers: answersSection,
  ranking: rankingSection,
  weights: variantWeights,
};

function connectVariants(app) {
  app.weigh = (weights) => {
    app.weights = weights;
    onceAFrame(app, updateVariants);
  };
  app.reset = () => {
    app.weights = app.run.weights;
    updateVariants(app);
    redrawSection("weights", () => variantWeights(app));
    updateVariantWeights(app);
  };
  app.filter = (change, keepsPage) => {
    app.table = { ...app.table, ...(keepsPage ? {} : { page: 0 }), ...change };
    drawRows(app);
  };
  app.view = (change) => {
    app.shown = { ...app.shown, ...change };
    drawRows(app);
  };
  app.clearFilters = () => {
    const { a, b } = app.table;
    app.table = { ...noRowFilters(), a, b };
    redrawSection("answers", () => answersSection(app));
    document.getElementById("search").focus();
  };
  app.showBeaten = (one, other, doc = "") => {
    const [a, b] = [one, other].map((name) => app.columns.indexOf(app.columnOf.get(name)));
    app.showRows({ which: "beats", a, b, doc });
  };
  app.showRows = (wanted) => {
    const { a, b } = app.table;
    app.table = { ...noRowFilters(), a, b, ...wanted };
    redrawSection("answers", () => answersSection(app));
    focusTitle("answers-title");
  };
  app.drawPage = () => drawVariants(app);
}

function drawVariants(app) {
  nameLanguage();
  app.sections = Object.keys(VARIANTS_DRAWN);
  const drawn = Object.values(VARIANTS_DRAWN).map((draw) => draw(app));
  app.bar = variantsBar(app);
  document
    .getElementById("page")
    .replaceChildren(
      variantsHeader(app),
      contents(app.sections),
      el("main", { id: "main", tabindex: "-1" }, drawn),
      app.bar,
    );
  updateVariantWeights(app);
}

function updateVariants(app) {
  const isTried = isChanged(app);
  for (const column of app.columns)
    column.state = isTried ? weigh(column.run, app.weights) : column.run.asRun;
  const ours = rankedNow(app);
  app.joined = ours.joined;
  app.ranking = isTried ? ours : app.data.ranking;
  app.facts = rowFacts(app);
  drawRanking(app);
  drawRows(app);
}

function drawRanking(app) {
  redrawSection("breaks", () => breaksPart(app));
  redrawSection("ranking", () => rankingSection(app));
  updateVariantWeights(app);
  putBar(app, variantsBar(app));
}

function showAlone(app, id) {
  const at = app.allRows.find((row) => idAt(app, row) === id);
  if (at === undefined) return;
  app.filter({ only: at });
  document.getElementById("answers").scrollIntoView();
}

// Means of variants for other weights, over the samples that all of them have scored.

/** Means and intervals over the samples in common, best first; `joined` says which these are. */
function rankedNow(app) {
  const { columns, metric, isUp } = app;
  const joined = joinedColumns(app);
  const letters = new Map(app.data.ranking.variants.map((ranked) => [ranked.name, ranked.letters]));
  const variants = columns.map(({ name, state }, at) => {
    const own = joined.scores[at] ?? [];
    const range = metricOf(state.run, metric) ? rangeOfTarget(state, metric) : state.weightedRange;
    const summary = summarize(own, own.length ? joined.weights : [], range, joined.groups);
    const { weighted_mean: mean, ci_low, ci_high, n } = summary;
    return { at, name, mean, ci_low, ci_high, n, letters: letters.get(name) };
  });
  const key = ({ mean }) => (mean === null ? Infinity : isUp ? -mean : mean);
  variants.sort((a, b) => key(a) - key(b) || a.at - b.at);
  const isWhole = joined.scores.every((own) => own !== null);
  const common = isWhole ? joined.weights.length : 0;
  return { ...app.data.ranking, variants, common, total: joined.total, joined };
}

/** The samples that every column with a score has scored, in the order of the leading one. */
function joinedColumns(app) {
  const { columns, metric, n } = app;
  const known = columns.map(({ rows, state, leftOut }) => {
    const scores = rankedScores(app, state);
    const unasked = metricOf(state.run, metric)?.isUnasked ?? [];
    return Array.from({ length: n }, (_, at) => {
      const place = rows[at];
      const isWanted =
        place >= 0 &&
        state.sampleWeights[place] > 0 &&
        (state.run.isExpected[place] || leftOut.has(place));
      const score = isWanted && scores ? scores[place] : null;
      return { isWanted, isRuledOut: isWanted && Boolean(unasked[place]) && score === null, score };
    });
  });
  const has = known.map((own) => own.some(({ score }) => score !== null));
  const some = columns.map((_, at) => at).filter((at) => has[at]);
  const leading = has[app.leading] ? app.leading : some[0];
  const alike = metric === WEIGHTED ? alikeScores(app, some) : null;
  const taken = []; // the rows of the page
  const scores = columns.map((_, at) => (has[at] ? [] : null));
  for (const at of leading === undefined ? [] : app.allRows) {
    const own = some.map((column) => known[column][at].score);
    const shared = own.includes(null) || alike === null ? own : alike(at, own);
    if (shared.includes(null)) continue;
    taken.push(at);
    some.forEach((column, which) => scores[column].push(shared[which]));
  }
  const lead = columns[leading ?? app.leading];
  const places = taken.map((at) => lead.rows[at]);
  return {
    scores,
    taken,
    total: app.allRows.filter(
      (at) =>
        known.some((own) => own[at].isWanted) && !known.every((own) => own[at].isRuledOut),
    ).length,
    weights: places.map((place) => lead.state.sampleWeights[place]),
    groups: groupsOf(lead.run, places),
  };
}

/** Weighted scores over the metrics that apply to the sample in all of the columns. */
function alikeScores(app, some) {
  const { columns } = app;
  const lead = columns[app.leading].state;
  const counted = lead.run.metrics.filter(
    ({ name }) =>
      lead.weights.metrics[name] > 0 && columns.every(({ run }) => metricOf(run, name)),
  );
  const isAnew = weighedUnlike(app);
  const scoresAt = (metric, at) =>
    some.map((column) => {
      const { run, rows } = columns[column];
      return metricOf(run, metric.name).scores[rows[at]];
    });
  return (at, own) => {
    const found = counted.map((metric) => scoresAt(metric, at));
    const isPartly = found.some((scores) => scores.includes(null) && scores.some((one) => one !== null));
    if (!isPartly && !isAnew) return own;
    const whole = counted.map((_, which) => which).filter((which) => !found[which].includes(null));
    const sizes = whole.map((which) => lead.weights.metrics[counted[which].name]);
    return own.map((_, place) =>
      weightedMean(
        whole.map((which) => toUnit(counted[which], found[which][place])),
        sizes,
      ),
    );
  };
}

/** Whether the weighted scores of the columns follow from other metrics, or by other weights. */
function weighedUnlike({ columns }) {
  const counted = columns.map(({ state }) =>
    state.run.metrics
      .map(({ name }) => [name, state.weights.metrics[name]])
      .filter(([, weight]) => weight > 0)
      .sort()
      .join("|"),
  );
  return new Set(counted).size > 1;
}

withData(startVariants);
