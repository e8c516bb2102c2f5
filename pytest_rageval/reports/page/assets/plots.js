// Plots as inline SVG. Places are per cent of the width, so that a plot fits its box at any size.

function percent(share) {
  return `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(2)}%`;
}

/** The range that a plot of a metric spans: its own, or that of its scores where unbounded. */
function plotRange(state, target) {
  const [low, high] = rangeOfTarget(state, target);
  if (Number.isFinite(low) && Number.isFinite(high)) return [low, high];
  let [from, to] = [Infinity, -Infinity];
  for (const score of scoresOf(state, target)) {
    if (score === null) continue;
    from = Math.min(from, score);
    to = Math.max(to, score);
  }
  if (from === to) [from, to] = [from - pad(from), to + pad(to)];
  if (!(from < to)) [from, to] = [0, 1];
  return [Number.isFinite(low) ? low : from, Number.isFinite(high) ? high : to];
}

/** So much room beside a single value that it is seen in a number's digits. */
function pad(value) {
  return Math.max(0.5, Math.abs(value) / 2);
}

function image(label, attributes, ...children) {
  return svg("svg", { role: "img", "aria-label": label, ...attributes }, ...children);
}

/** The mean as a dot on its interval, over a line from the smallest to the largest score. */
function intervalPlot(state, target, shown, bounds) {
  if (shown.mean === null) return null;
  const band = bandOf(state.run, target, shown.mean);
  return meanPlot(nameOf(target), shown, plotRange(state, target), band, bounds);
}

/** A mean on its interval, between two ends. */
function meanPlot(name, { mean, ci_low, ci_high }, [low, high], band, bounds = []) {
  const place = (value) => percent((value - low) / (high - low));
  const figures = { name, mean: fixed(mean), low: figure(ci_low), high: figure(ci_high) };
  const label = say(ci_low === null ? "mean_label" : "interval_label", figures);
  const parts = [svg("line", { class: "track", x1: "0%", x2: "100%", y1: 9, y2: 9 })];
  if (ci_low !== null) {
    const ends = { x1: place(ci_low), x2: place(ci_high), y1: 9, y2: 9 };
    parts.push(svg("line", { class: "interval", ...ends }));
  }
  for (const bound of bounds) {
    parts.push(svg("line", { class: "bound", x1: place(bound), x2: place(bound), y1: 1, y2: 17 }));
  }
  parts.push(svg("circle", { class: "mean", cx: place(mean), cy: 9, r: 5 }));
  return image(label, { class: `plot interval-plot ${band}`, height: 18 }, parts);
}

const HISTOGRAM_HEIGHT = 96;

/** How many of the sorted scores lie where. */
function histogram(state, target, values, quartiles) {
  const [low, high] = plotRange(state, target);
  const bins = binned(values, low, high, values.length < 60 ? 10 : 20);
  const most = Math.max(...bins);
  const width = 1 / bins.length;
  const bars = bins.map((count, at) => {
    const height = count ? Math.max((count / most) * (HISTOGRAM_HEIGHT - 8), 2) : 0;
    const from = low + at * width * (high - low);
    const ends = { low: fixed(from), high: fixed(from + width * (high - low)), n: count };
    const place = { x: percent(at * width + width * 0.06), width: percent(width * 0.88) };
    const size = { y: HISTOGRAM_HEIGHT - height, height, rx: 1.5 };
    return svg("rect", { class: "bar", ...place, ...size }, svg("title", {}, say("bin", ends)));
  });
  const lines = thresholdsOf(state.run, target).map((value) => {
    const x = percent((value - low) / (high - low));
    return svg("line", { class: "bound", x1: x, x2: x, y1: 0, y2: HISTOGRAM_HEIGHT });
  });
  const base = svg("line", {
    class: "track",
    x1: "0%",
    x2: "100%",
    y1: HISTOGRAM_HEIGHT,
    y2: HISTOGRAM_HEIGHT,
  });
  const label = say("distribution_label", { name: nameOf(target), n: values.length, ...quartiles });
  const axis = el(
    "div",
    { class: "axis", "aria-hidden": "true" },
    [low, (low + high) / 2, high].map((end) => el("span", {}, short(end))),
  );
  return [
    image(label, { class: "plot histogram", height: HISTOGRAM_HEIGHT + 1 }, bars, base, lines),
    axis,
  ];
}

function binned(values, low, high, count) {
  const bins = Array(count).fill(0);
  for (const value of values) {
    const at = Math.floor(((value - low) / (high - low)) * count + 1e-9);
    bins[Math.min(Math.max(at, 0), count - 1)] += 1;
  }
  return bins;
}

/** The quartiles of sorted scores: each the smallest that so many do not exceed. */
function quartilesOf(sorted) {
  const at = (q) => fixed(sorted[Math.max(Math.ceil(q * sorted.length - 1e-9) - 1, 0)]);
  return {
    min: fixed(sorted[0]),
    q1: at(0.25),
    median: at(0.5),
    q3: at(0.75),
    max: fixed(sorted.at(-1)),
  };
}

function thresholdsOf(run, target) {
  return run.data.scenario.thresholds
    .filter(([name]) => name === target)
    .flatMap(([, min, max]) => [min, max])
    .filter((end) => end !== null);
}

function short(value) {
  return String(Number(value.toPrecision(3)));
}

/** Differences with their intervals around zero, on one scale for all metrics. */
function forestPlot(compared, reach) {
  const place = (value) => percent(0.5 + value / (2 * reach));
  const figures = {
    diff: signed(compared.diff),
    low: figure(compared.ci_low),
    high: figure(compared.ci_high),
  };
  const parts = [svg("line", { class: "track", x1: "50%", x2: "50%", y1: 0, y2: 20 })];
  if (compared.ci_low !== null) {
    const ends = { x1: place(compared.ci_low), x2: place(compared.ci_high), y1: 10, y2: 10 };
    parts.push(svg("line", { class: "interval", ...ends }));
  }
  parts.push(svg("circle", { class: "mean", cx: place(compared.diff), cy: 10, r: 4.5 }));
  return image(
    say("forest_label", { name: nameOf(compared.name), ...figures }),
    { class: "plot forest", height: 20 },
    parts,
  );
}

const MOST_STEPS = 1000;

/** The differences of all samples, sorted, as areas above and below zero. */
function differencePlot(differences, higherIsBetter, label) {
  const sorted = Float64Array.from(differences).sort();
  const reach = Math.max(-sorted[0], sorted.at(-1), 1e-12);
  const steps = Math.min(sorted.length, MOST_STEPS);
  const middle = 70;
  const area = (keep) => {
    let path = "";
    for (let at = 0; at < steps; at++) {
      const difference = sorted[Math.floor(((at + 0.5) * sorted.length) / steps)];
      if (!keep(difference)) continue;
      const y = middle - (difference / reach) * (middle - 4);
      path += `M${at} ${middle}V${y.toFixed(1)}h1V${middle}z`;
    }
    return path;
  };
  const isBetter = (difference) => (higherIsBetter ? difference > 0 : difference < 0);
  return image(
    label,
    {
      class: "plot differences",
      viewBox: `0 0 ${steps} ${2 * middle}`,
      preserveAspectRatio: "none",
      height: 2 * middle,
    },
    svg("path", { class: "better", d: area(isBetter) }),
    svg("path", {
      class: "worse",
      d: area((difference) => difference !== 0 && !isBetter(difference)),
    }),
    svg("line", { class: "track", x1: 0, x2: steps, y1: middle, y2: middle }),
  );
}

/**
 * A line over runs, for one metric; noise is not drawn as tall as a change of a tenth. It begins
 * anew at each of the breaks, which say why.
 */
function trendPlot(values, names, range, label, breaks) {
  const height = 72;
  const known = values.filter((value) => value !== null);
  const middle = (Math.min(...known) + Math.max(...known)) / 2;
  const reach = Math.max(Math.max(...known) - middle, (range[1] - range[0]) / 20);
  const [low, high] = [middle - reach, middle + reach];
  const x = (at) => (values.length > 1 ? 0.02 + (0.96 * at) / (values.length - 1) : 0.5);
  const y = (value) => height - 8 - ((value - low) / (high - low)) * (height - 16);
  const parts = [
    svg("line", { class: "track", x1: "0%", x2: "100%", y1: height - 1, y2: height - 1 }),
  ];
  values.forEach((value, at) => {
    if (value === null) return;
    const before = values[at - 1] ?? null;
    if (before !== null && !breaks[at]) {
      const ends = { x1: percent(x(at - 1)), y1: y(before), x2: percent(x(at)), y2: y(value) };
      parts.push(svg("line", { class: "line", ...ends }));
    }
  });
  values.forEach((value, at) => {
    if (value === null) return;
    const place = { cx: percent(x(at)), cy: y(value), r: at === values.length - 1 ? 5 : 3 };
    parts.push(
      svg("circle", { class: "mean", ...place }, svg("title", {}, `${names[at]}: ${fixed(value)}`)),
    );
  });
  return image(label, { class: "plot trend", height }, parts);
}
