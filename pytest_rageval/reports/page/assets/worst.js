// The worst answers, open: what was asked, answered and expected, and why the score is low.

const WORST_SHOWN = 10;
const CALM_SHOWN = 3; // where nothing failed
const MOST_WORST = 200;
const MOST_SCORES = 6;
const MOST_SAID = 4;
const MOST_OPEN = 3; // contexts

/** What is looked at first: what fell since a baseline, else the lowest by what a gate failed. */
function firstWorst(run) {
  for (const plan of worseFirst(run)) {
    const compared = comparedTarget(run, plan);
    if (compared !== undefined && changedSamples(run, plan, compared).worse.n > 0)
      return { view: "worse", target: compared, plan, isWhole: false };
  }
  return { view: "lowest", target: failedTarget(run), plan: run.data.comparisons[0], isWhole: false };
}

/**
 * The metric that all failed gates are about, or that people labelled where no other tells; the
 * weighted score where there is no such metric.
 */
function failedTarget(run) {
  const failed = failedNames(run.asRun);
  const targets = run.data.gates
    .filter(({ name }) => failed.has(name))
    .flatMap((gate) => gate.targets ?? (gate.inner ?? gate).target ?? []);
  const found = [...new Set(targets)].filter((target) => metricOf(run, target));
  if (found.length === 1 && found[0] !== WEIGHTED) return found[0];
  const labelled = run.data.human.filter(({ labels }) => labels.length).map(({ metric }) => metric);
  const isPlain = labelled.length === 1 && (!found.length || run.metrics.length === 1);
  return isPlain && metricOf(run, labelled[0]) ? labelled[0] : WEIGHTED;
}

function worstSection(app) {
  const { run, state, worst } = app;
  if (!run.n) return null;
  const isCalm = state.verdict.outcome === "passed";
  const { list, n, note } = WORST_VIEWS[worst.view](app, worst.target);
  const size = worst.isWhole ? MOST_WORST : isCalm ? CALM_SHOWN : WORST_SHOWN;
  const shown = list.slice(0, size);
  const answers = shown.map((found) => worstAnswer(app, found));
  const isMarked = answers.some((made) => made.querySelector("mark:not(.unsupported)"));
  const legend = isMarked ? [" ", say("marked_words")] : null;
  const made = section(
    "worst",
    el("div", { class: "controls" }, worstControls(app), hint(note, legend)),
    shown.length ? null : el("p", { class: "none", role: "status" }, say("nothing_here")),
    answers,
    worstMore(app, n, shown.length),
  );
  made.classList.toggle("calm", isCalm);
  return made;
}

const WORST_VIEWS = {
  lowest: (app, target) => ({ ...lowestSamples(app, target), note: lowestNote(app, target) }),
  worse: (app, target) => changedView(app, target, "worse"),
  better: (app, target) => changedView(app, target, "better"),
};

function lowestNote({ state, run }, target) {
  const name = nameOf(target);
  if (state.verdict.outcome === "passed" && !state.verdict.toleratedSamples) return sayGiven("nothing_failed", { name });
  if (exceededBound({ run, state }, target) !== null) return sayGiven("highest_by", { name });
  const isByPeople = peoplesUnits(run, target).size > 0;
  return sayGiven(isByPeople ? "lowest_by_people" : "lowest_by", { name });
}

function changedView(app, target, which) {
  const { run, state } = app;
  const { plan } = app.worst;
  const changed = changedSamples(run, plan, target);
  const isOther = (at) => state.outcomes[at] === "error" && !changed.isWorse(at);
  const errors = which === "worse" ? run.all.filter(isOther) : [];
  return {
    list: [...errors.map((at) => ({ at })), ...changed[which].list].slice(0, MOST_WORST),
    n: errors.length + changed[which].n,
    note: [sinceWords(run, plan, target), affects(state, target) ? [" ", asRunMark()] : null],
  };
}

/** How many samples became worse; how many of these had fallen in the first baseline already. */
function sinceWords(run, plan, target) {
  const { isWorse, worse, better, equal } = changedSamples(run, plan, target);
  const counts = { worse: worse.n, better: better.n, equal };
  const said = sayGiven("since_baseline", { name: nameOf(target), baseline: plan.baseline, ...counts });
  const [first] = run.data.comparisons;
  if (plan === first || !Object.hasOwn(first.then, target)) return said;
  const { isKept } = changedSamples(run, first, target);
  const n = run.all.filter((at) => isWorse(at) && isKept(at)).length;
  return n ? [...said, " ", ...sayGiven("had_fallen", { n, baseline: first.baseline })] : said;
}

/**
 * What became worse and better since a baseline, by most first; what lost its score stands
 * before all others. With the weights of the run, which the baseline is weighed by.
 */
function changedSamples(run, plan, target) {
  plan.changed ??= new Map();
  if (!plan.changed.has(target)) plan.changed.set(target, findChanged(run, plan, target));
  return plan.changed.get(target);
}

function findChanged(run, { then, now }, target) {
  const sign = metricOf(run, target).higher_is_better ? 1 : -1;
  const scores = scoresOf(run.asRun, target);
  const after = (at) => now[target]?.[at] ?? scores[at];
  const changes = Float64Array.from(then[target], (before, at) => {
    if (before === null || !run.isExpected[at]) return NaN;
    return after(at) === null ? -Infinity : sign * differenceOf(after(at), before);
  });
  const lowest = (samples, by) => ({
    n: samples.length,
    list: lowestOf(samples, by).map((at) => ({ at, before: then[target][at], after: after(at) })),
  });
  const isWorse = (at) => changes[at] < 0;
  return {
    isWorse,
    isKept: (at) => changes[at] >= 0,
    worse: lowest(run.all.filter(isWorse), (at) => changes[at]),
    better: lowest(run.all.filter((at) => changes[at] > 0), (at) => -changes[at]),
    equal: changes.reduce((sum, by) => sum + (by === 0), 0),
  };
}

/** The samples with the lowest keys, of equal ones the first: no more than are ever shown. */
function lowestOf(samples, keyOf) {
  const keys = Float64Array.from(samples, keyOf).sort();
  const last = keys[Math.min(keys.length, MOST_WORST) - 1];
  const below = samples.filter((at) => keyOf(at) <= last);
  const difference = (a, b) => (keyOf(a) === keyOf(b) ? a - b : keyOf(a) - keyOf(b));
  return below.sort(difference).slice(0, MOST_WORST);
}

/**
 * Samples below the best score: errors, failures, the rest, the lowest first. What people say of
 * an answer counts before what a judge says.
 */
function lowestSamples({ run, state }, target) {
  const metric = metricOf(run, target);
  const scores = scoresOf(state, target);
  const people = peoplesUnits(run, target);
  const most = exceededBound({ run, state }, target);
  const isUnknown = (at) => scores[at] === null && run.metrics.some(({ hasFailed }) => hasFailed[at]);
  const isBounded = Number.isFinite(rangeOfTarget(state, target)[1]);
  const best = isBounded ? 1 - TOLERANCE : Infinity;
  const unitOf = (score, at) => (most !== null ? -score : (people.get(at) ?? toUnit(metric, score)));
  const units = Float64Array.from(scores, (score, at) => {
    if (score !== null || people.has(at)) return unitOf(score, at);
    return isUnknown(at) ? -Infinity : Infinity;
  });
  const byOutcome = new Map(WORST_FIRST.map((outcome) => [outcome, []]));
  run.all.forEach((at) => byOutcome.get(state.outcomes[at]).push(at));
  const isLow = (at) => run.isExpected[at] && units[at] < (most !== null ? -most : best);
  const groups = [
    ...["error", "failed", "xfailed"].map((outcome) => byOutcome.get(outcome)),
    byOutcome.get("passed").filter(isLow),
  ];
  const list = groups.flatMap((samples) => lowestOf(samples, (at) => units[at]));
  const n = groups.reduce((sum, { length }) => sum + length, 0);
  return { list: list.slice(0, MOST_WORST).map((at) => ({ at })), n };
}

/** The largest value that a gate allows of a mean, if that is what failed; else null. */
function exceededBound({ run, state }, target) {
  const found = state.gates.find(({ name, outcome, observed }) => {
    const gate = run.data.gates.find((one) => one.name === name);
    const [, max] = gate?.kind === "mean" && gate.target === target ? gate.ends : [];
    return outcome === "failed" && typeof max === "number" && observed > max;
  });
  return found ? run.data.gates.find(({ name }) => name === found.name).ends[1] : null;
}

/** By sample, what people say of it, 1 for the best: for those labelled as they are now. */
function peoplesUnits(run, target) {
  run.peoplesUnits ??= new Map();
  if (!run.peoplesUnits.has(target)) {
    const said = new Map();
    for (const { metric, labels } of run.data.human) {
      if (metric !== target || !metricOf(run, metric)) continue;
      for (const [at, , level, isStale] of labels) {
        const unit = toUnit(metricOf(run, metric), level);
        if (!isStale) said.set(at, [...(said.get(at) ?? []), unit]);
      }
    }
    const mean = ([at, units]) => [at, fsum(units) / units.length];
    run.peoplesUnits.set(target, new Map([...said].map(mean)));
  }
  return run.peoplesUnits.get(target);
}

/** Which samples are listed, and by which score. */
function worstControls(app) {
  const { run, worst } = app;
  const change = (changes, focused) => {
    app.worst = { ...worst, isWhole: false, ...changes };
    app.redraw("worst");
    document.querySelector(`#worst ${focused}`).focus();
  };
  const plans = run.data.comparisons;
  const compared = Object.keys(worst.plan?.then ?? {});
  const view = (which) =>
    button(viewWords(app, which), () => show(which), {
      class: "toggle view",
      "aria-pressed": String(worst.view === which),
      "data-view": which,
    });
  const targetIn = (names) => (names.includes(worst.target) ? worst.target : names[0]);
  const show = (which) =>
    change(
      { view: which, target: which === "lowest" ? worst.target : targetIn(compared) },
      `[data-view="${which}"]`,
    );
  const views = compared.length ? ["worse", "better", "lowest"].map(view) : [];
  const names = worst.view === "lowest" ? targetsOf(run) : compared;
  const options = names.map((name) => ({ value: name, label: nameOf(name) }));
  const choose = (target) => change({ target }, ".by select");
  const pick = run.metrics.length > 1 ? choice(say("by_score"), options, worst.target, choose) : null;
  pick?.classList.add("by");
  const group = { class: "group", role: "group", "aria-label": say("worst") };
  return [views.length ? el("div", group, views) : null, pick, plans.length > 1 ? pickBaseline() : null];

  function pickBaseline() {
    const chosen = String(plans.indexOf(worst.plan));
    const listed = plans.map(({ baseline }, at) => ({ value: String(at), label: baseline }));
    const choosePlan = (at) => {
      const target = worst.view === "lowest" ? worst.target : targetIn(Object.keys(plans[at].then));
      change({ plan: plans[at], target }, ".against-which select");
    };
    const made = choice(say("against_baseline"), listed, chosen, choosePlan);
    made.classList.add("against-which");
    return made;
  }
}

function viewWords({ run, worst }, which) {
  if (which === "lowest") return say("view_lowest");
  const { then } = worst.plan;
  const target = Object.hasOwn(then, worst.target) ? worst.target : Object.keys(then)[0];
  return say(`view_${which}`, { n: changedSamples(run, worst.plan, target)[which].n });
}

function worstMore(app, n, shown) {
  if (shown >= n) return null;
  const rest = say("rest_in_samples", { n: n - shown });
  if (app.worst.isWhole) return el("p", {}, el("a", { href: "#samples" }, rest));
  const label = n > MOST_WORST ? say("show_first", { n: MOST_WORST, of: n }) : say("show_all", { n });
  const show = () => {
    app.worst = { ...app.worst, isWhole: true };
    app.redraw("worst");
    document.querySelectorAll("#worst article")[shown]?.querySelector("button").focus();
  };
  return button(label, show, { class: "more" });
}

function worstAnswer(app, { at, before, after }) {
  const { run, state } = app;
  const { data } = run;
  const remarks = remarksOf(run, at);
  const id = data.samples.id[at];
  const open = button(given(id), () => app.openSample(at), {
    class: "link",
    "aria-label": say("open_sample", { id }),
  });
  const asked = data.question[at];
  // Beside what it fell from, or where a high score is bad, the band of a score says nothing.
  const isPlain = before === undefined && exceededBound(app, app.worst.target) === null;
  const isEnded = isPlain || canFail(run) || state.outcomes[at] !== "passed";
  return el(
    "article",
    { class: `bad-answer ${state.outcomes[at]}`, "data-worst": at },
    el(
      "div",
      { class: "cell-head" },
      el("h3", {}, open),
      before === undefined ? null : changeWords(app, at, before, after),
      peoplesBadge(app, at) ?? (isEnded ? stateBadge(state, at) : null),
      kindBadge(run, remarks),
      causesOf(remarks),
      worstScores(app, at),
    ),
    asked < 0 ? null : el("p", { class: "asked", dir: "auto" }, beginning(run, asked)),
    answerAndReference(run, at),
    supportOnCard(run, at),
    saidOf(app, at, remarks),
    foldedContexts(run, at),
  );
}

/** What a score was and is; where there are several baselines, in which, and what in the others. */
function changeWords({ run, worst }, at, before, after) {
  const now = after === null ? say("no_score") : fixed(after);
  const change = `${fixed(before)} → ${now}`;
  const others = run.data.comparisons
    .filter((plan) => plan !== worst.plan && typeof plan.then[worst.target]?.[at] === "number")
    .map(({ baseline, then }) => [say("comma"), given(baseline), " ", fixed(then[worst.target][at])]);
  const isOne = run.data.comparisons.length === 1;
  return [
    el("span", { class: "change" }, isOne ? change : [given(worst.plan.baseline), " ", change]),
    others.length ? el("span", { class: "note" }, others.flat().slice(1)) : null,
  ];
}

/** What people say of the answer, which stands before what a judge says; null without labels. */
function peoplesBadge({ run, worst: { target } }, at) {
  const unit = peoplesUnits(run, target).get(at);
  if (unit === undefined || canFail(run)) return null;
  const [good, warn] = run.data.scenario.bands;
  const band = unit >= good ? "good" : unit >= warn ? "warn" : "bad";
  return badgeWith(band, SIGNS[band], [say("people"), say("colon"), say(band)]);
}

/** Whether the answer refuses, where the run looked for that. */
function kindBadge(run, remarks) {
  const found = remarks.find(({ kind, name }) => kind === "details" && name === "answer_kind");
  const text = found && run.data.texts[found.text];
  if (typeof text !== "string") return null;
  const { kind } = JSON.parse(text) ?? {};
  if (!ANSWER_KINDS.includes(kind)) return null;
  return el("span", { class: "badge none kind" }, say(`kind_${kind}`));
}

const ANSWER_KINDS = ["refused", "partial", "answered", "unclear"];

function causesOf(remarks) {
  return remarks
    .filter(({ kind }) => kind === "cause")
    .map(({ name }) => say("labelled", { name: say("cause"), value: say(`value_${name}`) }))
    .map((words) => el("span", { class: "badge none" }, words));
}

/** The score asked for, those that miss a threshold, then others. */
function worstScores({ run, state, worst }, at) {
  const missed = state.shortfalls[at].map(({ name }) => name);
  const all = run.metrics.length > 1 ? targetsOf(run) : run.metrics.map(({ name }) => name);
  const names = [...new Set([worst.target, ...missed, ...all])].filter((name) => all.includes(name));
  const shown = names.slice(0, Math.max(MOST_SCORES, new Set(missed).size));
  const bound = (name) => run.data.scenario.thresholds.find(([of]) => of === name);
  return el(
    "span",
    { class: "scores-line" },
    shown.map((name) =>
      el(
        "span",
        {},
        el("span", { class: "note" }, given(nameOf(name))),
        " ",
        bandedScore(run, name, scoresOf(state, name)[at]),
        missed.includes(name) && bound(name)
          ? el("span", { class: "missed" }, " ", say("missed"), say("colon"), thresholdText(bound(name)))
          : null,
      ),
    ),
  );
}

/** Errors first; reasons of scores that could be better, or that people find too good; people; cause. */
function saidOf({ run, state }, at, remarks) {
  const isLow = (name) => {
    const metric = metricOf(run, name);
    if (!metric || peoplesUnits(run, name).get(at) < 1 - TOLERANCE) return true;
    const score = scoresOf(state, name)[at];
    return score === null || !Number.isFinite(metric.range[1]) || toUnit(metric, score) < 1 - TOLERANCE;
  };
  const errors = remarks.filter(({ kind }) => kind === "error");
  const reasons = remarks.filter(({ kind, name }) => kind === "reason" && isLow(name));
  const alike = new Map(); // what several metrics say alike is said once
  for (const { kind, name, text } of [...errors, ...reasons]) {
    const key = `${kind} ${text}`;
    alike.set(key, { kind, text, names: [...(alike.get(key)?.names ?? []), nameOf(name)] });
  }
  const lines = [...alike.values()].slice(0, MOST_SAID).map(({ kind, names, text }) =>
    el(
      "li",
      { class: kind === "error" ? "problem" : null },
      el("span", { class: "note" }, given(names.join(say("comma"))), say("colon")),
      el("span", { dir: "auto" }, beginning(run, text)),
    ),
  );
  const causes = remarks
    .filter(({ kind }) => kind === "cause")
    .map(({ name, text }) => el("li", {}, toldCause(run, name, text)));
  const made = [...lines, ...peopleLines({ run, state }, at), ...causes];
  return made.length ? el("ul", { class: "said-of" }, made) : null;
}

/** What each person says of a sample, by metric, beside what the judge says. */
function peopleLines({ run, state }, at) {
  return run.data.human.flatMap(({ metric, labels }) => {
    const said = labels.filter(([sample]) => sample === at);
    if (!said.length) return [];
    const list = said.map(([, annotator, level, isStale]) => {
      const who = isStale ? [annotator, say("stale_label")] : [annotator];
      return `${level} (${who.join(say("comma"))})`;
    });
    const score = metricOf(run, metric) ? scoresOf(state, metric)[at] : null;
    const words = (key) => el("span", { class: "note" }, say(key), say("colon"));
    const people = [words("people"), given(list.join(say("comma")))];
    const judge = score === null ? null : [say("semicolon"), words("judge"), fixed(score)];
    return [el("li", {}, el("span", { class: "note" }, given(nameOf(metric)), say("comma")), people, judge)];
  });
}

/** Made when it is opened; open where they alone say what would be right. */
function foldedContexts(run, at) {
  const contexts = run.data.contexts[at];
  if (contexts === null || !contexts.length) return null;
  const isOpen = !run.data.references[at]?.length && contexts.length <= MOST_OPEN;
  const more = contexts.at(-1) < 0 ? -contexts.at(-1) : 0;
  const n = contexts.filter((number) => number >= 0).length + more;
  const fill = (event) => {
    const made = event.target;
    if (!made.open || made.childElementCount > 1) return;
    made.append(...[listOf(run, contexts)].flat().filter(Boolean));
  };
  const made = el("details", { toggle: fill }, el("summary", {}, say("contexts_n", { n })));
  made.open = isOpen; // "toggle" follows, and fills it
  return made;
}
