// Changed weights as YAML that a scenario can take.

/** What to put into the scenario: the two mappings, each whole, where they differ. */
function changedYaml(app) {
  const parts = [];
  if (changedMetrics(app))
    parts.push(yamlMapping("metric_weights", Object.entries(app.weights.metrics)));
  if (changedDocs(app)) parts.push(yamlMapping("doc_weights", [...app.weights.docs]));
  return parts.join("");
}

function yamlMapping(key, entries) {
  if (!entries.length) return `${key}: {}\n`;
  return `${key}:\n${entries.map(([name, weight]) => `  ${yamlText(name)}: ${yamlNumber(weight)}\n`).join("")}`;
}

const YAML_WORDS = /^(y|yes|n|no|on|off|true|false|null)$/i;

/** A plain name as it is, any other in double quotes, with marks spelled out that cannot be seen. */
function yamlText(text) {
  if (/^[A-Za-z][\w.@-]*$/.test(text) && !YAML_WORDS.test(text)) return text;
  return JSON.stringify(text).replace(
    /[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** YAML 1.1 takes 1e-7 for text; 1.0e-7 is a number. */
function yamlNumber(number) {
  const [digits, exponent] = String(number).split("e");
  if (exponent === undefined) return digits;
  return `${digits.includes(".") ? digits : `${digits}.0`}e${exponent}`;
}
