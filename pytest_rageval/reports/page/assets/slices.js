// Means by document and by any other field of the rows, the worst group first.

const SLICES_SHOWN = 12;
const VALUES_A_ROW = 0.9; // a field with so many values has nothing to average

function slicesSection(app) {
  const { run } = app;
  if (!run.n) return null;
  const fields = slicedFields(run);
  if (!fields.length) return null;
  app.slice.field = fields.some((field) => field.name === app.slice.field)
    ? app.slice.field
    : fields[0].name;
  const choose = (key) => (value) => {
    app.slice = { ...app.slice, [key]: value, isWhole: false };
    body.replaceChildren(...slicesTable(app));
  };
  const body = el("div", {}, slicesTable(app));
  const options = fields.map((field) => ({ value: field.name, label: fieldName(run, field.name) }));
  return section(
    "slices",
    hint(say("slices_hint")),
    el(
      "div",
      { class: "controls" },
      choice(say("field"), options, app.slice.field, choose("field")),
      targetChoice(run, app.slice.target, choose("target")),
    ),
    body,
  );
}

/** The fields that say something of groups: those of gates first, none with a value for each row. */
function slicedFields(run) {
  const ofGates = run.data.gates.map(({ field }) => field).filter(Boolean);
  const isOfGate = (field) => ofGates.includes(field.name);
  const isUseful = (field) => {
    if (isOfGate(field) || isCause(run, field.name)) return true;
    if (field.values.length === 1) return textAt(run, field.values[0]) !== "(none)";
    return field.values.length < VALUES_A_ROW * run.n;
  };
  const fields = [...run.fields.values()].filter(isUseful);
  return [...fields.filter(isOfGate), ...fields.filter((field) => !isOfGate(field))];
}

function slicesTable(app) {
  const { state, run, slice } = app;
  const field = run.fields.get(slice.field);
  const found = slicesOf(state, field, slice.target);
  const shown = slice.isWhole ? found : found.slice(0, SLICES_SHOWN);
  const range = plotRange(state, slice.target);
  const rows = shown.map((one) => sliceRow(app, field, one, range));
  const heads = [
    say("value"),
    numberHead(say("mean")),
    el("td", { class: "wide" }),
    numberHead(say("interval")),
    numberHead(say("scored")),
  ];
  const value = `${fieldName(run, slice.field)}, ${nameOf(slice.target)}`;
  const caption = say("labelled", { name: say("slices"), value });
  const toggle = () => {
    app.slice = { ...slice, isWhole: !slice.isWhole };
    app.redraw("slices");
  };
  const more =
    found.length > SLICES_SHOWN
      ? button(slice.isWhole ? say("show_fewer") : say("show_all", { n: found.length }), toggle)
      : null;
  return [table(caption, heads, rows, { class: "slices" }), more].filter(Boolean);
}

function sliceRow(app, field, { value, summary }, [low, high]) {
  const { run, slice } = app;
  const mean = summary.weighted_mean;
  const text = shownValue(run, field.values[value], field.name);
  const choose = button(given(text), () => app.showSlice(field.name, value), {
    class: "link",
    "aria-label": say("filter_by", { field: fieldName(run, field.name), value: text }),
  });
  const band = bandOf(run, slice.target, mean);
  const bar =
    mean === null
      ? null
      : svg(
          "svg",
          { class: `plot meter ${band}`, height: 10, "aria-hidden": "true" },
          svg("line", { class: "track", x1: "0%", x2: "100%", y1: 5, y2: 5 }),
          svg("rect", {
            class: "fill",
            x: 0,
            y: 2,
            height: 6,
            rx: 3,
            width: percent((mean - low) / (high - low)),
          }),
        );
  const interval =
    summary.ci_low === null ? "–" : `${fixed(summary.ci_low)} – ${fixed(summary.ci_high)}`;
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, choose),
    el("td", { class: "number" }, bandedScore(run, slice.target, mean)),
    el("td", { class: "wide" }, bar),
    el("td", { class: "number" }, interval),
    el("td", { class: "number" }, `${summary.n}/${summary.n + summary.unscored}`),
  );
}
