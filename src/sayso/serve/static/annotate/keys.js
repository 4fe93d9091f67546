// Single keys, the help that lists them, and the switch that turns them off.

const help = document.getElementById("help");
const isOn = document.getElementById("keys-on");

// `run` is given the action of the key that was pressed.
export function bindKeys(actions, run) {
  isOn.checked = localStorage.getItem("sayso-keys") !== "off";
  isOn.addEventListener("change", () => localStorage.setItem("sayso-keys", isOn.checked ? "on" : "off"));
  document.getElementById("show-help").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const action = event.key === "?" ? () => help.showModal() : isOn.checked ? actions[event.key] : undefined;
    if (action) {
      event.preventDefault();
      run(action);
    }
  });
}

function isTyping(element) {
  return element.matches('textarea, select, input:not([type="checkbox"], [type="radio"])');
}
