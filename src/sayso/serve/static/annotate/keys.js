// Single-key shortcuts, the dialog that lists them, and the switch that turns them off.

import { inTurn } from "../turn.js";

const help = document.getElementById("help");
const isOn = document.getElementById("keys-on");
// A key that is held down repeats moves and undos, but marks only one sentence.
const REPEATED = new Set(["j", "k", "z", "ArrowDown", "ArrowUp"]);

export function bindKeys(actions) {
  isOn.checked = localStorage.getItem("sayso-keys") !== "off";
  isOn.addEventListener("change", () => localStorage.setItem("sayso-keys", isOn.checked ? "on" : "off"));
  document.addEventListener("click", ({ target }) => target.closest("#show-help") && help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (isTyping(event.target)) return endTyping(event);
    const key = keyOf(event);
    if (key === "?") help.showModal();
    const action = isOn.checked ? actions[key] : undefined;
    if (!action) return;
    event.preventDefault();
    if (!event.repeat || REPEATED.has(key)) inTurn(action);
  });
}

// Only Shift makes a letter upper case, not Caps Lock: `I` marks much more than `i`.
function keyOf({ key, shiftKey }) {
  if (key.length > 1) return key;
  return shiftKey ? key.toUpperCase() : key.toLowerCase();
}

// Escape leaves the field, and Enter too, which saves it; Shift and Enter start a new line.
function endTyping(event) {
  if (event.isComposing || !(event.key === "Escape" || (event.key === "Enter" && !event.shiftKey))) return;
  event.preventDefault();
  event.target.blur();
  document.querySelector("li.current")?.focus({ preventScroll: true });
}

function isTyping(element) {
  return element.matches('textarea, select, input:not([type="checkbox"], [type="radio"])');
}
