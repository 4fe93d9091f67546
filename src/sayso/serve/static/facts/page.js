// Navigation between pages without a page load, so that no key press is lost.

import { AWAY } from "../net.js";
import { inTurn, leave } from "../turn.js";

const SCRIPT = 'script[src="/static/facts/browse.js"]';
const LONGEST_ANSWER = 60_000;
const FRESH = 30_000;
const LONGEST_WAIT = 8000;
let ahead = {};
let ready = () => {};

const box = document.createElement("p");
box.className = "notice bad state";
box.setAttribute("role", "alert");
box.hidden = true;
document.body.append(box);

// Set a promise to wait for before fetching a page, so that the page shows earlier decisions.
export function waitFor(isReady) {
  ready = isReady;
}

// Replace this page with the one at the URL. Keys wait until it is there, because they are meant for it.
export async function visit(url, isNew = true) {
  document.querySelector("main").setAttribute("aria-busy", "true");
  const found = await untilAnswered(url);
  if (!found.page) return leave(() => location.assign(url));
  if (isNew) history.pushState(null, "", found.url);
  document.title = found.page.title;
  for (const part of ["header.top", "main"]) {
    document.querySelector(part).replaceWith(found.page.querySelector(part));
  }
  for (const sheet of found.page.querySelectorAll("link[rel=stylesheet]")) {
    if (!document.querySelector(`link[href="${sheet.getAttribute("href")}"]`)) document.head.append(sheet);
  }
  scrollTo(0, 0);
  document.querySelector("main").focus({ preventScroll: true });
  lookAhead();
}

// Prefetch the next page.
export function lookAhead() {
  const url = document.querySelector(".evidence-list") && document.querySelector("a[rel=next]")?.href;
  ahead = url ? { url, since: Date.now(), answer: fetched(url) } : {};
}

// Fetch the page at the URL; undefined if that fails.
export async function fetched(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(LONGEST_ANSWER) });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return { url: answer.url, page: answer.ok && page.querySelector(SCRIPT) ? page : undefined };
  } catch {
    return undefined;
  }
}

async function untilAnswered(url) {
  const isAhead = ahead.url === url && Date.now() - ahead.since < FRESH;
  let found = isAhead ? await ahead.answer : undefined;
  if (!found) await ready();
  for (let wait = 500; !found; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    found = await fetched(url);
    showState(found ? "" : AWAY);
    if (!found) await new Promise((done) => setTimeout(done, wait));
  }
  return found;
}

// Show a problem with saving or loading; an empty string hides it.
export function showState(text) {
  box.textContent = text;
  box.hidden = !text;
}

addEventListener("popstate", () => inTurn(() => visit(location.href, false)));
