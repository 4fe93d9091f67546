// Requests that change data: sent one at a time, in order, and repeated until the server has them.

const token = document.querySelector('meta[name="form-token"]').content;
const { content: root } = document.querySelector('meta[name="root"]');
const LONGEST_WAIT = 8000;
const SIGNED_OUT = new Set([401, 403]);
// Longer than the server waits for other writers.
const LONGEST_ANSWER = 60_000;
export const AWAY = "The workbench is not responding. Your marks and decisions are kept in this browser and will be sent again.";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
  // A server that is unreachable, restarting, busy or out of space may accept the request later.
  get mayPass() {
    return this.status === 0 || this.status >= 500;
  }
}

// Return a path of ours within the path at which a proxy makes the workbench available.
export const rooted = (path) => root + path;

// Return a name in the browser's storage, which all workbenches on a host share.
export const stored = (name) => name + encodeURIComponent(root);

const request = (method, body) => ({
  method,
  headers: { "Content-Type": "application/json", "X-Form-Token": token },
  body: JSON.stringify(body),
});

// Send a request that outlives the page; nobody reads the response.
export function sendAtEnd(method, path, body) {
  fetch(rooted(path), { ...request(method, body), keepalive: true }).catch(() => {});
}

export async function send(method, path, body) {
  let answer, text;
  try {
    answer = await fetch(rooted(path), { ...request(method, body), signal: AbortSignal.timeout(LONGEST_ANSWER) });
    text = await answer.text();
  } catch {
    throw new Refused(0, AWAY);
  }
  const value = jsonOf(text);
  if (!answer.ok) throw new Refused(answer.status, value?.error?.message ?? `The workbench returned status ${answer.status}.`);
  // The response is not from the workbench; perhaps a proxy asks the user to sign in.
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

// Return a key that lets the server recognise a repeated request. `randomUUID` is not available over plain HTTP from another
// machine.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// If the browser cannot store the request, it is sent anyway.
function keep(place, request) {
  try {
    localStorage.setItem(place, JSON.stringify(request));
  } catch {
    // Lost only if the page closes before the server is back.
  }
}

export class Saver {
  #waiting = [];
  #running = false;
  #idle = [];
  #store;
  #halted = false;

  // `onState` is called with "saved", "saving", or "waiting" or "refused" and the reason. If `store` is given, the browser
  // keeps pending requests under that name across reloads; `resume` sends those of an earlier page.
  constructor(onState, store = "") {
    this.onState = onState;
    this.#store = store && `${store}/`;
    addEventListener("beforeunload", (event) => {
      if (this.#waiting.length && !this.#store) event.preventDefault();
    });
  }

  get isIdle() {
    return !this.#waiting.length;
  }

  // Send the requests kept by an earlier page; return whether there were any.
  resume() {
    const left = Object.keys(localStorage).filter((place) => place.startsWith(this.#store));
    for (const place of left.sort()) this.#waiting.push({ ...JSON.parse(localStorage[place]), place, onDone() {} });
    if (left.length) this.#run();
    return left.length > 0;
  }

  // Return a promise of the response; it never resolves if the request is refused, since the page then reloads. The body
  // may be a function that makes it when it is sent, so that it can depend on earlier responses.
  add(method, path, body) {
    return new Promise((onDone) => {
      // Names sort by time; two pages have different keys.
      const place = this.#store && `${this.#store}${String(Date.now()).padStart(15, "0")}-${body.key}`;
      if (place) keep(place, { method, path, body });
      this.#waiting.push({ method, path, body, place, onDone });
      this.#run();
    });
  }

  // The page is closing: send the first request again in a way that outlives it. The server handles it once.
  sendFirstAtEnd() {
    const [first] = this.#waiting;
    if (first) sendAtEnd(first.method, first.path, typeof first.body === "function" ? first.body() : first.body);
  }

  idle() {
    return this.#waiting.length && !this.#halted ? new Promise((done) => this.#idle.push(done)) : Promise.resolve();
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    this.#halted = false;
    let wait = 500;
    while (this.#waiting.length) {
      const { method, path, body, onDone } = this.#waiting[0];
      this.onState("saving");
      try {
        const value = await send(method, path, typeof body === "function" ? body() : body);
        this.#drop();
        wait = 500;
        onDone(value);
        await undefined; // whoever waits for the response sees it before the next request is made
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (this.#store && SIGNED_OUT.has(error.status)) {
          // Kept, and sent when the same user signs in again.
          this.#running = false;
          this.#halted = true;
          for (const done of this.#idle.splice(0)) done();
          this.onState("waiting", `${error.message} Your decision is kept in this browser.`);
          return;
        }
        if (this.#store && !error.mayPass) {
          this.#drop();
          this.onState("refused", error.message);
          onDone(undefined);
        } else if (error.mayPass) {
          this.onState("waiting", error.message);
          await new Promise((done) => setTimeout(done, wait));
          wait = Math.min(2 * wait, LONGEST_WAIT);
        } else {
          // The page is about to reload.
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

  #drop() {
    const { place } = this.#waiting.shift();
    if (place) localStorage.removeItem(place);
  }
}
