// Decisions from the rows of a table of facts: on the row with the focus, or on all selected rows together.

import { newKey } from "../net.js";
import { badgeOf, say } from "./page.js";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const rows = () => all("main tr[data-fact]");
const boxOf = (row) => row.querySelector("input.pick");
const linkOf = (row) => row?.querySelector("a.open");
const current = () => document.activeElement.closest?.("tr[data-fact]");
const picked = () => rows().filter((row) => boxOf(row)?.checked);
const names = (row) => row.dataset.title;

// Send one decision on the selected rows, or on the row with the focus, and move on to the row below.
export function decideRows(button, saver) {
  const chosen = picked().length ? picked() : [current()].filter(Boolean);
  if (!chosen.length) return say("No fact is selected: j and k move to a row, s selects it.");
  const { form_token, ...given } = Object.fromEntries(new FormData(button.form, button));
  const facts = chosen.map((row) => JSON.parse(row.dataset.fact));
  for (const row of chosen) show(row, given.decision);
  select(chosen, false);
  button.form.elements.reason.value = "";
  saver.add("POST", button.form.dataset.api, { ...given, facts, key: newKey() });
  const written = given.decision.replaceAll("_", " ");
  say(`${chosen.length === 1 ? names(chosen[0]) : `${chosen.length} facts`}: ${written}.`);
  const below = rows()[rows().indexOf(chosen.at(-1)) + 1];
  const target = linkOf(below) ?? linkOf(chosen.at(-1));
  target.focus();
  target.scrollIntoView({ block: "nearest" });
}

// Show the decisions that an undo has restored, if their facts are on this page.
export function restoreRows(facts) {
  const byName = new Map(rows().map((row) => [nameOf(JSON.parse(row.dataset.fact)), row]));
  const found = facts.map((fact) => [fact, byName.get(nameOf(fact))]).filter(([, row]) => row);
  for (const [{ decision }, row] of found) show(row, decision);
  linkOf(found[0]?.[1])?.focus();
  const num = facts.length === 1 ? "a decision" : `the decisions on ${facts.length} facts`;
  const elsewhere = found.length < facts.length ? `; ${facts.length - found.length} of them not on this page` : "";
  say(`Undone: ${found.length === 1 && facts.length === 1 ? names(found[0][1]) : num + elsewhere}.`);
}

const nameOf = ({ head, relation, tail }) => JSON.stringify({ head, relation, tail });

function show(row, decision) {
  row.querySelector(".decision").replaceChildren(...badgeOf(decision));
}

function select(some, isSelected) {
  for (const row of some) boxOf(row).checked = isSelected;
  showCount();
}

function showCount() {
  const count = document.querySelector("main .num-selected");
  if (count) count.textContent = picked().length ? `${picked().length} selected` : "";
  for (const box of all("main input.pick-group")) {
    const inside = rows().filter((row) => row.parentElement === box.closest("tbody"));
    box.checked = inside.every((row) => boxOf(row).checked);
  }
}

// Select or deselect the row with the focus, and move to the row below.
export function selectRow() {
  const row = current() ?? rows()[0];
  if (!row || !boxOf(row)) return;
  select([row], !boxOf(row).checked);
  linkOf(rows()[rows().indexOf(row) + 1] ?? row).focus();
}

// Select or deselect the rows of the group with the focus; without groups, all rows of the page.
export function selectGroup() {
  const row = current() ?? rows()[0];
  if (!row || !boxOf(row)) return;
  const group = rows().filter((each) => each.parentElement === row.parentElement);
  select(group, !group.every((each) => boxOf(each).checked));
}

document.addEventListener("change", ({ target }) => {
  if (target.matches("input.pick-group")) {
    select(rows().filter((row) => row.parentElement === target.closest("tbody")), target.checked);
  } else if (target.matches("input.pick")) showCount();
});
