// This run against the one that it was compared with.

function comparisonSection(app) {
  const plan = app.run.data.comparison;
  if (plan === null) return null;
  const compared = app.state.comparison;
  const reach =
    Math.max(
      ...compared.flatMap((found) =>
        [found.diff, found.ci_low, found.ci_high].map((end) => Math.abs(end ?? 0)),
      ),
      1e-9,
    ) * 1.05;
  const rows = compared.map((found) => comparisonRow(app, found, reach));
  const percentText = String(Number((100 * (1 - plan.alpha)).toPrecision(3)));
  const heads = [
    say("metric"),
    ...["A", "B", say("difference")].map(numberHead),
    el("td", { class: "wide" }),
    ...[say("interval_of", { percent: percentText }), say("p_value"), "n"].map(numberHead),
    say("verdict"),
  ];
  const isStale = compared.some((found) => found.isStale);
  return section(
    "comparison",
    hint(sayGiven("comparison_hint", plan)),
    isStale ? el("p", { class: "notice", role: "note" }, say("stale_p")) : null,
    table(say("comparison"), heads, rows, { class: "comparison" }),
    differences(app, plan),
    unpaired(plan),
  );
}

function comparisonRow(app, found, reach) {
  const { run } = app;
  const p =
    found.p_adjusted === null || found.isOpen
      ? "–"
      : found.p_adjusted < 0.0001
        ? "<0.0001"
        : fixed(found.p_adjusted);
  const asRun =
    found.isStale && !found.isOpen
      ? el("span", { class: "as-run", title: say("as_run_title") }, say("as_run"))
      : null;
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, given(nameOf(found.name))),
    el("td", { class: "number" }, figure(found.a_mean)),
    el("td", { class: "number" }, figure(found.b_mean)),
    el("td", { class: "number" }, found.diff === null ? "–" : signed(found.diff)),
    el("td", { class: "wide" }, found.diff === null ? null : forestPlot(found, reach)),
    el(
      "td",
      { class: "number" },
      found.ci_low === null ? "–" : `${signed(found.ci_low)} – ${signed(found.ci_high)}`,
    ),
    el("td", { class: "number" }, p),
    el("td", { class: "number" }, String(found.n)),
    el(
      "td",
      {},
      comparisonVerdict(run, found),
      " ",
      asRun,
      found.note && !found.isOpen ? el("span", { class: "note" }, found.note) : null,
    ),
  );
}

function comparisonVerdict(run, found) {
  if (found.isOpen) return el("span", { class: "note" }, say("takes_a_run"));
  if (found.significant && found.diff) {
    const isBetter = found.diff > 0 === metricOf(run, found.name).higher_is_better;
    const sign = el("span", { class: "sign", "aria-hidden": "true" }, found.diff > 0 ? "▲" : "▼");
    const words = `${say(isBetter ? "better" : "worse")}, ${say("significant")}`;
    return el("span", { class: `badge ${isBetter ? "good" : "bad"}` }, sign, " ", words);
  }
  const shows =
    found.smallest_detectable === null
      ? ""
      : say("shows_from", { value: fixed(found.smallest_detectable) });
  return [
    el("span", { class: "badge none" }, say("not_significant")),
    shows ? el("span", { class: "note" }, shows) : null,
  ];
}

function differences(app, plan) {
  const names = app.state.comparison.map((found) => found.name);
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

function differencesOf({ state, run, differing: target }, plan) {
  const a = scoresOf(state, target);
  const b = state.baselines.get(plan.baseline).scores[target];
  const found = run.all
    .filter((at) => a[at] !== null && b[at] !== null)
    .map((at) => differenceOf(a[at], b[at]));
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
    el("span", { class: `key ${word}` }, `${say(word)}: ${counts[word]}`),
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
