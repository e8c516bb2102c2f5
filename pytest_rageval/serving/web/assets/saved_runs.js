// The saved runs of a scenario: their list, and any two of them compared. Reports draw the trend.

function historySection(app) {
  const { points } = app;
  if (points === null) return section("history", el("p", { class: "loading" }, say("loading")));
  if (!points.length) return section("history", hint(say("no_history")));
  return section("history", runTable(app, points.toReversed()), olderRuns(app));
}

/** The way to the older runs; once the server gives no more of them, how many these are. */
function olderRuns(app) {
  const n = app.count - app.points.length;
  if (n <= 0) return null;
  if (app.points.length < app.asked) return hint(say("n_older", { n: grouped(n) }));
  return button(say("older_runs"), () => app.loadPoints(app.chosen, app.asked * 4));
}

function runTable(app, points) {
  const heads = [
    say("started"),
    ...(hasVariants(app) ? [say("variant")] : []),
    say("verdict"),
    numberHead(say("weighted_score")),
    say("changed_for_run"),
    el("th", { scope: "col", class: "commit" }, say("commit")),
    say("page"),
  ];
  const rows = points.map((point) => runRow(point, hasVariants(app)));
  return table(say("runs"), heads, rows, { class: "runs" });
}

function runRow(point, namesVariant) {
  const name = moment(point.started_at);
  const open = pageLink(point, say("open"), { "aria-label": `${say("open")} ${name}` });
  return el(
    "tr",
    { "data-run": point.run },
    el("th", { scope: "row" }, name),
    namesVariant ? el("td", {}, given(point.variant)) : null,
    el("td", {}, badge(point.verdict)),
    el("td", { class: "number" }, figure(point.weighted_score.mean), notesOn(point)),
    el("td", { class: "overridden" }, point.overridden.length ? overriddenWords(point) : ""),
    el("td", { class: "commit" }, point.commit ? given(point.commit.slice(0, 12)) : ""),
    el("td", {}, open),
  );
}

/** What was not as in the file, weights of metrics with their numbers. */
function overriddenWords({ overridden, metrics = {} }) {
  const weights = new Map(
    Object.entries(metrics).map(([name, { weight }]) => [`metric_weights.${name}`, weight]),
  );
  const named = (path) => (weights.has(path) ? `${path} ${weights.get(path)}` : path);
  return given(inAList(overridden.map(named)));
}

function comparePoints(app) {
  const points = (app.points ?? []).toReversed();
  if (app.points === null) return null;
  const options = [
    ...points.map((point) => ({ value: point.run, label: pointWords(point) })),
    ...app.baselines.map((name) => ({ value: name, label: say("baseline_run", { name }) })),
  ];
  if (options.length < 2) return section("comparison", hint(say("two_needed")));
  // The newest two, until others are chosen.
  app.pair ??= [options[0].value, options[1].value];
  const pick = (at) => (run) => {
    app.pair[at] = run;
    app.isPicked = true;
    app.compared = null;
    app.compareBody.replaceChildren();
    compare.disabled = app.pair[0] === app.pair[1];
  };
  const compare = button(say("compare"), () => comparePair(app));
  compare.disabled = app.pair[0] === app.pair[1];
  app.compareBody = el("div", { role: "status" });
  showComparison(app);
  return section(
    "comparison",
    hint(say("compare_hint")),
    el(
      "div",
      { class: "controls" },
      choice(say("run_a"), options, app.pair[0], pick(0)),
      choice(say("run_b"), options, app.pair[1], pick(1)),
      compare,
    ),
    app.compareBody,
  );
}

function pointWords(point) {
  const score = figure(point.weighted_score.mean);
  const variant = point.variant ? `${point.variant} · ` : "";
  return `${variant}${moment(point.started_at)} · ${score} · ${say(point.verdict)}`;
}

async function comparePair(app) {
  const { chosen } = app;
  const [a, b] = app.pair;
  const isAsked = () => app.chosen === chosen && app.pair[0] === a && app.pair[1] === b;
  app.compareBody.replaceChildren(el("p", { class: "loading" }, say("loading")));
  try {
    const found = await ask(query("/api/compare", { scenario: chosen, a, b }));
    if (isAsked()) app.compared = { found, problem: null };
  } catch (refusal) {
    if (!isForAll(app, refusal) && isAsked())
      app.compared = { found: null, problem: refusal.message };
  }
  if (isAsked()) showComparison(app);
}

function showComparison(app) {
  const { compared } = app;
  if (compared === null) app.compareBody.replaceChildren();
  else if (compared.found === null)
    app.compareBody.replaceChildren(el("p", { class: "problem" }, given(serverSaid(compared.problem))));
  else app.compareBody.replaceChildren(...comparedParts(compared.found).flat());
}

function comparedParts({ n, ...found }) {
  const rows = Object.entries(found.metrics).map(([name, metric]) => ({
    name,
    a_mean: metric.A_mean,
    b_mean: metric.B_mean,
    ...metric,
  }));
  const known = { run: { metric: new Map(rows.map(withDirection)) } };
  const counts = [say("compared_samples", { n })];
  if (found.better !== null)
    counts.push(" ", say("compared_scores", { better: found.better, worse: found.fell }));
  return [
    hint(...counts),
    found.remarks.map((text) => notice(given(runSaid(text)))),
    comparisonTable(known, found, rows, say("compared_metrics")),
    worseTable(found.worse),
  ];
}

/** Which way a metric is better, as the server's verdict on a significant difference says. */
function withDirection({ name, verdict, diff }) {
  return [name, { name, higher_is_better: (verdict === "better") === diff > 0 }];
}

function causeWords({ cause, cause_reason: reason }) {
  if (!cause) return "–";
  return sayGiven("labelled", { name: say(`value_${cause}`), value: reason });
}

function worseTable(worse) {
  if (!worse.length) return [];
  const heads = [
    say("sample"),
    say("question"),
    numberHead("A"),
    numberHead("B"),
    numberHead(say("difference")),
  ];
  const hasCauses = worse.some(({ cause }) => cause);
  if (hasCauses) heads.push(say("cause"));
  const rows = worse.map(({ id, question, a, b, diff, ...why }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, given(id)),
      el("td", { class: "said" }, given(question ?? "–")),
      el("td", { class: "number", "data-name": "A" }, figure(a)),
      el("td", { class: "number", "data-name": "B" }, figure(b)),
      el("td", { class: "number", "data-name": "A − B" }, diff === null ? "–" : signed(diff)),
      hasCauses ? el("td", { class: "said" }, causeWords(why)) : null,
    ),
  );
  return [
    el("h3", { class: "subsection" }, say("got_worse")),
    table(say("got_worse"), heads, rows, { class: "worse" }),
  ];
}
