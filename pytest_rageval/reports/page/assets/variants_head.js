// The top of the page of variants: what each of them breaks, in sentences, and what says the gate "best".

const GATES_SAID = 4; // of a variant: the others are counted

function variantsHeader(app) {
  const { data } = app;
  const { metric, common, total } = data.ranking;
  return el(
    "header",
    { class: "top" },
    toolBar(app),
    el("h1", {}, given(data.title)),
    description(data.description),
    breaksPart(app),
    definitions(
      [
        [say("ranked_by"), given(nameOf(metric))],
        [say("samples"), say("common_of", { common, total })],
      ],
      { class: "facts" },
    ),
    data.ranking.complete ? null : notice(say("incomplete")),
    app.differing.length
      ? notice(say("self_check", { names: app.differing.join(", ") }))
      : null,
    warningsOf(app).map((words) => notice(words)),
  );
}

/** The gate "best", and a line for each variant; those that break something come first. */
function breaksPart(app) {
  const { best, contest } = app.data;
  const ran = [...app.columns].sort((a, b) => hasBroken(b) - hasBroken(a));
  const missing = contest.names.filter((name) => !app.columnOf.has(name));
  return el(
    "div",
    { id: "breaks" },
    best ? bestVerdict(...best, isChanged(app)) : null,
    el(
      "ul",
      { class: "breaks", "aria-label": say("variants") },
      ran.map((column) => brokenBy(app, column)),
      missing.map((name) => breaksLine(name, "partial", null, [say("did_not_run")])),
    ),
  );
}

function hasBroken({ state }) {
  return state.verdict.outcome === "failed";
}

function brokenBy(app, column) {
  const { name, state } = column;
  const mean = app.ranking.variants.find((one) => one.name === name)?.mean ?? null;
  const words = [...gatesSaid(state), rowsSaid(app, column), ...unscoredSaid(column)].filter(Boolean);
  const said = words.length ? words : [say("breaks_nothing")];
  return breaksLine(name, state.verdict.outcome, mean, said, state.verdict.isAsRun);
}

function breaksLine(name, outcome, mean, words, isAsRun = false) {
  return el(
    "li",
    { "data-breaks": name },
    el("span", {}, badge(outcome), isAsRun ? asRunMark() : null),
    el("span", { class: "name" }, given(name), mean === null ? null : [" ", el("span", { class: "note" }, fixed(mean))]),
    el("div", {}, words.map((said) => el("p", {}, said))),
  );
}

function gatesSaid({ gates, verdict }) {
  const failed = gates.filter(({ outcome }) => outcome === "failed");
  const said = failed.slice(0, GATES_SAID).map((gate) => [
    sayGiven("breaks_gate", { gate: gate.name, said: readOut(gate.message()) }),
    gate.isAsRun ? asRunMark() : null,
  ]);
  if (failed.length > GATES_SAID) said.push(say("breaks_more", { n: failed.length - GATES_SAID }));
  if (verdict.openGates) said.push(say("open_gates", { n: verdict.openGates }));
  return said;
}

/** How many answers fail, or are low, and by which checks: leads to them. */
function rowsSaid(app, column) {
  const { run, rows, state } = column;
  const which = app.columns.indexOf(column);
  const of = app.facts.filter(({ outcomes }) => ![null, "skipped"].includes(outcomes[which])).length;
  const places = rows.filter((place, at) => app.facts[at].failed[which]);
  if (!places.length) return null;
  const n = places.length;
  const errors = places.filter((place) => state.outcomes[place] === "error").length;
  const key = errors === n ? "breaks_errors" : isJudged(run) ? "breaks_rows" : "breaks_low";
  const words = say(key, { n, of }) + (errors && errors < n ? say("breaks_of_them", { n: errors }) : "");
  const counts = new Map();
  for (const { name } of places.flatMap((place) => missedChecks(state, place)))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const checks = [...counts].sort((a, b) => b[1] - a[1]).map(([name, by]) => `${nameOf(name)} ${by}`);
  const show = () => app.showRows({ which: "a_fail", a: which });
  const link = button(words, show, { class: "link" });
  return checks.length ? [link, say("breaks_by"), given(checks.join(say("next_name")))] : link;
}

/** What a judge, another metric or the target failed on, with the first error. */
function unscoredSaid({ run }) {
  const { samples } = run.data;
  const of = run.n;
  const said = (key, places, name) => {
    const error = remarksOf(run, places[0]).find((remark) => remark.kind === "error" && remark.name === name);
    const text = error ? beginning(run, error.text).split("\n", 1)[0] : "";
    return el("span", { class: "problem" }, sayGiven(key, { name, n: places.length, of, text }));
  };
  return [
    samples.unanswered.length ? said("breaks_target", samples.unanswered, TARGET_ERROR) : null,
    ...run.metrics.flatMap((metric) => [
      metric.failed.length ? said("breaks_metric", metric.failed, metric.name) : null,
      unusableReplies(metric),
    ]),
  ];
}

const TARGET_ERROR = "target";

/** What the runs warn of, each once, with the variants that it is of where it is not of all. */
function warningsOf({ columns }) {
  const found = new Map();
  for (const { name, run } of columns) {
    const { samples, scenario } = run.data;
    const n = samples.invalid.length;
    const invalid = n ? [say("rows_invalid", { n, of: run.n })] : [];
    const budget = scenario.beyond_budget ? [say("budget_spent", { n: scenario.beyond_budget })] : [];
    for (const text of [...invalid, ...budget, ...scenario.warnings])
      found.set(text, [...(found.get(text) ?? []), name]);
  }
  return [...found].map(([text, names]) =>
    names.length === columns.length
      ? given(text)
      : sayGiven("labelled", { name: names.join(say("next_name")), value: text }),
  );
}
