// This run against the one that it was compared with.

function comparisonSection(app) {
  const plan = app.run.data.comparison;
  if (plan === null) return null;
  const compared = Object.entries(plan.metrics).map(([name, figures]) => ({ name, ...figures }));
  const isStale = compared.some(({ name }) => affects(app.state, name));
  const made = section(
    "comparison",
    hint(sayGiven("comparison_hint", { ...plan, test: say(`test_${plan.test}`) })),
    isStale ? notice(asRunMark(), " ", say("comparison_as_run")) : null,
    comparisonTable(app, plan, compared),
    differences(app, plan),
    unpaired(plan),
  );
  made.classList.toggle("stale", isStale);
  return made;
}

function comparisonTable(app, plan, compared, caption = say("comparison")) {
  const reach =
    Math.max(
      ...compared.flatMap((found) =>
        [found.diff, found.ci_low, found.ci_high].map((end) => Math.abs(end ?? 0)),
      ),
      1e-9,
    ) * 1.05;
  const percentText = String(Number((100 * (1 - plan.alpha)).toPrecision(3)));
  const figures = [
    "A",
    "B",
    say("difference"),
    say("interval_of", { percent: percentText }),
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
    const mark = found.diff > 0 ? "▲" : "▼";
    const sign = el("span", { class: "sign", "aria-hidden": "true" }, mark);
    const kind = word === "better" ? "good" : "bad";
    return el("span", { class: `badge ${kind}` }, sign, " ", said(word));
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

function differences(app, plan) {
  const names = Object.keys(plan.metrics);
  if (!names.includes(app.differing))
    app.differing = names.includes(WEIGHTED) ? WEIGHTED : names[0];
  if (app.differing === undefined) return null;
  const body = el("div", {}, differencesOf(app, plan));
  const choose = (name) => {
    app.differing = name;
    body.replaceChildren(...differencesOf(app, plan));
  };
  const options = names.map((name) => ({ value: name, label: nameOf(name) }));
  return el(
    "div",
    { class: "subsection" },
    el("h3", {}, say("differences")),
    el("div", { class: "controls" }, choice(say("metric"), options, app.differing, choose)),
    body,
  );
}

function differencesOf({ run, differing: target }, plan) {
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
function differencesFrom(run, { then, now }, target) {
  run.differences ??= new Map();
  if (!run.differences.has(target)) {
    const scores = scoresOf(run.asRun, target);
    const found = [];
    then[target].forEach((before, at) => {
      const after = now[target]?.[at] ?? scores[at];
      if (before !== null && after !== null) found.push(differenceOf(after, before));
    });
    run.differences.set(target, found);
  }
  return run.differences.get(target);
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
