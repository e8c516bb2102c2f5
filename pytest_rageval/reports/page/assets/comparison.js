// This run against those that it was compared with.

function comparisonSection(app) {
  const plans = app.run.data.comparisons;
  if (!plans.length) return null;
  const isStale = plans.some(({ metrics }) => Object.keys(metrics).some((name) => affects(app.state, name)));
  const parts = plans.length > 1 ? comparedInParts(app) : comparedWith(app, plans[0]);
  const warning = isStale ? notice(asRunMark(), " ", say("comparison_as_run")) : null;
  const made = section("comparison", plans.length > 1 ? [warning, ...parts] : [parts[0], warning, ...parts.slice(1)]);
  made.classList.toggle("stale", isStale);
  return made;
}

/** How it was tested, its table, the differences by sample, and what only one of the two has. */
function comparedWith(app, plan, level = "h3") {
  const compared = comparedMetrics(plan);
  const caption = level === "h3" ? say("comparison") : say("labelled", { name: say("comparison"), value: plan.baseline });
  return [
    hint(sayGiven("comparison_hint", { ...plan, alpha: alphaWords(plan), test: say(`test_${plan.test}`) })),
    comparisonTable(app, plan, compared, caption),
    plan.needed_rows ? el("p", { class: "note" }, given(runSaid(plan.needed_rows))) : null,
    differences(app, plan, level),
    ...unpaired(plan),
  ];
}

/** What became worse against which baseline, then a part for each, what broke first. */
function comparedInParts(app) {
  const plans = worseFirst(app.run);
  const place = (plan) => `comparison-${plans.indexOf(plan)}`;
  const line = (plan) =>
    el("li", {}, el("a", { href: `#${place(plan)}` }, given(plan.baseline)), " ", broken(app, plan));
  return [
    el("ul", { class: "against" }, plans.map(line)),
    ...plans.map((plan) =>
      el(
        "div",
        { class: "subsection", id: place(plan) },
        el("h3", {}, given(plan.baseline)),
        comparedWith(app, plan, "h4"),
      ),
    ),
  ];
}

/** The baselines: first those of failed gates, then those against which something is worse. */
function worseFirst(run) {
  const failed = failedNames(run.asRun);
  const named = new Set(run.data.gates.filter(({ name }) => failed.has(name)).map(({ against }) => against));
  const rank = (plan) => (named.has(plan.baseline) ? 0 : worseMetrics(run, plan).length ? 1 : 2);
  return [...run.data.comparisons].sort((one, other) => rank(one) - rank(other));
}

function worseMetrics(run, plan) {
  return comparedMetrics(plan).filter((found) => comparisonWord(run, found) === "worse");
}

/** The metrics that are worse; by one of them, what became of the samples, and what fell before. */
function broken({ run }, plan) {
  const metrics = worseMetrics(run, plan).map((found) => [
    comparisonVerdict(run, found),
    " ",
    given(`${nameOf(found.name)} ${signed(found.diff)}`),
    " ",
  ]);
  const target = comparedTarget(run, plan);
  return [...metrics, target === undefined ? null : el("span", { class: "note" }, sinceWords(run, plan, target))];
}

/** The score by which samples are held against a baseline at first: one that a gate failed. */
function comparedTarget(run, { then }) {
  return [failedTarget(run), WEIGHTED, ...Object.keys(then)].find((name) => Object.hasOwn(then, name));
}

function comparedMetrics(plan) {
  return Object.entries(plan.metrics).map(([name, figures]) => ({ name, ...figures }));
}

function alphaWords({ alpha, looks }) {
  const short = (value) => String(Number(value.toPrecision(3)));
  if (looks === 1) return String(alpha);
  return say("alpha_of_looks", { alpha: short(alpha), looks: grouped(looks), whole: short(alpha * looks) });
}

/** The confidence in per cent, with the digits that keep it from being 100. */
function confidenceText(alpha) {
  const texts = [3, 4, 5, 6, 7, 8, 9].map((digits) => Number((100 * (1 - alpha)).toPrecision(digits)));
  return String(texts.find((value) => value < 100) ?? texts.at(-1));
}

function comparisonTable(app, plan, compared, caption = say("comparison")) {
  const reach =
    Math.max(
      ...compared.flatMap((found) =>
        [found.diff, found.ci_low, found.ci_high].map((end) => Math.abs(end ?? 0)),
      ),
      1e-9,
    ) * 1.05;
  const figures = [
    "A",
    "B",
    say("difference"),
    say("interval_of", { percent: confidenceText(plan.alpha) }),
    say("p_value"),
    say("p_adjusted", { correction: CORRECTIONS[plan.correction] }),
    "n",
  ];
  const rows = compared.map((found) => comparisonRow(app, found, reach, figures));
  const heads = [say("metric"), say("verdict"), ...figures.map(numberHead)];
  heads.splice(5, 0, el("td", { class: "wide" }));
  return table(caption, heads, rows, { class: "comparison" });
}

/** `names` are those of the figures: on a phone each stands before its figure. */
function comparisonRow(app, found, reach, names) {
  const { run } = app;
  const p = (value) => (value === null ? "–" : pFigure(value));
  const figures = [
    figure(found.a_mean),
    figure(found.b_mean),
    found.diff === null ? "–" : signed(found.diff),
    found.ci_low === null ? "–" : `${signed(found.ci_low)} – ${signed(found.ci_high)}`,
    p(found.p_value),
    p(found.p_adjusted),
    String(found.n),
  ].map((text, at) => el("td", { class: "number", "data-name": names[at] }, text));
  figures.splice(
    3,
    0,
    el("td", { class: "wide" }, found.diff === null ? null : forestPlot(found, reach)),
  );
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, given(nameOf(found.name))),
    el(
      "td",
      { class: "verdict-cell" },
      comparisonVerdict(run, found),
      found.undecided || found.note
        ? el("span", { class: "note" }, runSaid(found.undecided || found.note))
        : null,
    ),
    figures,
  );
}

/** The word of the terminal: better, worse, equal, no difference shown, undecided, not judged. */
function comparisonWord(run, found) {
  if (found.significant && found.diff)
    return found.diff > 0 === metricOf(run, found.name).higher_is_better ? "better" : "worse";
  if (found.undecided || found.diff === null) return "undecided";
  if (found.n_nonzero === 0) return "equal";
  return found.p_adjusted === null ? "not_judged" : "no_difference";
}

function comparisonVerdict(run, found, said = say) {
  const word = comparisonWord(run, found);
  if (word === "better" || word === "worse") {
    const kind = word === "better" ? "good" : "bad";
    return badgeWith(kind, found.diff > 0 ? "▲" : "▼", said(word));
  }
  const shows =
    word === "no_difference" && found.smallest_detectable !== null
      ? say("shows_from", { value: fixed(found.smallest_detectable) })
      : "";
  return [
    el("span", { class: "badge none" }, said(word)),
    shows ? el("span", { class: "note" }, shows) : null,
  ];
}

const CORRECTIONS = { "max-t": "max-T", holm: "Holm", none: "–" };

function pFigure(value) {
  return value < 0.0001 ? "<0.0001" : fixed(value);
}

function differences(app, plan, level) {
  const names = Object.keys(plan.metrics);
  if (!names.includes(plan.differing)) plan.differing = names.includes(WEIGHTED) ? WEIGHTED : names[0];
  if (plan.differing === undefined) return null;
  const body = el("div", {}, differencesOf(app, plan));
  const choose = (name) => {
    plan.differing = name;
    body.replaceChildren(...differencesOf(app, plan));
  };
  const options = names.map((name) => ({ value: name, label: nameOf(name) }));
  return el(
    "div",
    { class: "subsection" },
    el(level, {}, say("differences")),
    el("div", { class: "controls" }, choice(say("metric"), options, plan.differing, choose)),
    body,
  );
}

function differencesOf({ run }, plan) {
  const target = plan.differing;
  const found = differencesFrom(run, plan, target);
  if (!found.length) return [el("p", { class: "none" }, say("nothing_scored"))];
  const { higher_is_better: isUp } = metricOf(run, target);
  const up = found.filter((difference) => difference > 0).length;
  const down = found.filter((difference) => difference < 0).length;
  const counts = {
    better: isUp ? up : down,
    worse: isUp ? down : up,
    equal: found.length - up - down,
  };
  const ends = found.reduce(
    ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
    [Infinity, -Infinity],
  );
  const label = say("differences_label", {
    name: nameOf(target),
    n: found.length,
    ...counts,
    low: signed(ends[0]),
    high: signed(ends[1]),
  });
  const legend = ["better", "equal", "worse"].map((word) =>
    el("span", { class: `key ${word}` }, say("labelled", { name: say(word), value: counts[word] })),
  );
  return [
    differencePlot(found, isUp, label),
    el(
      "p",
      { class: "legend" },
      legend,
      el("span", { class: "note" }, `${signed(ends[0])} … ${signed(ends[1])}`),
    ),
  ];
}

/** By how much the samples with a score in both runs differ. */
function differencesFrom(run, plan, target) {
  plan.differences ??= new Map();
  if (!plan.differences.has(target)) {
    const scores = scoresOf(run.asRun, target);
    const found = [];
    plan.then[target].forEach((before, at) => {
      const after = plan.now[target]?.[at] ?? scores[at];
      if (before !== null && after !== null) found.push(differenceOf(after, before));
    });
    plan.differences.set(target, found);
  }
  return plan.differences.get(target);
}

function unpaired(plan) {
  return [
    ["A", plan.only_a],
    [plan.baseline, plan.only_b],
  ]
    .filter(([, found]) => found.n)
    .map(([where, found]) =>
      el(
        "p",
        { class: "note" },
        sayGiven("only_in", { where, n: found.n }),
        ": ",
        given(found.first.join(", ") + (found.n > found.first.length ? ", …" : "")),
      ),
    );
}
