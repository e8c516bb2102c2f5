// The head of the report: the verdict, what failed in a sentence each, and the figure that leads.

const MOST_GATES_SAID = 8;
const MOST_REASONS = 2;

function verdictSection(app) {
  const { state, run } = app;
  return section(
    "verdict",
    verdictLine(state.verdict, run.asRun.verdict.outcome),
    el("ul", { class: "failures" }, failures(app)),
    leadingFigures(app),
    lackingScores(app),
    notices(app),
  );
}

/** A line for each gate that failed or is undecided, then for what became of samples. */
function failures(app) {
  const { gates } = app.state;
  const of = (outcome) => gates.filter((gate) => gate.outcome === outcome);
  const [failed, open] = [of("failed"), of("skipped")];
  const shown = [...failed, ...open].slice(0, MOST_GATES_SAID);
  const more = failed.length + open.length - shown.length;
  return [
    ...shown.map((gate) => gateLine(app, gate)),
    more > 0 ? failure("failed", [el("a", { href: "#gates" }, say("more_gates", { n: more }))]) : null,
    ...errorLines(app),
    missedLine(app),
  ];
}

function failure(kind, said) {
  const sign = el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[kind]);
  return el("li", { class: kind }, sign, el("span", {}, said));
}

function gateLine({ run }, gate) {
  const isOpen = gate.outcome === "skipped";
  const asked = run.data.gates.find((one) => one.name === gate.name);
  const isComputed = asked === undefined || CHECKS[asked.kind] !== undefined;
  const message = isComputed ? (gate.headline ?? gate.message)() : runSaid(briefly(asked.run[3]));
  return failure(isOpen ? "partial" : "failed", [
    el("strong", {}, given(gate.name)),
    " ",
    isOpen ? `${say("undecided")}${say("semicolon")}` : null,
    given(readOut(message)),
    gate.isAsRun ? asRunMark() : null,
  ]);
}

/** A gate's message with its sign in words: `0.6100 < 0.7000` is "0.6100 is below 0.7000". */
function readOut(message) {
  return message.replace(/(-?\d+\.\d{4}) ([<>]) (-?\d+\.\d{4})/g, (_, value, sign, bound) =>
    say(sign === "<" ? "is_below" : "is_above", { value, bound }),
  );
}

/** What the run said of a comparison, without how it was tested: the section below has that. */
function briefly(message) {
  return message.replace(/ \((?:max-T|holm)[^)]*\)|, n \d+(?=;|$)|; mode \w+, max_drop [\d.]+/g, "");
}

/** How many samples could not be judged, and why; then the metrics that failed on others. */
function errorLines(app) {
  const { state, run } = app;
  const isError = (at) => state.outcomes[at] === "error";
  const errors = run.all.filter(isError);
  const lines = run.metrics
    .map(({ name, failed }) => [name, failed.filter((at) => run.isExpected[at] && !isError(at))])
    .filter(([, failed]) => failed.length)
    .map(([name, failed]) =>
      failure("error", [
        sayGiven("failed_on", { name, n: failed.length, of: run.n }),
        reasonsFor(run, failed, (remark) => remark.name === name),
      ]),
    );
  if (!errors.length) return lines;
  const words = say("could_not_be_judged", { n: errors.length, of: run.n });
  return [failure("error", [words, reasonsFor(run, errors, () => true)]), ...lines];
}

/** The most frequent errors of these samples, each with how many have it. */
function reasonsFor(run, samples, isAsked) {
  const counts = new Map();
  for (const at of samples) {
    const remarks = remarksOf(run, at);
    const errors = remarks.filter((remark) => remark.kind === "error" && isAsked(remark));
    const said = errors.length ? errors : remarks.filter(({ kind }) => kind === "reason");
    if (!said.length) continue;
    const text = `${said[0].name}: ${beginning(run, said[0].text)}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const found = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_REASONS);
  return found.map(([text, n]) => [
    el("br"),
    el("span", { class: "note" }, n > 1 ? `${n} × ` : "", given(text)),
  ]);
}

/** How many samples failed, and which thresholds they miss. */
function missedLine({ state, run }) {
  const failed = run.all.filter((at) => state.outcomes[at] === "failed");
  if (!failed.length) return null;
  const missed = (name) =>
    failed.filter((at) => state.shortfalls[at].some((one) => one.ends !== null && one.name === name));
  const by = run.data.scenario.thresholds
    .map((threshold) => [threshold, missed(threshold[0]).length])
    .filter(([, n]) => n)
    .map(([threshold, n]) => `${nameOf(threshold[0])} ${thresholdText(threshold)} (${n})`);
  const refused = failed.filter((at) => state.shortfalls[at].some(({ ends }) => ends === null)).length;
  if (refused) by.push(`${say("refused")} (${refused})`);
  const words = say("samples_failed", { n: failed.length, of: state.counts.ran });
  const why = by.length ? say("labelled", { name: say("missed"), value: by.join(say("comma")) }) : "";
  return failure("failed", [words, why ? [say("semicolon"), given(why)] : null]);
}

/** The weighted score; where people labelled, the means that their labels give, and the judge's. */
function leadingFigures(app) {
  const led = ledByPeople(app);
  return el("p", { class: "lead" }, led.length ? led.map((name) => peoplesLead(app, name)) : weightedLead(app));
}

/** The scores whose mean people's labels give. */
function ledByPeople(app) {
  return targetsOf(app.run).filter((target) => peoplesMean(app, target) !== null);
}

function weightedLead({ state, run }) {
  const { weighted_mean: mean, ci_low: low, ci_high: high, n } = state.summaries[WEIGHTED];
  const before = run.asRun.summaries[WEIGHTED].weighted_mean;
  return el(
    "span",
    {},
    say("weighted_score"),
    " ",
    el("strong", {}, figure(mean)),
    " ",
    bandBadge(run, WEIGHTED, mean),
    el("span", { class: "note" }, [intervalWords(low, high), say("of_scores", { n })].filter(Boolean).join(say("comma"))),
    isSame(before, mean) ? null : el("span", { class: "was" }, ` ${say("was", { value: figure(before) })}`),
  );
}

function peoplesLead(app, name) {
  const { mean, ci_low: low, ci_high: high, labels } = correctedOf(app, name);
  const judge = app.state.summaries[name].weighted_mean;
  const said = [intervalWords(low, high), say("n_labels", { n: labels })].filter(Boolean);
  return el(
    "span",
    {},
    given(nameOf(name)),
    say("by_people_here"),
    el("strong", {}, fixed(mean)),
    " ",
    bandBadge(app.run, name, mean),
    el("span", { class: "note" }, said.join(say("comma"))),
    app.state.changed.docs ? asRunMark() : null,
    el("span", { class: "note" }, say("by_the_judge", { value: figure(judge) })),
  );
}

function intervalWords(low, high) {
  return low === null ? "" : say("interval_words", { low: fixed(low), high: fixed(high) });
}

/** The metrics that not every sample has a score of. */
function lackingScores({ state, run }) {
  const lacking = run.metrics
    .map(({ name }) => [name, state.summaries[name]])
    .filter(([, { unscored }]) => unscored)
    .map(([name, { n, unscored }]) => `${name} ${n}/${n + unscored}`);
  if (!lacking.length) return null;
  return el("p", { class: "note" }, sayGiven("labelled", { name: say("lacking_scores"), value: lacking.join(say("comma")) }));
}
