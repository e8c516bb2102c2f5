// How variants rank: their means, their pairs, where they win, and weights to try on all of them.

function rankingSection(app) {
  const { data, ranking } = app;
  const { metric, alpha } = data.ranking;
  const isWhole = ranking.undecided === "" && ranking.variants.length > 1;
  return section(
    "ranking",
    ranking.undecided ? notice(say("no_letters", { why: runSaid(ranking.undecided) })) : null,
    ranking.remarks.map((text) => notice(runSaid(text))),
    hint(
      sayGiven("ranking_hint", {
        metric: nameOf(metric),
        common: ranking.common,
        total: ranking.total,
      }),
      isWhole ? [say("gap"), say("letters_hint", { alpha })] : null,
    ),
    rankedTable(app),
    ranking.pairs.length ? pairsPart(app) : null,
    causesPart(app),
    docsPart(app),
  );
}

function rankedTable(app) {
  const { ranking } = app;
  const isTried = isChanged(app);
  const [low, high] = drawnRange(ranking.variants);
  const names = [
    ...app.run.metrics.map(({ name }) => name),
    say("failed_n"),
    say("failed_scores"),
    say("gates_failed"),
  ];
  const letters = [...new Set(ranking.variants.flatMap((one) => [...one.letters]))].sort();
  const rows = ranking.variants.map((one, at) => {
    const { state } = app.columnOf.get(one.name);
    const band = one.mean === null ? null : bandOf(state.run, app.metric, one.mean);
    const plot =
      one.mean === null ? null : meanPlot(one.name, one, [low, high], band);
    const interval = one.ci_low === null ? "–" : `${fixed(one.ci_low)} – ${fixed(one.ci_high)}`;
    const figures = [
      ...app.run.metrics.map(({ name }) => figure(state.summaries[name]?.weighted_mean ?? null)),
      String(state.counts.failed),
      String(state.counts.error),
      String(state.gates.filter((gate) => gate.outcome === "failed").length),
    ];
    return el(
      "tr",
      { "data-variant": one.name },
      el("td", { class: "number rank" }, String(at + 1)),
      el("th", { scope: "row" }, given(one.name)),
      letters.length ? el("td", { class: isTried ? "letters stale" : "letters" }, lettersShown(one, letters)) : null,
      el("td", { class: "number" }, scoreOrNone(one.mean, band)),
      el("td", { class: "wide" }, plot),
      namedFigure(say("interval_short"), interval),
      namedFigure("n", String(one.n)),
      figures.map((text, which) => namedFigure(names[which], text)),
    );
  });
  const heads = [
    numberHead(say("rank")),
    say("variant"),
    letters.length ? el("th", { scope: "col" }, say("letters"), isTried ? asRunMark() : null) : null,
    numberHead(say("mean")),
    el("td", { class: "wide" }),
    numberHead(say("interval_short")),
    numberHead("n"),
    ...names.map((name) => numberHead(given(name))),
  ].filter(Boolean);
  return table(say("ranked_means"), heads, rows, { class: "comparison ranked" });
}

function scoreOrNone(score, band) {
  return band === null ? el("span", { class: "none" }, figure(score)) : scoreWithSign(score, band);
}

/** A figure in a table; on a phone its name stands before it. */
function namedFigure(name, text) {
  return el("td", { class: "number", "data-name": name }, text);
}

/** One place for each letter, so that equal letters are below each other. */
function lettersShown({ letters }, places) {
  return places.map((letter) => (letters.includes(letter) ? letter : " ")).join("");
}

/** What all intervals span, with some room: differences among variants are small. */
function drawnRange(variants) {
  const ends = variants
    .flatMap(({ mean, ci_low, ci_high }) => [mean, ci_low, ci_high])
    .filter((end) => end !== null);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = ends.length ? Math.max((high - low) * 0.08, 1e-3) : 1;
  return ends.length ? [low - room, high + room] : [0, 1];
}

function pairsPart(app) {
  const { pairs } = app.ranking;
  const isTried = isChanged(app);
  const ends = pairs.flatMap(({ diff, ci_low, ci_high }) => [diff, ci_low, ci_high]);
  const reach = Math.max(...ends.map((end) => Math.abs(end ?? 0)), 1e-9) * 1.05;
  const percentText = String(Number((100 * (1 - app.data.ranking.alpha)).toPrecision(3)));
  const names = [
    say("difference"),
    say("interval_of", { percent: percentText }),
    say("p_value"),
    say("p_adjusted", { correction: CORRECTIONS["max-t"] }),
    say("wins"),
    "n",
  ];
  const rows = pairs.map((pair) => pairRow(app, pair, reach, names));
  const heads = [say("pair"), say("verdict"), ...names.map(numberHead)];
  heads.splice(3, 0, el("td", { class: "wide" }));
  const label = say("pairs", { n: pairs.length });
  return el(
    "details",
    {
      class: isTried ? "pairs stale" : "pairs",
      open: app.arePairsOpen,
      toggle: (event) => (app.arePairsOpen = event.target.open),
    },
    el("summary", {}, label, isTried ? asRunMark() : null),
    table(label, heads, rows, { class: "comparison" }),
  );
}

function pairRow(app, pair, reach, names) {
  const p = (value) => (value === null || value === undefined ? "–" : pFigure(value));
  const figures = [
    pair.diff === null ? "–" : signed(pair.diff),
    pair.ci_low === null ? "–" : `${signed(pair.ci_low)} – ${signed(pair.ci_high)}`,
    p(pair.p_value),
    p(pair.p_adjusted),
    [winsButton(app, pair.a, pair.b, pair.a_wins), " : ", winsButton(app, pair.b, pair.a, pair.b_wins)],
    String(pair.n),
  ].map((text, at) => namedFigure(names[at], text));
  const name = `${pair.a} − ${pair.b}`;
  const plot = pair.diff === null ? null : forestPlot({ ...pair, name }, reach);
  figures.splice(1, 0, el("td", { class: "wide" }, plot));
  return el(
    "tr",
    { "data-pair": name },
    el("th", { scope: "row" }, given(pair.a), " − ", given(pair.b)),
    el("td", { class: "verdict-cell" }, pairVerdict(app, pair)),
    figures,
  );
}

/** How often one variant beats another; leads to these rows. */
function winsButton(app, a, b, n) {
  const label = say("wins_label", { a, b, n });
  return button(String(n), () => app.showBeaten(a, b), { class: "link", "aria-label": label });
}

const PAIR_WORDS = { better: "is_better", worse: "is_worse" }; // neither has become so

/** In the words of a comparison of two runs. */
function pairVerdict(app, pair) {
  const run = app.columnOf.get(pair.a).run;
  const isEqual = !pair.a_wins && !pair.b_wins;
  const found = { ...pair, name: app.metric, undecided: app.ranking.undecided };
  const said = (word) => say(PAIR_WORDS[word] ?? word);
  return comparisonVerdict(run, { ...found, n_nonzero: isEqual ? 0 : 1 }, said);
}

const CAUSES_AT_ONCE = 8;

function causesPart(app) {
  const causes = app.data.ranking.causes.filter(({ mended, new: added }) => mended || added);
  if (!causes.length) return null;
  const list = el(
    "ul",
    { class: "causes" },
    causes.map((one) => el("li", {}, changeWords(one))),
  );
  const heading = [say("why_low"), isChanged(app) ? asRunMark() : null];
  if (causes.length > CAUSES_AT_ONCE)
    return el("details", {}, el("summary", {}, heading), list);
  return el("div", { class: "subsection" }, el("h3", {}, heading), list);
}

/** In the words of pytest_rageval/reports/variants.py. */
function changeWords({ variant, reference, cause, mended, new: added }) {
  const failure = say(`failure_${cause}`);
  const several = (n) => (n > 1 ? "n" : n ? "one" : "none");
  return sayGiven("mends", {
    variant,
    reference,
    mended: say(`mended_${several(mended)}`, { n: mended, failure }),
    new: say(`new_${several(added)}`, { n: added }),
  });
}

function variantWeights(app) {
  return weightsTried(
    app,
    hint(
      app.metric === WEIGHTED ? say("variants_hint") : sayGiven("one_metric_hint", { metric: app.metric }),
      say("gap"),
      say("no_file_changed"),
    ),
    app.run.isMixed ? notice(sayGiven("weights_differ", { name: app.run.leader })) : null,
  );
}

function updateVariantWeights(app) {
  updateFields(app, refusalOfAll);
  app.panel.changes.replaceChildren(...rankChanges(app));
}

/** Why no run would take these weights, null where every one would. */
function refusalOfAll(app, total) {
  const refusals = app.columns.map((column) => refusalOf(column, total));
  return refusals.find((refusal) => refusal !== null) ?? null;
}

function rankChanges(app) {
  if (!isChanged(app)) return [el("p", { class: "hint" }, say("nothing_changed"))];
  const before = new Map(app.data.ranking.variants.map(({ name, mean }) => [name, mean]));
  const lines = app.ranking.variants.map(({ name, mean }) =>
    flipLine(given(name), figure(before.get(name)), figure(mean)),
  );
  return [el("ul", { class: "flips" }, lines)];
}

/** The line at the foot of the window while weights differ from those of the runs. */
function variantsBar(app) {
  const first = (ranking) => `${ranking.variants[0].name} ${figure(ranking.variants[0].mean)}`;
  return barOfWeights(app, () => [
    el("span", {}, given(first(app.data.ranking)), " → ", el("b", {}, given(first(app.ranking)))),
  ]);
}

// Where a variant wins: means by document, over the common samples, of the weights that are tried.

const DOCS_TABLED = 30;
const DOCS_OPEN = 8; // more are shown on demand

function docsPart(app) {
  const found = meansByDoc(app);
  const n = found.filter(({ doc }) => doc !== null).length;
  if (n < 2 || n > DOCS_TABLED) return null;
  const names = app.columns.map(({ name }) => name);
  const heads = [say("doc"), ...names.map((name) => numberHead(given(name))), numberHead("n")];
  const label = say("by_doc", { n });
  return el(
    "details",
    {
      class: "by-doc",
      open: app.areDocsOpen ?? n <= DOCS_OPEN,
      toggle: (event) => (app.areDocsOpen = event.target.open),
    },
    el("summary", {}, label),
    hint(sayGiven("by_doc_hint", { metric: nameOf(app.metric) })),
    table(label, heads, found.map((one) => docMeansRow(app, one))),
  );
}

/** The documents of the samples that rank, those where means differ most first. */
function meansByDoc(app) {
  const { taken, scores, weights } = app.joined;
  const places = new Map();
  taken.forEach((at, place) => {
    const doc = docAt(app, at) || null;
    if (!places.has(doc)) places.set(doc, []);
    places.get(doc).push(place);
  });
  const found = [...places].map(([doc, own]) => {
    const sizes = own.map((place) => weights[place]);
    const means = scores.map((column) =>
      column === null ? null : weightedMean(own.map((place) => column[place]), sizes),
    );
    const known = means.filter((mean) => mean !== null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return { doc, means, best: app.isUp ? high : low, spread: differenceOf(high, low), n: own.length };
  });
  return found.sort((a, b) => (a.doc === null) - (b.doc === null) || b.spread - a.spread);
}

function docMeansRow(app, { doc, means, best, spread, n }) {
  const isBest = (mean) => mean !== null && differenceOf(mean, best) === 0;
  const winner = app.columns[means.findIndex(isBest)].name;
  const cells = means.map((mean, at) => {
    if (spread && isBest(mean)) return bestMean(mean);
    if (!spread || mean === null || doc === null) return figure(mean);
    return beatenMean(app, doc, mean, winner, app.columns[at].name);
  });
  const name = doc === null ? say("none_value") : given(doc.slice(0, 100));
  const show = () => app.showRows({ doc });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, doc === null ? name : button(name, show, { class: "link" })),
    cells.map((cell) => el("td", { class: "number" }, cell)),
    el("td", { class: "number" }, String(n)),
  );
}

function bestMean(mean) {
  const sign = signOf("▲ ");
  return [sign, el("b", {}, fixed(mean)), el("span", { class: "unseen" }, ` ${say("best_here")}`)];
}

/** Leads to the answers of this document with which the winner beats this variant. */
function beatenMean(app, doc, mean, winner, name) {
  const label = say("doc_beats", { mean: fixed(mean), a: winner, b: name, doc: doc.slice(0, 100) });
  const show = () => app.showBeaten(winner, name, doc);
  return button(fixed(mean), show, { class: "link", "aria-label": label });
}
