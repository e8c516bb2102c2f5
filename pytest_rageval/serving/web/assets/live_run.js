// A run while it goes on and after it: progress, verdict, cards, gates, the page of the run.

/** Follows a run of a scenario until its end, also one that began before this page was opened. */
function follow(app, { run, scenario, wanted = null }) {
  const known = app.runs.get(scenario);
  if (known?.run === run) return;
  known?.source.close();
  const live = {
    run,
    scenario,
    wanted,
    progress: null,
    results: new Map(),
    contest: null,
    problems: [],
    end: null,
    isStopping: false,
    isLost: false,
    told: 0,
    began: beganAt(run),
    source: new EventSource(`${api("runs", run)}/events`),
  };
  app.runs.set(scenario, live);
  app.running = { run, scenario };
  live.source.addEventListener("message", ({ data }) => takeEvent(app, live, JSON.parse(data)));
  live.source.addEventListener("error", () => loseRun(app, live));
}

/** When this window started the run; null where another one did. */
function beganAt(run) {
  const found = Number(recall(`began ${run}`));
  return found || null;
}

function takeEvent(app, live, event) {
  live.isLost = false;
  if (event.event === "progress") live.progress = event;
  else if (event.event === "result") live.results.set(event.variant, event);
  else if (event.event === "contest") live.contest = event;
  else if (event.event === "problem") live.problems.push(event.text);
  else if (event.event === "end") return endRun(app, live, event);
  if (event.event === "progress") announceProgress(app, live);
  updateProgress(app, live);
}

function endRun(app, live, end) {
  live.source.close();
  live.end = end;
  live.seconds = secondsOf(live);
  app.running = null;
  const whole = live.results.get("")?.point?.weighted_score.mean ?? null;
  const words = { verdict: say(`verdict_${end.verdict}`), score: figure(whole) };
  app.announce(say("announce_end", words));
  app.runEnded(live);
}

/** The browser tries again by itself, unless the server said that there is no such run. */
function loseRun(app, live) {
  live.isLost = live.source.readyState !== EventSource.CLOSED;
  if (!live.isLost) {
    app.runs.delete(live.scenario);
    app.running = null;
    app.runEnded(live);
  }
  updateProgress(app, live);
}

function announceProgress(app, live) {
  const { done, total } = live.progress;
  const quarter = total ? Math.floor((4 * done) / total) : 0;
  if (quarter <= live.told || quarter > 3) return;
  live.told = quarter;
  app.announce(say("announce_done", { percent: 25 * quarter }));
}

async function startRun(app) {
  if (isMistyped(app)) return;
  const scenario = app.chosen;
  app.runProblem = null;
  app.isStarting = true;
  updateRunButtons(app);
  try {
    const wanted = pickedVariants(app);
    const body = { ...changedWeights(app), ...(wanted.length ? { variants: wanted } : {}) };
    const { run } = await ask(api("scenarios", scenario, "runs"), { method: "POST", body });
    remember(`began ${run}`, Date.now());
    app.runs.get(scenario)?.source.close();
    app.runs.delete(scenario);
    follow(app, { run, scenario, wanted });
    app.announce(say("announce_start"));
  } catch (refusal) {
    if (isForAll(app, refusal)) return;
    const { running } = refusal.answer;
    app.runProblem = running ? null : refusal.message;
    if (running) noteRunning(app, running);
  } finally {
    app.isStarting = false;
    app.showRun(scenario);
  }
}

async function stopRun(app) {
  const live = app.runs.get(app.running.scenario);
  live.isStopping = true;
  updateProgress(app, live);
  try {
    await ask(api("runs", live.run), { method: "DELETE" });
  } catch (refusal) {
    live.isStopping = false;
    if (!isForAll(app, refusal)) app.warn(refusal.message);
    updateProgress(app, live);
  }
}

function runSection(app) {
  const live = app.runs.get(app.chosen) ?? null;
  if (live !== null && live.end === null) return section("run", progressView(app, live));
  const outcome = hasVariants(app) ? variantsOutcome(app, live) : outcomeView(app, live);
  return section("run", variantChoice(app), runButton(app), runProblem(app), outcome);
}

function runButton(app) {
  if (app.run === null) return null;
  app.runButton = button("", () => startRun(app), { class: "primary" });
  updateRunButtons(app);
  return el("p", { class: "buttons" }, app.runButton);
}

/** All buttons that start a run: off where these weights cannot be run, or something runs. */
function updateRunButtons(app) {
  if (app.run === null) return;
  const isNone = hasVariants(app) && !pickedVariants(app).length;
  const isBusy = app.isStarting || app.running !== null;
  const isOff = isBusy || isNone || (app.panel?.isRefused ?? false);
  const words = app.isStarting ? "starting" : isChanged(app) ? "run_changed" : "start_run";
  for (const made of [app.runButton, app.barButton]) {
    if (!made) continue;
    made.disabled = isOff;
    made.textContent = say(words);
  }
}

function runProblem(app) {
  return app.runProblem
    ? el("p", { class: "problem", role: "alert" }, given(app.runProblem))
    : null;
}

function progressView(app, live) {
  const view = {
    bar: el("progress", { "aria-label": say("progress") }),
    done: el("b", {}),
    outcomes: el("span", { class: "counts" }),
    parts: el("ul", { class: "variant-lines" }),
    whole: el("dd", {}),
    time: el("dd", {}),
    note: el("p", { class: "problem", role: "alert" }),
    stop: button(say("stop_run"), () => stopRun(app), { class: "stop" }),
  };
  live.view = view;
  updateProgress(app, live);
  return el(
    "div",
    { class: "outcome progress" },
    el("div", { class: "progress-line" }, view.bar, view.done, view.stop),
    view.outcomes,
    view.parts,
    el(
      "dl",
      { class: "facts" },
      el("div", {}, el("dt", {}, say("so_far")), view.whole),
      el("div", {}, el("dt", {}, say("time")), view.time),
    ),
    view.note,
  );
}

/** Brings the line of a run that goes on up to date; its buttons stay, so that focus does. */
function updateProgress(app, live) {
  app.barText?.replaceChildren(...barWords(app));
  if (app.barStop) app.barStop.disabled = live.isStopping;
  const { view, progress, isStopping } = live;
  if (!view) return;
  view.stop.disabled = isStopping;
  view.stop.textContent = say(isStopping ? "stopping" : "stop_run");
  view.note.replaceChildren(
    ...[live.isLost ? say("lost") : null, ...live.problems].filter(Boolean).map(given),
  );
  view.time.textContent = timeWords(secondsOf(live));
  view.done.textContent = progress === null ? say("starting") : say("done_of", progress);
  if (progress === null) return;
  view.bar.max = Math.max(progress.total, 1);
  view.bar.value = progress.done;
  view.outcomes.replaceChildren(...countBadges(progress.outcomes));
  view.parts.replaceChildren(...variantLines(app, live));
  view.whole.textContent = figure(progress.weighted_score ?? null);
}

function secondsOf({ began }) {
  return began === null ? null : Math.round((Date.now() - began) / 1000);
}

function timeWords(seconds) {
  if (seconds === null) return "–";
  if (seconds < 60) return say("seconds", { n: seconds });
  return say("minutes", { minutes: Math.floor(seconds / 60), seconds: seconds % 60 });
}

function countBadges(counts) {
  return OUTCOMES.filter((outcome) => counts[outcome]).map((outcome) =>
    el("span", {}, badge(outcome), ` ${counts[outcome]}`),
  );
}

/** How a run ended: the one followed here, else the last one that is saved. */
function outcomeView(app, live) {
  const result = live?.results.get("") ?? null;
  const point = live === null ? lastPoint(app) : (result?.point ?? null);
  if (live === null && point === null) return hint(say("run_hint"));
  return el(
    "div",
    { class: "ended" },
    el("h3", {}, say(live === null ? "last_run" : "this_run")),
    verdictLine(endVerdict(live, point)),
    point === null ? null : partialNotice(point),
    (live?.problems ?? []).map((text) => notice(given(text))),
    point === null ? null : pointView(app, point),
    detailView(live === null ? lastDetail(app, point) : result),
    isUnclear(live, point) ? terminalView(live.end.terminal) : null,
    point?.page ? runPage(app, point) : null,
  );
}

function partialNotice({ complete, not_asked: notAsked, counts: { ran, samples } }) {
  if (complete) return null;
  return notice(say(notAsked ? "stopped_run" : "partial_run", { ran, total: samples }));
}

/** What is known of the last saved run beside its figures, once it is read. */
function lastDetail({ detail }, point) {
  return detail?.last?.run === point.run ? detail : null;
}

/** Whether only the terminal says why samples or the whole run could not be judged. */
function isUnclear(live, point) {
  return live !== null && (live.end.verdict === "error" || Boolean(point?.counts.error));
}

/** The last saved run, with its bands where they are known. */
function lastPoint({ entry, detail, points }) {
  const isLast = (point) => point?.run === entry.last?.run && point?.cards.length > 0;
  return [points?.at(-1), detail?.last].find(isLast) ?? entry.last;
}

/** A run that ended early is neither passed nor failed, whatever it saved. */
function endVerdict(live, point) {
  const saved = point === null ? "partial" : point.verdict;
  const verdict = {
    outcome: live === null ? saved : live.end.verdict,
    failedGates: point?.gates_failed ?? 0,
    failedSamples: point?.counts.failed ?? 0,
    errorSamples: point?.counts.error ?? 0,
    openGates: point?.gates_skipped ?? 0,
    why: [],
  };
  if (verdict.outcome === "passed" && saved !== "passed") verdict.outcome = saved;
  if (verdict.outcome === "error") verdict.why = [say("ended_error", { status: live.end.status })];
  if (verdict.outcome === "stopped") verdict.why = [say("ended_stopped")];
  return verdict;
}

function pointView(app, point) {
  const facts = [
    [say("started"), moment(point.started_at)],
    [say("run"), given(point.run)],
  ];
  const seconds = hasVariants(app) ? null : (app.runs.get(app.chosen)?.seconds ?? null);
  if (seconds !== null) facts.push([say("time"), timeWords(seconds)]);
  if (point.commit) facts.push([say("commit"), given(point.commit.slice(0, 12))]);
  if (point.overridden.length)
    facts.push([say("changed_for_run"), overriddenWords(point)]);
  const { gates_passed: passed, gates_failed: failed, gates_skipped: skipped } = point;
  facts.push([say("gates_counted"), say("counted", { passed, failed, skipped })]);
  const before = runBefore(app, point);
  return [
    definitions(facts, { class: "facts" }),
    el(
      "div",
      { class: "cards" },
      cardsOf(point).map((card) => pointCard(point, card, before)),
    ),
    el(
      "p",
      { class: "counts" },
      say("labelled", { name: say("samples"), value: point.counts.ran }),
      countBadges(point.counts),
    ),
  ];
}

/** The complete run before one that is complete, too, with the same weights; null without one. */
function runBefore(app, point) {
  if (!point.complete || app.points === null) return null;
  const at = app.points.findIndex(({ run }) => run === point.run);
  const earlier = at < 0 ? app.points : app.points.slice(0, at);
  const isOther = (one) => one.run !== point.run && one.variant === point.variant;
  const isLike = (one) => one.complete && isOther(one) && isWeighedAlike(one, point);
  return earlier.findLast(isLike) ?? null;
}

/** Whether two runs measure the same with the same weights, and changed the same for the run. */
function isWeighedAlike(a, b) {
  const weighed = ({ metrics, overridden }) =>
    JSON.stringify([Object.entries(metrics).map(([name, { weight }]) => [name, weight]), overridden]);
  const isRedefined = ([name, text]) => (b.definitions[name] || text) !== text;
  return weighed(a) === weighed(b) && !Object.entries(a.definitions).some(isRedefined);
}

/** The weighted score first; without bands where the server does not know them. */
function cardsOf({ cards, weighted_score: whole, metrics }) {
  const found = cards.length
    ? cards
    : [
        { ...whole, name: WEIGHTED, value: whole.mean, weight: null, band: null },
        ...Object.entries(metrics).map(([name, one]) => ({
          ...one,
          name,
          value: one.weighted_mean,
          band: null,
        })),
      ];
  const isWhole = ({ name }) => name === WEIGHTED;
  return [...found.filter(isWhole), ...found.filter((card) => !isWhole(card))];
}

function pointCard(point, card, before) {
  const isWhole = card.name === WEIGHTED;
  const was = (before && meansOf(before)[card.name]) ?? null;
  const found = isWhole ? point.weighted_score : point.metrics[card.name];
  const rows = [
    [
      say("interval_short"),
      card.ci_low === null
        ? say("no_interval")
        : `${fixed(card.ci_low)}–${fixed(card.ci_high)}`,
    ],
    isWhole || card.weight === null ? null : [say("weight"), short(card.weight)],
    found ? [say("scored"), `${found.n}/${found.n + found.unscored}`] : null,
    found?.failed ? [say("failed_scores"), String(found.failed)] : null,
  ].filter(Boolean);
  const band = card.value === null || card.band !== null ? bandOrNone(card.band) : null;
  return cardFrame(
    card.name,
    [figure(card.value), " ", band],
    was === null || isSame(was, card.value)
      ? null
      : el("p", { class: "was" }, say("before", { value: figure(was) })),
    definitions(rows),
  );
}

function detailView(detail) {
  return [causeView(detail?.causes ?? {}), gateView(detail?.gates ?? [])];
}

/** How many answers are low for which reason, where the scenario looks for it. */
function causeView(causes) {
  const pairs = Object.entries(causes).map(([cause, n]) => [say(`cause_${cause}`), grouped(n)]);
  if (!pairs.length) return null;
  const heading = el("h3", { class: "subsection" }, say("low_answers"));
  return [heading, definitions(pairs, { class: "pairs causes" })];
}

function gateView(gates) {
  if (!gates.length) return null;
  const isBad = (gate) => (gate.outcome === "failed" ? 0 : 1);
  const sorted = gates.toSorted((a, b) => isBad(a) - isBad(b));
  return [
    el("h3", { class: "subsection" }, say("gates")),
    gateTable(sorted.map((gate) => gateRow({ ...gate, message: () => runSaid(gate.message) }))),
  ];
}

function terminalView(text) {
  const plain = text.replace(/\x1b\[[\d;?]*[A-Za-z]/g, "");
  return el(
    "div",
    { class: "subsection" },
    el("h3", {}, say("terminal")),
    el("pre", { class: "text", tabindex: "0", dir: "auto", "aria-label": say("terminal") }, plain),
  );
}

/** The address of a run's page, if it is one of this server. */
function pageAddress({ page }) {
  const found = page ? new URL(page, location.href) : null;
  return found?.origin === location.origin ? found.href : null;
}

function pageLink(point, words, attributes) {
  const href = pageAddress(point);
  const title = say("opens_anew");
  return href && el("a", { href, target: "_blank", rel: "noopener", title, ...attributes }, words);
}

function runPage(app, point) {
  const link = pageLink(point, say("run_page"));
  if (link === null) return null;
  const fold = el("details", {}, el("summary", {}, say("show_here")));
  fold.addEventListener("toggle", () => {
    if (!fold.open || fold.querySelector("iframe")) return;
    // Without the rights of this page: what is in it can ask this server for nothing.
    const sandbox = "allow-scripts allow-downloads";
    fold.append(el("iframe", { src: link.href, title: say("run_page"), sandbox }));
  });
  return el("div", { class: "run-page" }, link, fold);
}
