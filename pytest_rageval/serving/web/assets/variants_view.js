// The variants of a scenario: which of them to run, how far each is, how each ended, how they rank.

function hasVariants({ entry }) {
  return entry.variants.length > 0;
}

/** The variants that the next run takes, in the order of the file. */
function pickedVariants(app) {
  return app.entry.variants.filter((name) => !app.unpicked.has(name));
}

function variantChoice(app) {
  if (app.run === null || !hasVariants(app)) return null;
  const pick = (name) => (event) => {
    if (event.target.checked) app.unpicked.delete(name);
    else app.unpicked.add(name);
    updateRunButtons(app);
  };
  const boxes = app.entry.variants.map((name) => {
    const checked = !app.unpicked.has(name);
    return el("label", {}, el("input", { type: "checkbox", checked, change: pick(name) }), " ", given(name));
  });
  return el("fieldset", { class: "variants" }, el("legend", {}, say("which_variants")), boxes);
}

/** A line for each variant of a run that goes on. */
function variantLines({ detail, entry }, { progress }) {
  const of = new Map((detail?.variants ?? []).map(({ name, outline }) => [name, outline?.samples]));
  const found = entry.variants.filter((name) => progress?.variants?.[name]);
  return found.map((name) => {
    const done = progress.variants[name];
    const words = say("done_of", { done, total: Math.max(of.get(name) ?? 0, done) });
    return el("li", {}, given(name), " ", el("b", {}, words));
  });
}

/** How each variant ended, and how they rank: in the run followed here, else when they last ran. */
function variantsOutcome(app, live) {
  const parts = live === null ? lastParts(app) : liveParts(app, live);
  if (live === null && parts.every(({ point }) => point === null)) return hint(say("run_hint"));
  const contest = live === null ? (app.detail?.contest ?? null) : (live.contest?.contest ?? null);
  const gate = live === null ? (contest?.gate ?? null) : (live.contest?.gate ?? null);
  const points = parts.map(({ point }) => point).filter((point) => point !== null);
  return el(
    "div",
    { class: "ended" },
    el("h3", {}, say(live === null ? "last_runs" : "this_run")),
    verdictLine(jointVerdict(app, live, points, gate)),
    (live?.problems ?? []).map((text) => notice(given(text))),
    contestView(app, contest, gate),
    parts.map((part) => variantView(app, part)),
    isUnclear(live, points.find(({ counts }) => counts.error)) ? terminalView(live.end.terminal) : null,
  );
}

function lastParts({ detail }) {
  return (detail?.variants ?? []).map((found) => ({ name: found.name, point: found.last, found }));
}

function liveParts({ entry }, { results, wanted }) {
  const names = entry.variants.filter((name) => results.has(name) || wanted?.includes(name));
  return names.map((name) => {
    const found = results.get(name) ?? null;
    return { name, point: found?.point ?? null, found };
  });
}

function jointVerdict({ entry }, live, points, gate) {
  const sum = (count) => points.reduce((total, point) => total + count(point), 0);
  const verdict = {
    outcome: live === null ? (entry.verdict ?? "partial") : live.end.verdict,
    failedGates: sum((point) => point.gates_failed) + (gate?.outcome === "failed" ? 1 : 0),
    failedSamples: sum(({ counts }) => counts.failed),
    errorSamples: sum(({ counts }) => counts.error),
    openGates: sum((point) => point.gates_skipped) + (gate?.outcome === "skipped" ? 1 : 0),
    why: [],
  };
  if (verdict.outcome === "error") verdict.why = [say("ended_error", { status: live.end.status })];
  if (verdict.outcome === "stopped") verdict.why = [say("ended_stopped")];
  return verdict;
}

function contestView(app, contest, gate) {
  const said = gate && bestVerdict(gate);
  if (contest === null) return said;
  const { metric, common, total, alpha, undecided, newer } = contest;
  const rows = contest.variants.map(rankedRow);
  const heads = [
    say("variant"),
    numberHead(say("mean")),
    numberHead(say("interval_short")),
    numberHead("n"),
    say("letters"),
  ];
  return el(
    "div",
    { class: "contest" },
    el("h3", { class: "subsection" }, say("ranking")),
    newer?.length ? notice(sayGiven("ran_since", { names: newer.join(", ") })) : null,
    hint(sayGiven("ranked_over", { metric: nameOf(metric), common, total })),
    undecided ? notice(say("no_letters", { why: runSaid(undecided) })) : null,
    contest.complete ? null : notice(say("incomplete")),
    table(say("ranking"), heads, rows, { class: "comparison ranked" }),
    undecided ? null : hint(say("letters_hint", { alpha })),
    contest.remarks.map((text) => notice(given(runSaid(text)))),
    said,
    contest.page ? el("p", {}, pageLink(contest, say("side_by_side"))) : null,
  );
}

/** The verdict of the gate that compares variants. */
function bestVerdict({ outcome, message }) {
  const shown = outcome === "skipped" ? "partial" : outcome;
  const sign = el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[shown]);
  return el(
    "p",
    { class: `verdict best ${shown}` },
    el("strong", {}, sign, say("best_gate", { outcome: say(shown) })),
    el("span", { class: "why" }, given(runSaid(message))),
  );
}

function rankedRow({ name, mean, ci_low: low, ci_high: high, n, letters }) {
  const number = (head, text) => el("td", { class: "number", "data-name": head }, text);
  const interval = low === null ? "–" : `${fixed(low)}–${fixed(high)}`;
  return el(
    "tr",
    { "data-variant": name },
    el("th", { scope: "row" }, given(name)),
    number(say("mean"), figure(mean)),
    number(say("interval_short"), interval),
    number("n", String(n)),
    el("td", { class: "letters" }, letters || "–"),
  );
}

/** A variant's run, to open: what a scenario without variants shows at once. */
function variantView(app, { name, point, found }) {
  const standing = point === null ? el("span", { class: "note" }, say("not_run")) : pointStanding(point);
  const made = el(
    "details",
    { class: "variant", "data-variant": name },
    el("summary", {}, given(name), " ", standing),
    point === null ? null : partialNotice(point),
    point === null ? null : pointView(app, point),
    detailView(found),
    point?.page ? runPage(app, point) : null,
  );
  // Several may be open: to a screen reader, each table has a name of its own.
  for (const region of made.querySelectorAll("[role=region]")) {
    region.ariaLabel = say("labelled", { name, value: region.ariaLabel });
  }
  return made;
}

function pointStanding(point) {
  return [
    bandedFigure(point.weighted_score.mean, wholeCard(point)?.band ?? null),
    " ",
    badge(point.verdict),
  ];
}
