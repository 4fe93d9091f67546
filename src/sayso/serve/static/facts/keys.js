// Single-key shortcuts on pages about facts; inactive while the user is typing.

import { inTurn } from "../turn.js";

const WRITING = "input:not([type=radio], [type=checkbox], [type=submit]), textarea, select";
// A key that is held down repeats moves, but decides only once.
const REPEATED = new Set(["j", "k", "ArrowLeft", "ArrowRight"]);

export function onKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest(WRITING)) {
      if (event.key === "Escape" && !event.isComposing) event.target.blur();
      return;
    }
    const key = keyOf(event);
    const act = actions[key];
    if (!act) return;
    event.preventDefault();
    if (!event.repeat || REPEATED.has(key)) inTurn(act);
  });
}

// Only Shift makes a letter upper case, not Caps Lock.
function keyOf({ key, shiftKey }) {
  if (key.length > 1) return key;
  return shiftKey ? key.toUpperCase() : key.toLowerCase();
}

// Return a function that moves the focus among the elements by a distance.
export function mover(elements) {
  return (distance) => {
    const here = elements.findIndex((element) => element.contains(document.activeElement));
    const next = here < 0 ? (distance > 0 ? 0 : elements.length - 1) : here + distance;
    const target = elements[Math.max(0, Math.min(elements.length - 1, next))];
    target?.focus();
    target?.scrollIntoView({ block: "nearest" });
  };
}

// Selects and radio buttons with `data-submit` submit their form when changed.
export function submitOnChange() {
  document.addEventListener("change", ({ target }) => target.matches("[data-submit]") && target.form.requestSubmit());
}
