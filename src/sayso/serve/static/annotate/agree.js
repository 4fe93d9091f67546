// The page where disputed sentences are settled: the same keys as for annotating.

import { bindKeys } from "./keys.js";
import { Marking, factAddress, factName, isThisFact } from "./marking.js";
import { newKey } from "./net.js";

const marking = new Marking({
  onMark: (place, label) =>
    marking.saver.add("POST", "/api/agreement/settle", { ...factName, key: newKey(), sentence: place, label }),
});

function undo() {
  marking.saver.add("POST", "/api/agreement/undo", { key: newKey() }, ({ fact }) => {
    if (!fact) return;
    if (isThisFact(fact)) location.reload();
    else location.assign(factAddress("/agree/fact", fact));
  });
}
document.getElementById("undo").addEventListener("click", undo);

async function follow(id) {
  await marking.saver.idle();
  document.getElementById(id)?.click();
}

bindKeys({
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
});
