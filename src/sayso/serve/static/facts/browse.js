// Pages with lists of facts, one fact, or decisions: single-key shortcuts, and decisions sent in the background.

import { Saver, newKey } from "../net.js";
import { inTurn } from "../turn.js";
import { mover, onKeys, submitOnChange } from "./keys.js";
import { fetched, lookAhead, showState, visit, waitFor } from "./page.js";

const WRITTEN = { accepted: "accepted", rejected: "rejected", needs_evidence: "needs evidence" };
const person = encodeURIComponent(document.querySelector(".who span")?.textContent ?? "");

let refused = "";
const saver = new Saver((state, reason = "") => {
  if (state === "refused") refused = `Not saved: ${reason}`;
  showState(state === "waiting" ? reason : refused);
}, `sayso-decisions/${person}`);
waitFor(() => saver.idle());

// Decide on the fact of the button's form.
function decide(button) {
  const { form_token, within, ...given } = Object.fromEntries(new FormData(button.form, button));
  const here = location.href;
  refused = "";
  showDecision(button.form, given.decision);
  saver.add("POST", button.form.dataset.api, { ...given, key: newKey() }).then(() => refresh(here));
}

// Show the decision immediately; the server's version replaces it when saved.
function showDecision(form, decision) {
  const panel = form.closest(".decide");
  const said = panel.querySelector("[role=status]") ?? document.createElement("p");
  said.setAttribute("role", "status");
  said.className = "";
  const badge = document.createElement("span");
  badge.className = `badge ${decision}`;
  badge.textContent = WRITTEN[decision] ?? "withdrawn";
  said.replaceChildren(...(WRITTEN[decision] ? [badge] : []), " saving…");
  form.before(said);
  for (const button of form.querySelectorAll("button[name=decision]")) {
    button.setAttribute("aria-pressed", String(button.value === decision));
  }
}

// Show the server's current decision, unless the user is typing or has moved on.
async function refresh(here = location.href) {
  if (location.href !== here) return;
  const { page } = (await fetched(here)) ?? {};
  const panel = document.querySelector(".decide");
  const fresh = page?.querySelector(".decide");
  if (!panel || !fresh || !saver.isIdle || location.href !== here || panel.querySelector("#reason:focus")) return;
  panel.replaceWith(fresh);
}

async function undo(form) {
  const { facts = "", within = "" } = Object.fromEntries(new FormData(form));
  const undone = await saver.add("POST", "/api/decisions/undo", { facts, within, key: newKey() });
  return undone && visit(undone.link);
}

const button = (key) => document.querySelector(`main button[data-key=${key}]`);
const press = (key) => () => button(key) && decide(button(key));
const move = (distance) => mover([...document.querySelectorAll("main .evidence, main a.open")])(distance);

function follow(relation) {
  const link = document.querySelector(`main a[rel=${relation}]`);
  return link && visit(link.href);
}

function turnView() {
  const views = [...document.querySelectorAll("input[name=view]")];
  const here = views.findIndex((view) => view.checked);
  const next = views[(here + 1) % views.length];
  if (!next) return undefined;
  next.checked = true;
  return visit(urlOf(next.form));
}

// The URL of a form with filters.
function urlOf(form) {
  const asked = new URL(form.action);
  asked.search = new URLSearchParams(new FormData(form));
  return asked.href;
}

onKeys({
  "/": () => document.querySelector("main input[type=search]")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  n: () => follow("next"),
  p: () => follow("prev"),
  v: turnView,
  a: press("a"),
  x: press("x"),
  e: press("e"),
  z: () => button("z") && undo(button("z").form),
});
submitOnChange();

document.addEventListener("submit", (event) => {
  const form = event.target;
  const { submitter } = event;
  if (!form.closest("main")) return;
  event.preventDefault();
  if (form.method === "get") inTurn(() => visit(urlOf(form)));
  else if (form.dataset.api) inTurn(() => decide(submitter));
  else inTurn(() => undo(form));
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("main a[rel=next], main a[rel=prev], main a.open");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  inTurn(() => visit(link.href));
});

if (saver.resume()) saver.idle().then(() => refresh());
lookAhead();
