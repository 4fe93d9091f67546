// Requests that change something: in order, one after the other, and again until the server has them.

const token = document.querySelector('meta[name="form-token"]').content;
const LONGEST_WAIT = 8000;

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

export async function send(method, path, body, options = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: { "Content-Type": "application/json", "X-Form-Token": token },
      body: JSON.stringify(body),
      ...options,
    });
  } catch {
    throw new Refused(0, "The workbench does not answer. What you mark is kept here and sent again.");
  }
  const text = await answer.text();
  if (!answer.ok) {
    throw new Refused(answer.status, messageOf(text) ?? answer.statusText);
  }
  return text ? JSON.parse(text) : null;
}

function messageOf(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return null;
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
