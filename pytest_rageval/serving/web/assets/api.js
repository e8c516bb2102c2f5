// What the page asks the server, and what it says where the answer is an error.

/** An answer that is an error: its sentence as the message, its status (0: none came), its JSON. */
class Refusal extends Error {
  constructor(status, answer) {
    super(answer?.error ?? say(status ? "odd_answer" : "no_answer", { status }));
    this.status = status;
    this.answer = answer ?? {};
  }
}

/** The JSON of an answer; raises `Refusal` for an error. */
async function ask(path, { method = "GET", body } = {}) {
  const isRead = method === "GET";
  let response;
  try {
    response = await fetch(path, {
      method,
      cache: "no-store",
      headers: isRead ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, null);
  }
  const answer = await response.json().catch(() => null);
  if (response.status === 401) throw new Refusal(401, { error: say("key_missing") });
  if (!response.ok || (answer === null && isRead)) throw new Refusal(response.status, answer);
  return answer;
}

/** `/api/scenarios/ID/runs`: a path of its parts. */
function api(...parts) {
  return `/api/${parts.map(encodeURIComponent).join("/")}`;
}

function query(path, values) {
  return `${path}?${new URLSearchParams(values)}`;
}

/** Shows at the top of the page what holds for all of it: no key, no server. Else returns false. */
function isForAll(app, refusal) {
  if (!(refusal instanceof Refusal)) throw refusal;
  if (refusal.status !== 401 && refusal.status !== 0) return false;
  app.warn(refusal.message);
  return true;
}
