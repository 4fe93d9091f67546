// Pages with lists of facts, one fact, or decisions: single-key shortcuts, and decisions sent in the background.

import { Saver, newKey, rooted, stored } from "../net.js";
import { inTurn } from "../turn.js";
import { mover, onKeys, submitOnChange } from "./keys.js";
import { badgeOf, fetched, forgetAhead, lookAhead, onVisit, say, showState, visit } from "./page.js";
import { decideQuote, quoteButton, reasonButton, turnContext } from "./quotes.js";
import { decideRows, restoreRows, selectGroup, selectRow } from "./rows.js";

const person = encodeURIComponent(document.querySelector(".who span")?.textContent ?? "");

let refused = "";
const saver = new Saver((state, reason = "") => {
  if (state === "refused") refused = `Not saved: ${reason}`;
  showState(state === "waiting" ? reason : refused);
}, `${stored("sayso-decisions")}/${person}`);
onVisit(() => saver.idle(), () => refresh());

// Decide on the fact of the button's form, and move on to the next fact; in a table, on its rows.
function decide(button) {
  if (button.form.matches(".decide-rows")) return decideRows(button, saver);
  const { form_token, within, ...given } = Object.fromEntries(new FormData(button.form, button));
  const here = location.href;
  refused = "";
  showDecision(button.form, given.decision);
  saver.add("POST", button.form.dataset.api, { ...given, key: newKey() }).then(() => refresh(here));
  const isLast = !document.querySelector("main a[rel=next]");
  say(`${title()}: ${given.decision.replaceAll("_", " ")}.${isLast ? " This is the last fact of the list." : ""}`);
  return given.decision === "withdrawn" || isLast ? undefined : follow("next");
}

const title = () => document.querySelector("main h1").innerText.replaceAll(/\s+/g, " ");

// Show the decision immediately; the server's version replaces it when saved.
function showDecision(form, decision) {
  const panel = form.closest(".decide");
  const said = panel.querySelector("[role=status]") ?? document.createElement("p");
  said.setAttribute("role", "status");
  said.className = "";
  said.replaceChildren(...badgeOf(decision), " saving…");
  form.before(said);
  for (const button of form.querySelectorAll("button[name=decision]")) {
    button.setAttribute("aria-pressed", String(button.value === decision));
  }
}

// Show the server's current decision, unless the user is typing or has moved on.
async function refresh(here = location.href) {
  if (location.href !== here) return;
  const { page } = (await fetched(here)) ?? {};
  if (!page || !saver.isIdle || location.href !== here || document.querySelector("#reason:focus")) return;
  for (const part of [".decide", ".support"]) {
    const fresh = page.querySelector(part);
    if (fresh) document.querySelector(part)?.replaceWith(fresh);
  }
}

async function undo(form) {
  const { facts = "", within = "" } = Object.fromEntries(new FormData(form));
  const undone = await saver.add("POST", "/api/decisions/undo", { facts, within, key: newKey() });
  if (!undone) return undefined;
  if (!undone.head_id && location.pathname !== rooted("/decisions")) return say("You have no decision to undo.");
  forgetAhead();
  if (document.querySelector("main .decide-rows")) return restoreRows(undone.facts);
  say(undone.facts.length > 1 ? `The decisions on ${undone.facts.length} facts are undone.` : "Undone.");
  return visit(new URL(rooted(undone.link), location).href);
}

const button = (key) => document.querySelector(`main button[data-key=${key}]`);
const onQuote = (find) => () => {
  const found = find();
  const here = location.href;
  return found && decideQuote(found, saver, () => refresh(here));
};
const reasonKeys = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => [number, onQuote(() => reasonButton(number))]);
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
  y: onQuote(() => quoteButton("[data-decision=accepted]")),
  0: onQuote(() => quoteButton("[data-decision=withdrawn]")),
  ...Object.fromEntries(reasonKeys),
  c: turnContext,
  r: () => document.querySelector("main #reason")?.focus(),
  s: selectRow,
  S: selectGroup,
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

// Enter in the reason box sends: the decision that the fact has, or else a rejection, as the box says.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || event.target.id !== "reason") return;
  event.preventDefault();
  inTurn(() => {
    const form = event.target.form;
    event.target.blur();
    return decide(form.querySelector("[aria-pressed=true]") ?? form.querySelector("button.rejected"));
  });
});

document.addEventListener("click", ({ target }) => {
  const pressed = target.closest("main .quote-decision button");
  if (pressed) inTurn(onQuote(() => pressed));
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("main a[rel=next], main a[rel=prev], main a.open");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  inTurn(() => visit(link.href));
});

if (saver.resume()) saver.idle().then(() => refresh());
lookAhead();
