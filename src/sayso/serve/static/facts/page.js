// Navigation between pages without a page load, so that no key press is lost; the next pages are fetched in advance.

import { AWAY, rooted } from "../net.js";
import { inTurn, leave } from "../turn.js";

const SCRIPT = `script[src="${new URL("browse.js", import.meta.url).pathname}"]`;
const LONGEST_ANSWER = 60_000;
const LONGEST_KEPT = 600_000;
// A page that was fetched longer ago than this is shown, and then compared with the server.
const RECENT = 20_000;
const LONGEST_WAIT = 8000;
let ahead = new Map();
let ready = () => {};
let refresh = () => {};

function addBox(name, attribute, value) {
  const box = document.createElement("p");
  box.className = name;
  box.setAttribute(attribute, value);
  document.body.append(box);
  return box;
}
const problem = addBox("notice bad state", "role", "alert");
const toast = addBox("notice toast", "aria-live", "polite");
problem.hidden = true;

// Set a promise to wait for before fetching a page, so that the page shows earlier decisions, and what to call after
// showing a page that was fetched a while ago.
export function onVisit(isReady, refreshPage) {
  ready = isReady;
  refresh = refreshPage;
}

// Replace this page with the one at the URL. Keys wait until it is there, because they are meant for it.
export async function visit(url, isNew = true) {
  document.querySelector("main").setAttribute("aria-busy", "true");
  const kept = ahead.get(url);
  ahead.delete(url);
  const isKept = kept && Date.now() - kept.since < LONGEST_KEPT;
  const found = (isKept && (await kept.answer)) || (await untilAnswered(url));
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
  if (isKept && Date.now() - kept.since > RECENT) refresh();
}

// Fetch the next pages in advance.
export function lookAhead() {
  const listed = JSON.parse(document.querySelector("main [data-ahead]")?.dataset.ahead ?? "[]");
  const next = document.querySelector(".evidence-list") && document.querySelector("a[rel=next]")?.href;
  const urls = listed.length ? listed.map((each) => new URL(rooted(each), location).href) : next ? [next] : [];
  const fetching = (url) => ({ since: Date.now(), answer: fetched(url) });
  ahead = new Map(urls.map((url) => [url, ahead.get(url) ?? fetching(url)]));
}

// Forget what was fetched in advance: it may show decisions that have been undone.
export function forgetAhead() {
  ahead = new Map();
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
  await ready();
  let found;
  for (let wait = 500; !found; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    found = await fetched(url);
    showState(found ? "" : AWAY);
    if (!found) await new Promise((done) => setTimeout(done, wait));
  }
  return found;
}

// Show a problem with saving or loading; an empty string hides it.
export function showState(text) {
  problem.textContent = text;
  problem.hidden = !text;
}

// Return the badge of a decision in a list; an empty list if there is none.
export function badgeOf(decision) {
  if (!decision || decision === "withdrawn") return [];
  const badge = document.createElement("span");
  badge.className = `badge ${decision}`;
  badge.textContent = decision.replaceAll("_", " ");
  return [badge];
}

// Say what a key did, also to a screen reader; the next page replaces the one on which it was done.
export function say(text) {
  toast.textContent = text;
}

addEventListener("popstate", () => inTurn(() => visit(location.href, false)));
