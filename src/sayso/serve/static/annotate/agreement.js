// The page for settling disagreements, with the same keys as the annotation page.

import { inTurn, leave } from "../turn.js";
import { bindKeys } from "./keys.js";
import { Marking, complain, saver } from "./marking.js";
import { newKey } from "../net.js";

const marking = new Marking({
  onMark: (place, label) => {
    marking.item.querySelector(".settled-by")?.remove();
    save(marking.item, place, label);
  },
});

// Save the label of a sentence together with its note.
function save(item, place, label) {
  const note = item.querySelector(".note-text").value;
  saver.add("POST", "/api/agreement/settle", { ...marking.name, key: newKey(), sentence: place, label, note });
}

for (const item of marking.items) {
  item.querySelector(".note-text")?.addEventListener("change", () => {
    save(item, Number(item.dataset.place), item.dataset.label);
  });
}

const maySettle = !document.querySelector("#undo[hidden]");
const settle = (label) => () => maySettle && marking.mark(label);

async function leaveWhenSaved(go) {
  await saver.idle();
  return leave(go);
}

async function undo() {
  const { fact } = await saver.add("POST", "/api/agreement/undo", { key: newKey(), fact: marking.name });
  if (!fact) return complain("You have not settled anything on this fact.");
  return leaveWhenSaved(() => location.reload());
}
document.getElementById("undo").addEventListener("click", () => inTurn(undo));

function follow(id) {
  const link = document.getElementById(id);
  return link && leaveWhenSaved(() => location.assign(link.href));
}
for (const id of ["next", "previous"]) {
  document.getElementById(id)?.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    inTurn(() => follow(id));
  });
}

bindKeys({
  j: () => marking.move(1),
  k: () => marking.move(-1),
  ArrowDown: () => marking.move(1),
  ArrowUp: () => marking.move(-1),
  r: settle("rationale"),
  i: settle("irrelevant"),
  u: settle("unsure"),
  c: () => marking.item.querySelector(".note-text")?.focus(),
  n: () => follow("next"),
  p: () => follow("previous"),
  z: () => maySettle && undo(),
});
