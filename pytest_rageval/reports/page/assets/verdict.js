// The head of the report: the verdict, what failed in a sentence each, and the figure that leads.

const MOST_GATES_SAID = 8;
const MOST_MISSING = 4;

function verdictSection(app) {
  const { state, run } = app;
  return section(
    "verdict",
    verdictLine(state.verdict, run.asRun.verdict.outcome),
    el("ul", { class: "failures" }, failures(app)),
    missingLines(app),
    leadingFigures(app),
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
    errorLine(app),
    missedLine(app),
  ];
}

function failure(kind, said) {
  const sign = signOf(SIGNS[kind]);
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

/** What the run said of a comparison, without how it was tested: the section below has that. */
function briefly(message) {
  return message.replace(/ \((?:max-T|holm)[^)]*\)|, n \d+(?=;|$)|; mode \w+, max_drop [\d.]+/g, "");
}

/** How many samples could not be judged; why, where the lines below do not say it. */
function errorLine({ state, run }) {
  const errors = run.all.filter((at) => state.outcomes[at] === "error");
  if (!errors.length) return null;
  const words = say("could_not_be_judged", { n: errors.length, of: state.counts.ran });
  const isSaid = run.data.missing.some(([, reason, isError]) => isError && reason);
  const first = isSaid ? null : remarksOf(run, errors[0]).find(({ kind }) => kind === "error");
  const why = first ? [say("for_instance"), given(`${first.name}: ${beginning(run, first.text)}`)] : null;
  return failure("error", [words, why]);
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
  const figures = led.length ? led.map((name) => peoplesLead(app, name)) : weightedLead(app);
  return el("p", { class: "lead" }, figures);
}

/** The scores whose mean people's labels give. */
function ledByPeople(app) {
  return targetsOf(app.run).filter((target) => peoplesMean(app, target) !== null);
}

function weightedLead(app) {
  const { state, run } = app;
  const { weighted_mean: asked, n } = state.summaries[WEIGHTED];
  const estimate = estimateOf(app, WEIGHTED);
  const { mean, ci_low: low, ci_high: high } = estimate ?? { ...state.summaries[WEIGHTED], mean: asked };
  const before = estimate ? mean : run.asRun.summaries[WEIGHTED].weighted_mean;
  const scores = estimate ? say("estimated_of_all") : say("of_scores", { n });
  const said = [intervalWords(low, high), scores].filter(Boolean);
  return el(
    "span",
    {},
    say("weighted_score"),
    " ",
    el("strong", {}, figure(mean)),
    " ",
    el("span", { class: "note" }, said.join(say("comma"))),
    isSame(before, mean) ? null : el("span", { class: "was" }, ` ${say("was", { value: figure(before) })}`),
  );
}

/** The mean over all rows where a sample of them was asked; null with weights that did not run. */
function estimateOf({ state, run }, target) {
  const found = (run.data.scenario.sampled?.means ?? []).find(([name]) => name === target);
  const ran = run.asRun.summaries[target].weighted_mean;
  if (!found || !isSame(ran, state.summaries[target].weighted_mean)) return null;
  const [, mean, low, high] = found;
  return { mean, ci_low: low, ci_high: high };
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
    el("span", { class: "note" }, said.join(say("comma"))),
    app.state.changed.docs ? asRunMark() : null,
    " ",
    el("span", { class: "note" }, say("by_the_judge", { value: figure(judge) })),
  );
}

function intervalWords(low, high) {
  return low === null ? "" : say("interval_words", { low: fixed(low), high: fixed(high) });
}

/** What is in no figure, and which figures leave something open. */
function missingLines({ run, state }) {
  const failed = failedNames(state);
  const said = run.data.gates.filter(({ name, remark }) => remark && failed.has(name));
  const isSaid = ([text]) => said.some(({ remark }) => text.endsWith(remark));
  const found = run.data.missing.filter((line) => !isSaid(line));
  if (!found.length) return null;
  // What failed is never folded.
  const errors = found.filter(([, , isError]) => isError);
  const others = found.filter(([, , isError]) => !isError);
  const line = ([text, reason]) =>
    el("li", {}, given(missingSaid(text)), reason ? [say("for_instance"), given(reason)] : null);
  const open = Math.max(0, MOST_MISSING - errors.length);
  const shown = [...errors, ...others.slice(0, open)].map(line);
  const folded = others.slice(open).map(line);
  return el(
    "div",
    { class: "missing" },
    el("ul", {}, shown),
    folded.length
      ? el("details", {}, el("summary", {}, say("more_missing", { n: folded.length })), el("ul", {}, folded))
      : null,
  );
}
