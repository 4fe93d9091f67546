// What the pages about facts share: single keys that act, unless somebody is writing.

import { inTurn, leave } from "../turn.js";

const WRITING = "input:not([type=radio], [type=checkbox], [type=submit]), textarea, select";
const LONGEST_ANSWER = 60_000;
// A key that is held down moves on and on, but decides once.
const REPEATED = new Set(["j", "k", "ArrowLeft", "ArrowRight"]);

export function onKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(WRITING)) return;
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    if (!event.repeat || REPEATED.has(event.key)) inTurn(act);
  });
}

export function follow(relation) {
  const link = document.querySelector(`a[rel=${relation}]`);
  return link && leave(() => link.click());
}

// Send the form of a key's button, and return the address that the answer leads to. Keys wait for the answer: a browser
// that goes on to another page drops a form that is still on its way.
async function sent(key) {
  const button = document.querySelector(`button[data-key=${key}]`);
  if (!button) return undefined;
  try {
    const body = new URLSearchParams(new FormData(button.form, button));
    const signal = AbortSignal.timeout(LONGEST_ANSWER);
    const answer = await fetch(button.form.action, { method: "POST", body, signal });
    if (answer.ok) return answer.url;
  } catch {
    // The browser says below what is wrong.
  }
  return leave(() => button.form.requestSubmit(button));
}

// Press the button of a key, and show the page anew.
export async function press(key) {
  if (await sent(key)) location.reload();
}

// Press the button of a key, and go where that leads.
export async function pressAndFollow(key) {
  const address = await sent(key);
  return address && leave(() => location.assign(address));
}

// Returns a function that moves the focus among the elements by a number of places.
export function mover(elements) {
  return (distance) => {
    const here = elements.findIndex((element) => element.contains(document.activeElement));
    const next = here < 0 ? (distance > 0 ? 0 : elements.length - 1) : here + distance;
    const target = elements[Math.max(0, Math.min(elements.length - 1, next))];
    target?.focus();
    target?.scrollIntoView({ block: "nearest" });
  };
}

// A choice that counts at once: selects and radio buttons with `data-submit` send their form.
export function submitOnChange() {
  for (const field of document.querySelectorAll("[data-submit]")) {
    field.addEventListener("change", () => field.form.requestSubmit());
  }
}
