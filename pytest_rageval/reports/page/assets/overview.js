// What ran, the verdict in a line, the cards and the gates.

function header(app) {
  const { scenario } = app.run.data;
  const value = scenario.overridden.join(", ");
  return el(
    "header",
    { class: "top" },
    toolBar(app),
    el("h1", {}, given(scenario.name)),
    description(scenario.description),
    value
      ? el("p", { class: "note" }, sayGiven("labelled", { name: say("overridden"), value }))
      : null,
  );
}

/** The facts of the run: not what someone asks first. */
function aboutSection(app) {
  return section("about", definitions(facts(app), { class: "facts" }));
}

function facts(app) {
  const { scenario, run } = app.run.data;
  const found = [
    [say("run"), run.id],
    [say("started"), moment(run.started_at)],
    [say("scenario_file"), given(scenario.path)],
    [say("version"), run.version],
  ];
  if (run.commit) found.push([say("commit"), given(run.commit.slice(0, 12))]);
  if (run.usage) found.push([say("cost"), usageText(run.usage)]);
  return found;
}

function usageText(usage) {
  const tokens = grouped((usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0));
  const isUnknown = usage.cost_usd === null && usage.calls > 0;
  const cost = (usage.cost_usd ?? 0).toFixed(4);
  const known = usage.unpriced ? say("usd_part", { cost, calls: grouped(usage.unpriced) }) : say("usd", { cost });
  const price = isUnknown ? say("no_price") : known;
  return say("usage", {
    calls: grouped(usage.calls),
    cached: grouped(usage.cached),
    tokens,
    price,
  });
}

function notices(app) {
  const { scenario } = app.run.data;
  const found = [];
  const ran = app.run.n - scenario.not_asked - scenario.not_run;
  const cut = scenario.not_asked ? "stopped_run" : "partial_run";
  if (!scenario.complete) found.push(say(cut, { ran, total: scenario.total }));
  if (scenario.sampled) found.push(sampledWords(scenario.sampled));
  if (scenario.beyond_budget) found.push(say("budget_spent", { n: scenario.beyond_budget }));
  if (app.run.differing.length)
    found.push(say("self_check", { names: app.run.differing.join(", ") }));
  const shown = [
    ...found,
    ...scenario.warnings.map((text) => sayGiven("labelled", { name: say("warning"), value: text })),
  ];
  return shown.map((text) => notice(text));
}

function sampledWords({ asked, rows, seed, against }) {
  return sayGiven("sampled_run", { asked: grouped(asked), rows: grouped(rows), seed, against });
}

/** The names whose figures are not those of the run: none, or this page has a defect. */
function differingFromPython(run) {
  const keys = ["weighted_mean", "ci_low", "ci_high", "n", "unscored"];
  const isOff = (a, b) =>
    (a === null) !== (b === null) ||
    (a !== null && Math.abs(a - b) > TOLERANCE * Math.max(1, Math.abs(b)));
  const names = targetsOf(run).filter((target) => {
    const python = run.data.as_run[target];
    const ours = run.asRun.summaries[target];
    return keys.some((key) =>
      isOff(ours[key], key === "weighted_mean" && target === WEIGHTED ? python.mean : python[key]),
    );
  });
  const gates = run.asRun.gates.filter((gate) => {
    const asked = run.data.gates.find((one) => one.name === gate.name);
    return asked === undefined || asked.run[0] !== gate.outcome;
  });
  return [...names, ...gates.map((gate) => gate.name)];
}

/** How many of the samples have no score of a metric because something failed. */
function failedOf(run, target) {
  return run.data.as_run[target].failed;
}

/** Links to the sections; `click` may lead there in place of the address. */
function contents(ids, click) {
  const link = (id) => el("li", {}, el("a", { href: `#${id}`, click }, say(id)));
  return el("nav", { class: "contents", "aria-label": say("sections") }, el("ul", {}, ids.map(link)));
}

function overview(app) {
  const { state, run } = app;
  return section(
    "overview",
    el(
      "div",
      { class: "cards" },
      leadingFirst(app).map((target) => card(app, target)),
    ),
    countLine(state),
  );
}

/** The verdict with its reasons; `before` is what it was with other weights. */
function verdictLine(verdict, before = verdict.outcome) {
  const why = [...(verdict.why ?? [])];
  if (verdict.failedGates) why.push(say("failed_gates", { n: verdict.failedGates }));
  if (verdict.failedSamples) why.push(say("failed_samples", { n: verdict.failedSamples }));
  if (verdict.errorSamples) why.push(say("error_samples", { n: verdict.errorSamples }));
  if (verdict.outcome === "partial" && !verdict.isWhole) why.push(say("part_ran"));
  if (verdict.outcome === "unjudged")
    why.push(say(verdict.hasGates ? "nothing_on_answers" : "nothing_to_pass"));
  const tolerated = verdict.toleratedSamples;
  if (verdict.outcome === "passed")
    why.push(tolerated ? say("all_but_tolerated", { n: tolerated }) : say("all_kept"));
  if (verdict.openGates) why.push(say("open_gates", { n: verdict.openGates }));
  if (verdict.isAsRun) why.push(say("gates_as_run"));
  return el(
    "p",
    { class: `verdict ${verdict.outcome}${verdict.isAsRun ? " stale" : ""}` },
    el("span", { class: "unseen" }, say("labelled", { name: say("verdict"), value: "" })),
    el(
      "strong",
      {},
      signOf(SIGNS[verdict.outcome]),
      say(`verdict_${verdict.outcome}`),
    ),
    verdict.isAsRun ? asRunMark() : null,
    el("span", { class: "why" }, why.join(" · ")),
    before === verdict.outcome
      ? null
      : el("span", { class: "was" }, say("was", { value: say(before) })),
  );
}

/** The verdict of the gate that compares variants. */
function bestVerdict(outcome, message, isAsRun = false) {
  const shown = outcome === "skipped" ? "partial" : outcome;
  const sign = signOf(SIGNS[shown]);
  return el(
    "p",
    { class: `verdict best ${shown}${isAsRun ? " stale" : ""}` },
    el("strong", {}, sign, say("best_gate", { outcome: say(shown) })),
    isAsRun ? asRunMark() : null,
    el("span", { class: "why" }, given(runSaid(message))),
  );
}

function countLine({ counts, run }) {
  const [good, warn] = run.data.scenario.bands.map(short);
  const groups = run.groups === null ? null : new Set(run.groups).size;
  const shown = ["passed", "failed", "error", "xfailed", "skipped"].filter(
    (outcome) => counts[outcome] && (outcome !== "passed" || canFail(run)),
  );
  return el(
    "p",
    { class: "counts" },
    say("labelled", { name: say("samples"), value: counts.ran }),
    shown.map((outcome) => el("span", {}, badge(outcome), ` ${counts[outcome]}`)),
    groups === null
      ? null
      : el(
          "span",
          { class: "note" },
          sayGiven(groups === 1 ? "grouped_one" : "grouped", {
            n: run.n,
            groups,
            field: run.data.scenario.group_by,
          }),
        ),
    el("span", { class: "note" }, say("bands_are", { good, warn })),
  );
}

/** The means that people's labels give come first. */
function leadingFirst(app) {
  const led = ledByPeople(app);
  return [...led, ...targetsOf(app.run).filter((target) => !led.includes(target))];
}

function card(app, target) {
  const { state, run } = app;
  const summary = state.summaries[target];
  const before = run.asRun.summaries[target].weighted_mean;
  const judge = summary.weighted_mean;
  const isByPeople = peoplesMean(app, target) !== null;
  const estimate = estimateOf(app, target);
  const shown = isByPeople ? correctedOf(app, target) : (estimate ?? { ...summary, mean: judge });
  const metric = target === WEIGHTED ? null : metricOf(run, target);
  const isWhole = target === WEIGHTED;
  const isJudges = isWhole && !isByPeople && ledByPeople(app).length > 0;
  const rows = [
    [
      say("interval_short"),
      shown.ci_low === null ? say("no_interval") : `${fixed(shown.ci_low)}–${fixed(shown.ci_high)}`,
    ],
    isWhole ? null : [say("weight"), short(state.weights.metrics[target])],
    [say("scored"), `${summary.n}/${summary.n + summary.unscored}`],
    failedOf(run, target) ? [say("failed_scores"), String(failedOf(run, target))] : null,
  ].filter(Boolean);
  return cardFrame(
    target,
    target === leadingFirst(app)[0],
    [figure(shown.mean), " ", isJudges ? byTheJudge() : bandBadge(run, target, shown.mean)],
    isSame(before, judge) ? null : el("p", { class: "was" }, say("was", { value: figure(before) })),
    intervalPlot(state, target, shown, gateBounds(run, target)),
    byPeople(app, target),
    isByPeople ? el("p", { class: "note" }, say("by_the_judge", { value: figure(judge) })) : null,
    estimate ? el("p", { class: "note" }, say("mean_of_asked", { value: figure(judge) })) : null,
    definitions(rows),
    metric && !metric.higher_is_better ? el("p", { class: "note" }, say("lower_is_better")) : null,
    metric ? unusableReplies(metric) : null,
  );
}

/** How many replies of the judge could not be used, and why; nothing where all of them could. */
function unusableReplies({ replies }) {
  if (!replies) return null;
  const { usable, ...faults } = replies;
  const n = Object.values(faults).reduce((sum, count) => sum + count, 0);
  const kinds = Object.entries(faults).map(([kind, count]) => `${say(`fault_${kind}`)} ${count}`);
  const value = say("unusable_replies", { n, of: n + usable });
  return el("p", { class: "note" }, say("labelled", { name: value, value: kinds.join(say("comma")) }));
}

/** Where people labelled, the weighted score is no verdict of theirs. */
function byTheJudge() {
  return el("span", { class: "badge none" }, say("judge"));
}

function cardFrame(target, isLarge, marks, ...more) {
  return el(
    "article",
    { class: isLarge ? "card whole" : "card", "aria-label": nameOf(target), "data-target": target },
    el("h3", {}, given(nameOf(target))),
    el("p", { class: "figure" }, marks),
    more,
  );
}

function isSame(a, b) {
  return a === b || (a !== null && b !== null && Math.abs(a - b) <= 1e-12);
}

function gateBounds(run, target) {
  return run.data.gates
    .filter((gate) => gate.kind === "mean" && gate.target === target)
    .flatMap((gate) => gate.ends)
    .filter((end) => end !== null);
}

/** Marks what is of the run, whatever the weights are now. */
function asRunMark() {
  return el("span", { class: "as-run", title: say("as_run_title") }, say("as_run"));
}

function gatesSection(app) {
  const { state, run } = app;
  if (!state.gates.length) return section("gates", hint(say("no_gates")));
  const before = new Map(run.asRun.gates.map((gate) => [gate.name, gate.outcome]));
  return section("gates", gateTable(state.gates.map((gate) => gateRow(gate, before.get(gate.name)))));
}

function gateTable(rows) {
  const heads = [
    say("gate"),
    say("verdict"),
    numberHead(say("observed")),
    numberHead(say("bound")),
    say("details"),
  ];
  return table(say("gates"), heads, rows, { class: "gates" });
}

function gateRow(gate, before) {
  const isFlipped = before !== undefined && before !== gate.outcome;
  return el(
    "tr",
    { class: isFlipped ? "flipped" : gate.isAsRun ? "stale" : null },
    el("th", { scope: "row" }, given(gate.name)),
    el(
      "td",
      {},
      badge(gate.outcome),
      isFlipped
        ? el("span", { class: "was" }, say("flipped_from", { outcome: say(before) }))
        : null,
      " ",
      gate.isAsRun ? asRunMark() : null,
    ),
    el("td", { class: "number" }, figure(gate.observed ?? null)),
    el("td", { class: "number" }, figure(gate.bound ?? null)),
    el("td", { class: "message" }, given(gate.message())),
  );
}

function trendSection(app) {
  const { trend } = app.run.data.run;
  if (trend.length < 2) return null;
  const plots = targetsOf(app.run).map((target) =>
    trendOf(trend, target, plotRange(app.state, target)),
  );
  return section("trend", hint(say("trend_hint")), el("div", { class: "grid" }, plots));
}

function trendOf(trend, target, range) {
  const values = trend.map((point) =>
    Object.hasOwn(point.means, target) ? point.means[target] : null,
  );
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const breaks = trend.map(({ changed }) => changed?.[target] ?? "");
  const begin = Math.max(0, breaks.findLastIndex(Boolean));
  // Since what is measured changed last.
  const alike = values.slice(begin).filter((value) => value !== null);
  const ends = { first: fixed(alike[0] ?? known.at(-1)), last: fixed(known.at(-1)) };
  const label = say("trend_label", { name: nameOf(target), n: alike.length, ...ends });
  const words = el("span", { class: "note" }, `${ends.first} → ${ends.last}`);
  const plot = trendPlot(
    values,
    trend.map((point) => point.id),
    range,
    label,
    breaks,
  );
  const why = begin ? el("p", { class: "note" }, say("trend_anew", { why: breaks[begin] })) : null;
  const caption = el("figcaption", {}, given(nameOf(target)), words);
  return el("figure", { class: "small" }, caption, plot, why);
}

function distributions(app) {
  const plots = targetsOf(app.run).map((target) => distribution(app.state, target));
  return section(
    "distributions",
    hint(say("distribution_hint")),
    el("div", { class: "grid" }, plots),
  );
}

function distribution(state, target) {
  const values = Float64Array.from(scoredOf(state, target, state.run.all)[0]).sort();
  const quartiles = values.length ? quartilesOf(values) : null;
  const words = quartiles ? el("span", { class: "note" }, say("quartiles", quartiles)) : null;
  const plot = quartiles
    ? histogram(state, target, values, quartiles)
    : el("p", { class: "none" }, say("nothing_scored"));
  return el("figure", { class: "small" }, el("figcaption", {}, given(nameOf(target)), words), plot);
}
