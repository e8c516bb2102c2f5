// The variants of a scenario: which of them to run, how far each is, how each ended.

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

/** How each variant ended, and all side by side: in the run followed here, else when they last ran. */
function variantsOutcome(app, live) {
  const parts = live === null ? lastParts(app) : liveParts(app, live);
  const points = parts.map(({ point }) => point).filter((point) => point !== null);
  if (live === null && app.detail === null && !app.readProblem) return hint(say("loading"));
  if (live === null && !points.length) return hint(say("run_hint"));
  const contest = (live === null ? app.detail : live.contest)?.contest ?? null;
  const gate = (live === null ? contest : live.contest)?.gate ?? null;
  const saved = live === null ? (app.entry.verdict ?? "partial") : live.end.verdict;
  return el(
    "div",
    { class: "ended" },
    el("p", { class: "note which" }, say(live === null ? "last_runs" : "this_run")),
    verdictLine(endVerdict(live, points, gate, saved)),
    (live?.problems ?? []).map((text) => notice(given(text))),
    gate ? bestVerdict(gate.outcome, gate.message) : null,
    contest?.newer.length ? notice(sayGiven("ran_since", { names: inAList(contest.newer) })) : null,
    el("ul", { class: "variant-runs" }, parts.map(variantLine)),
    isUnclear(live, points.find(({ counts }) => counts.error)) ? terminalView(live.end.terminal) : null,
  );
}

function lastParts({ detail }) {
  return (detail?.variants ?? []).map(({ name, last }) => ({ name, point: last }));
}

function liveParts({ entry }, { results, wanted }) {
  const names = entry.variants.filter((name) => results.has(name) || wanted?.includes(name));
  return names.map((name) => ({ name, point: results.get(name)?.point ?? null }));
}

/** A variant's run: its score and verdict, and a link to its page. */
function variantLine({ name, point }) {
  if (point === null)
    return el("li", { "data-variant": name }, given(name), " ", el("span", { class: "note" }, say("not_run")));
  const open = pageLink(point, say("run_page"), { "aria-label": `${say("run_page")}: ${name}` });
  return el("li", { "data-variant": name }, given(name), " ", pointStanding(point), " ", open);
}
