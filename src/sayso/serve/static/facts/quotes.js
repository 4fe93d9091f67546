// Decisions on the sentences of a fact: one key decides on a sentence and moves to the next.

import { newKey } from "../net.js";
import { badgeOf, say } from "./page.js";

const list = () => document.querySelector("main .evidence-list[data-api]");
const panels = () => [...document.querySelectorAll("main .quote-decision")];
const itemOf = (panel) => panel.closest(".evidence");

// The sentence with the focus, or else the first one without a decision.
function current() {
  const all = panels();
  const focused = all.find((panel) => itemOf(panel).contains(document.activeElement));
  return focused ?? all.find((panel) => !panel.dataset.decision) ?? all[0];
}

// Send a decision on a sentence, and move to the next one.
export function decideQuote(button, saver, onSaved) {
  const panel = button.closest(".quote-decision");
  const { decision, reason = "" } = button.dataset;
  const fact = JSON.parse(list().dataset.fact);
  const given = { ...fact, sentence: panel.dataset.sentence, decision, reason, key: newKey() };
  saver.add("POST", list().dataset.api, given).then(onSaved);
  show(panel, decision, reason);
  say(`Sentence ${panel.dataset.rank}: ${decision === "withdrawn" ? "decision cleared" : reason || "states the fact"}.`);
  const next = panels()[panels().indexOf(panel) + 1] ?? panel;
  itemOf(next).focus({ preventScroll: true });
  itemOf(next).scrollIntoView({ block: "nearest" });
}

function show(panel, decision, reason) {
  panel.dataset.decision = decision === "withdrawn" ? "" : decision;
  itemOf(panel).classList.toggle("struck", decision === "rejected");
  for (const each of panel.querySelectorAll("button[aria-pressed]")) {
    const isThis = each.dataset.decision === decision && (each.dataset.reason ?? "") === reason;
    each.setAttribute("aria-pressed", String(isThis));
  }
  const badges = badgeOf(decision);
  for (const badge of badges) badge.textContent = decision === "accepted" ? "states the fact" : reason;
  itemOf(panel).querySelector(".quote-badge").replaceChildren(...badges);
}

// Return the button of the current sentence that matches a selector.
export const quoteButton = (selector) => current()?.querySelector(selector);

// Return the button of the current sentence for the reason with this number.
export const reasonButton = (number) => current()?.querySelectorAll("button[data-decision=rejected]")[number - 1];

// Open the context of all sentences, or close it.
export function turnContext() {
  const contexts = [...document.querySelectorAll("main details.context")];
  const isOpen = contexts.every((each) => each.open);
  for (const each of contexts) each.open = !isOpen;
}
