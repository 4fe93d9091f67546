// Requests that change something: in order, one after the other, and again until the server has them.

const token = document.querySelector('meta[name="form-token"]').content;
const LONGEST_WAIT = 8000;
// Longer than the server waits for other writers.
const LONGEST_ANSWER = 60_000;
const AWAY = "The workbench does not answer. What you mark is kept here and sent again.";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
  // A server that is away, restarting, busy or out of room may take the same request later.
  get mayPass() {
    return this.status === 0 || this.status >= 500;
  }
}

export async function send(method, path, body) {
  let answer, text;
  try {
    answer = await fetch(path, {
      method,
      headers: { "Content-Type": "application/json", "X-Form-Token": token },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(LONGEST_ANSWER),
    });
    text = await answer.text();
  } catch {
    throw new Refused(0, AWAY);
  }
  const value = jsonOf(text);
  if (!answer.ok) throw new Refused(answer.status, value?.error?.message ?? `The workbench answers ${answer.status}.`);
  // Whatever answers so is not the workbench: a proxy that wants somebody to sign in, perhaps.
  if (value === undefined) throw new Refused(0, AWAY);
  return value;
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// A key by which the server knows a request that it has had before. `randomUUID` is missing where pages come by plain
// HTTP from another machine.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Saver {
  #waiting = [];
  #running = false;
  #idle = [];

  // `onState` hears "saved", "saving" or "waiting" (with the reason), and "refused" with what was not taken.
  constructor(onState) {
    this.onState = onState;
    addEventListener("beforeunload", (event) => {
      if (this.#waiting.length) event.preventDefault();
    });
  }

  // Returns a promise of the answer; what is refused is never answered, since the page then starts anew.
  add(method, path, body) {
    return new Promise((onDone) => {
      this.#waiting.push({ method, path, body, onDone });
      this.#run();
    });
  }

  idle() {
    return this.#waiting.length ? new Promise((done) => this.#idle.push(done)) : Promise.resolve();
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    let wait = 500;
    while (this.#waiting.length) {
      const { method, path, body, onDone } = this.#waiting[0];
      this.onState("saving");
      try {
        const value = await send(method, path, body);
        this.#waiting.shift();
        wait = 500;
        onDone(value);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.mayPass) {
          this.onState("waiting", error.message);
          await new Promise((done) => setTimeout(done, wait));
          wait = Math.min(2 * wait, LONGEST_WAIT);
        } else {
          // The page is about to show again what the server has.
          this.#waiting = [];
          this.#idle = [];
          this.#running = false;
          this.onState("refused", error.message);
          return;
        }
      }
    }
    this.#running = false;
    this.onState("saved");
    for (const done of this.#idle.splice(0)) done();
  }
}
