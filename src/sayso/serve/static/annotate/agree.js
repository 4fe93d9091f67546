// The page where disputed sentences are settled: the same keys as for annotating.

import { bindKeys } from "./keys.js";
import { Marking, factAddress, factName, gone, isThisFact } from "./marking.js";
import { newKey } from "./net.js";

const marking = new Marking({
  onMark: (place, label) =>
    marking.saver.add("POST", "/api/agreement/settle", { ...factName, key: newKey(), sentence: place, label }),
});

async function undo() {
  const { fact } = await marking.saver.add("POST", "/api/agreement/undo", { key: newKey() });
  if (!fact) return;
  if (isThisFact(fact)) location.reload();
  else location.assign(factAddress("/agree/fact", fact));
  await gone;
}
document.getElementById("undo").addEventListener("click", () => marking.inTurn(undo));

async function follow(id) {
  await marking.saver.idle();
  document.getElementById(id)?.click();
}

const actions = {
  j: () => marking.move(1),
  k: () => marking.move(-1),
  ArrowDown: () => marking.move(1),
  ArrowUp: () => marking.move(-1),
  r: () => marking.mark("rationale"),
  i: () => marking.mark("irrelevant"),
  u: () => marking.mark("unsure"),
  n: () => follow("next"),
  p: () => follow("previous"),
  z: undo,
};
bindKeys(actions, (action) => marking.inTurn(action));
