// A run while it goes on and after it: progress, then the verdict and the report of the run itself.

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

/** Starts a run of a scenario: of the chosen one with what is edited, of another as its file says. */
async function startRun(app, scenario = app.chosen) {
  const isChosen = scenario === app.chosen;
  if (isChosen && isMistyped(app)) return;
  app.runProblem = null;
  app.isStarting = true;
  updateRunButtons(app);
  try {
    await app.writing;
    const wanted = isChosen ? pickedVariants(app) : [];
    const isEdited = isChosen && hasChanges(app);
    const changed = isEdited ? { digest: app.detail.digest, ...changedSettings(app) } : {};
    const body = { ...changed, ...(wanted.length ? { variants: wanted } : {}) };
    const { run } = await ask(api("scenarios", scenario, "runs"), { method: "POST", body });
    remember(`began ${run}`, Date.now());
    app.runs.get(scenario)?.source.close();
    app.runs.delete(scenario);
    follow(app, { run, scenario, wanted });
    app.announce(say("announce_start"));
  } catch (refusal) {
    if (isForAll(app, refusal)) return;
    const { running } = refusal.answer;
    app.runProblem = running || !isChosen ? null : refusal.message;
    if (!running && !isChosen) app.warn(serverSaid(refusal.message));
    if (running) noteRunning(app, running);
  } finally {
    app.isStarting = false;
    app.showRun(scenario);
  }
}

async function stopRun(app) {
  const live = app.runs.get(app.running.scenario);
  live.isStopping = true;
  app.waiting = [];
  fillScenarios(app);
  updateProgress(app, live);
  try {
    await ask(api("runs", live.run), { method: "DELETE" });
  } catch (refusal) {
    live.isStopping = false;
    if (!isForAll(app, refusal)) app.warn(serverSaid(refusal.message));
    updateProgress(app, live);
  }
}

function runSection(app) {
  const live = app.runs.get(app.chosen) ?? null;
  if (live !== null && live.end === null) return section("run", progressView(app, live));
  const { unread } = app.entry;
  const ended = hasVariants(app) ? variantsOutcome(app, live) : outcomeView(app, live);
  const isUnread = live === null && unread;
  const lost = isUnread ? notice(given(serverSaid(unread))) : null;
  // Without variants there is no run to show.
  const outcome = isUnread && !hasVariants(app) ? null : ended;
  return section("run", variantChoice(app), runButton(app), runProblem(app), lost, outcome);
}

function runButton(app) {
  if (app.run === null) return null;
  app.runButton = button("", () => startRun(app), { class: "primary" });
  app.runNote = el("span", { class: "problem", role: "status" });
  updateRunButtons(app);
  return el("p", { class: "buttons" }, app.runButton, app.runNote);
}

/** All buttons that start a run: off where these weights cannot be run, or something runs. */
function updateRunButtons(app) {
  if (app.run === null) return;
  const isNone = hasVariants(app) && !pickedVariants(app).length;
  const words = app.isStarting ? "starting" : hasChanges(app) ? "run_changed" : "start_run";
  for (const made of [app.runButton, app.barButton]) {
    if (!made) continue;
    made.disabled = isBusy(app) || isNone || isOff(app);
    made.textContent = say(words);
  }
  if (app.runNote) app.runNote.textContent = isOff(app) ? say("mend_settings") : "";
}

function runProblem(app) {
  return app.runProblem
    ? el("p", { class: "problem", role: "alert" }, given(serverSaid(app.runProblem)))
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
  if (app.running !== null) document.getElementById("running-now")?.replaceChildren(runningWords(app));
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
  const point = live === null ? app.entry.last : (live.results.get("")?.point ?? null);
  if (live === null && point === null) return hint(say("run_hint"));
  return el(
    "div",
    { class: "ended" },
    whichRun(live, point),
    verdictLine(endVerdict(live, point === null ? [] : [point])),
    otherSettings(point),
    (live?.problems ?? []).map((text) => notice(given(text))),
    isUnclear(live, point) ? terminalView(live.end.terminal) : null,
  );
}

/** Whether this is the run that was followed here, or when it was. */
function whichRun(live, point) {
  const words = live === null ? say("run_at", { time: moment(point.started_at) }) : say("this_run");
  return el("p", { class: "note which" }, words);
}

/** Whether only the terminal says why samples or the whole run could not be judged. */
function isUnclear(live, point) {
  return live !== null && (live.end.verdict === "error" || Boolean(point?.counts.error));
}

/**
 * The verdict of a run that has ended, or of saved ones, whose `points` are summed up; `gate` decides
 * between variants. A run that ended early is neither passed nor failed, whatever it saved.
 */
function endVerdict(live, points, gate = null, saved = points[0]?.verdict ?? "partial") {
  const sum = (count) => points.reduce((total, point) => total + count(point), 0);
  const isOne = (outcome) => (gate?.outcome === outcome ? 1 : 0);
  const verdict = {
    outcome: live === null ? saved : live.end.verdict,
    failedGates: sum((point) => point.gates_failed) + isOne("failed"),
    failedSamples: sum(({ counts }) => counts.failed),
    errorSamples: sum(({ counts }) => counts.error),
    openGates: sum((point) => point.gates_skipped) + isOne("skipped"),
    isWhole: points.length > 0 && points.every((point) => point.complete || point.not_asked),
  };
  if (verdict.outcome === "passed" && saved !== "passed") verdict.outcome = saved;
  if (verdict.outcome === "error") verdict.why = [say("ended_error", { status: live.end.status })];
  if (verdict.outcome === "stopped") verdict.why = [say("ended_stopped")];
  return verdict;
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

/** The run, or the variants together, whose page is shown: of what has ended here, else the last one. */
function shownPage(app) {
  const live = app.runs.get(app.chosen) ?? null;
  if (live !== null && live.end === null) return null;
  if (hasVariants(app)) return (live === null ? app.detail : live.contest)?.contest ?? null;
  return live === null ? app.entry.last : (live.results.get("")?.point ?? null);
}

/** Their page, as the run wrote it. */
function reportSection(app) {
  const shown = shownPage(app);
  if (shown === null) return null;
  const title = say(hasVariants(app) ? "side_by_side" : "run_page");
  const link = pageLink(shown, title);
  if (link === null) return el("section", { id: "report" }, hint(say("no_page")));
  const theme = document.documentElement.dataset.theme ?? "auto";
  const src = `${link.href}#${new URLSearchParams({ language, theme })}`;
  // Without the rights of this page: what is in it can ask this server for nothing.
  const sandbox = "allow-scripts allow-downloads";
  const frame = el("iframe", { src, title, sandbox, "data-page": link.href });
  return el("section", { id: "report", "aria-label": title }, frame, link);
}

/** Shows another page where there is one; the same one is not loaded again, nor are labels lost. */
function updateReport(app) {
  const shown = shownPage(app);
  const isSame = document.querySelector("#report iframe")?.dataset.page === (shown && pageAddress(shown));
  if (isSame) document.querySelector("#report .newer")?.remove();
  else if (unsavedLabels()) keepReport(app, shown);
  else redrawSection("report", () => drawnPart(app, "report"));
}
