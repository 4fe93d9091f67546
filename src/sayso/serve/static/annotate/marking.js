// A list of sentences with a cursor and labels, shared by annotation and agreement.

import { inTurn, leave } from "../turn.js";
import { Saver } from "../net.js";

export const saver = new Saver(showState);

export function factUrl(page, name) {
  return `${page}?${new URLSearchParams({ bag: name.bag, relation: name.relation })}`;
}

export function complain(message) {
  const alertBox = document.getElementById("alert");
  alertBox.textContent = message;
  alertBox.hidden = !message;
}

export class Marking {
  // `onMark(place, label)` saves a label; `onMove(place)` is called when the cursor moves.
  constructor({ onMark, onMove = () => {} }) {
    // Controls are inert until the script runs.
    for (const part of document.querySelectorAll("[inert]")) part.inert = false;
    this.fact = document.getElementById("fact");
    this.name = { bag: Number(this.fact.dataset.bag), relation: this.fact.dataset.relation };
    this.items = [...document.querySelectorAll("#sentences > li")];
    this.onMark = onMark;
    this.onMove = onMove;
    for (const [index, item] of this.items.entries()) {
      item.addEventListener("click", () => this.goTo(index, false));
      for (const button of item.querySelectorAll("button[data-label]")) {
        button.addEventListener("click", () => {
          inTurn(() => {
            if (!item.isConnected) return; // another fact has replaced this one
            this.goTo(index, false);
            this.mark(button.dataset.label);
          });
        });
      }
    }
    const places = this.items.map((item) => Number(item.dataset.place));
    this.current = Math.max(0, places.indexOf(Number(this.fact.dataset.place)));
    this.goTo(this.current, true, false);
    this.count();
  }

  isOf(name) {
    return name.bag === this.name.bag && name.relation === this.name.relation;
  }

  get item() {
    return this.items[this.current];
  }

  get unmarked() {
    return this.items.filter((item) => !item.dataset.label);
  }

  goTo(index, isFar = true, isHeard = true) {
    if (index < 0 || index >= this.items.length) return;
    this.#setCurrent(this.item, false);
    this.current = index;
    this.#setCurrent(this.item, true);
    this.item.focus({ preventScroll: true });
    if (isFar) this.item.scrollIntoView({ block: "nearest" });
    if (isHeard) this.onMove(Number(this.item.dataset.place));
  }

  move(by) {
    this.goTo(this.current + by);
  }

  // Label the current sentence and move to the next one, or from the last to the first unmarked one.
  mark(label) {
    if (!this.item) return;
    this.setLabel(this.item, label);
    this.onMark(Number(this.item.dataset.place), label);
    const isLast = this.current === this.items.length - 1;
    const next = isLast ? this.items.findIndex((item) => !item.dataset.label) : this.current + 1;
    if (next >= 0) this.goTo(next, true, false);
  }

  setLabel(item, label) {
    item.dataset.label = label;
    for (const button of item.querySelectorAll("button[data-label]")) {
      button.setAttribute("aria-pressed", String(button.dataset.label === label));
    }
    this.count();
  }

  itemAt(place) {
    return this.items.findIndex((item) => Number(item.dataset.place) === place);
  }

  count() {
    const num = this.items.length - this.unmarked.length;
    document.getElementById("count").textContent = `${num} of ${this.items.length}`;
  }

  #setCurrent(item, isCurrent) {
    item.classList.toggle("current", isCurrent);
    item.tabIndex = isCurrent ? 0 : -1;
    if (isCurrent) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
    for (const button of item.querySelectorAll("button")) button.tabIndex = isCurrent ? 0 : -1;
  }
}

function showState(state, reason = "") {
  const words = { saved: "· saved", saving: "· saving…", waiting: "· not saved yet", refused: "· not saved" };
  const savedBox = document.getElementById("saved");
  savedBox.textContent = words[state];
  savedBox.classList.toggle("waiting", state === "waiting" || state === "refused");
  // After a refusal, reload to show what the server has.
  if (state === "refused") sessionStorage.setItem("sayso-refused", reason);
  if (state === "refused") leave(() => location.reload());
  else complain(state === "waiting" ? reason : "");
}

// A page from the browser's cache may be out of date.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

const refused = sessionStorage.getItem("sayso-refused");
export const wasRefused = Boolean(refused);
if (refused) {
  sessionStorage.removeItem("sayso-refused");
  complain(refused);
}
