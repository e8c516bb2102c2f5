// Labels for the samples that the table shows: the report gives way to a sheet of them.

/** Buttons to label the samples that the table shows, for each metric that people label. */
function labelButtons(app) {
  const { human, digests } = app.run.data;
  const rows = app.found.filter((at) => digests[at]);
  if (!rows.length) return null;
  const ofAnswers = human.filter(({ names }) => !names.length);
  return ofAnswers.map((one) => {
    const name = { name: say("label_blind"), value: nameOf(one.metric) };
    const words = human.length > 1 ? sayGiven("labelled", name) : say("label_blind");
    return button(words, () => labelFound(app, one, rows), { "data-label": one.metric });
  });
}

/** Judge data are hidden meanwhile: the sheet takes the place of the whole page. */
function labelFound(app, { metric, levels, meanings, question }, found) {
  const { scenario, run } = app.run.data;
  const sheet = {
    scenario: scenario.name,
    metric,
    levels,
    meanings,
    question,
    description: scenario.description,
    higher_is_better: metricOf(app.run, metric).higher_is_better,
    file_name: `labels-${inFileName(metric)}-${run.id}.csv`,
    annotator: "",
    key: `rageval ${scenario.name} ${metric} ${run.id}`,
    rows: shuffled(found).map((at) => labelRowOf(app.run, at)),
  };
  openLabels(sheet, ANSWERS, app.theme, (theme) => {
    app.theme = theme;
    app.drawPage();
    const back = document.querySelector(`[data-label="${CSS.escape(metric)}"]`);
    back.scrollIntoView({ behavior: "instant", block: "center" });
    back.focus();
  });
  scrollTo({ top: 0, behavior: "instant" });
}

function labelRowOf(run, at) {
  const { samples, texts, question, answer, contexts, digests } = run.data;
  const listed = contexts[at] ?? [];
  const shown = listed.filter((number) => number >= 0);
  const numbers = [question[at], answer[at], ...shown].filter((number) => number >= 0);
  return {
    sample_id: samples.id[at],
    question: question[at] < 0 ? "" : textAt(run, question[at]),
    contexts: shown.map((number) => textAt(run, number)),
    answer: textAt(run, answer[at]),
    digest: digests[at],
    drawn: "chosen",
    is_cut: shown.length < listed.length || numbers.some((one) => typeof texts[one] !== "string"),
  };
}

function shuffled(values) {
  const made = [...values];
  for (let at = made.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [made[at], made[other]] = [made[other], made[at]];
  }
  return made;
}
