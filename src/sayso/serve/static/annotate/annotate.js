// The annotation page: one key labels, saves and goes on.

import { bindKeys } from "./keys.js";
import { Marking, factAddress, factName, isThisFact } from "./marking.js";
import { newKey, send } from "./net.js";

const fact = document.getElementById("fact");
const comment = document.getElementById("comment");
const wrong = document.getElementById("wrong");
const isSubmitted = Boolean(fact.dataset.submitted);
const PAGE = "/annotate/fact";

const step = (more = {}) => ({ ...factName, key: newKey(), ...more });

const marking = new Marking({
  onMark: (place, label) => saveMarks([{ sentence: place, label }]),
  onMove: keepPlace,
});
const saver = marking.saver;

function saveMarks(marks) {
  saver.add("POST", "/api/annotate/marks", step({ marks }));
}

let placeTimer;
function keepPlace(place) {
  clearTimeout(placeTimer);
  // Not in the row of what must be saved: if it is lost, the page opens some sentences further up.
  placeTimer = setTimeout(() => {
    send("PUT", "/api/annotate/place", { ...factName, sentence: place }).catch(() => {});
  }, 300);
}

function label(name) {
  if (!isSubmitted) marking.mark(name);
}

function markRest() {
  const open = marking.unmarked;
  if (isSubmitted || !open.length) return;
  for (const item of open) marking.setLabel(item, "irrelevant");
  saveMarks(open.map((item) => ({ sentence: Number(item.dataset.place), label: "irrelevant" })));
}

function undo() {
  saver.add("POST", "/api/annotate/undo", { key: newKey() }, (undone) => {
    if (!undone.fact) return;
    if (!isThisFact(undone.fact)) location.assign(factAddress(PAGE, undone.fact));
    else if (undone.is_more) location.reload();
    else {
      for (const { sentence, label } of undone.marks) marking.setLabel(marking.items[marking.itemAt(sentence)], label);
      marking.goTo(marking.itemAt(undone.marks[0].sentence), true, false);
    }
  });
}

function submit(onDone) {
  saveComment();
  saver.add("POST", "/api/annotate/submit", step(), onDone);
}

function go(direction) {
  saveComment();
  saver.add("POST", `/api/annotate/${direction}`, factName, (turn) => {
    if (turn.fact) location.assign(factAddress(PAGE, turn.fact));
    else if (direction === "next") location.assign("/annotate?done=1");
  });
}

function next() {
  const goOn = (saved) => (saved.is_pilot_done ? location.assign("/annotate/pilot") : go("next"));
  if (!isSubmitted && !marking.unmarked.length) submit(goOn);
  else go("next");
}

let saidBefore = comment.value;
function saveComment() {
  clearTimeout(commentTimer);
  if (comment.value === saidBefore) return;
  saidBefore = comment.value;
  saver.add("PUT", "/api/annotate/comment", step({ text: comment.value }));
}

let commentTimer;
comment.addEventListener("input", () => {
  clearTimeout(commentTimer);
  commentTimer = setTimeout(saveComment, 700);
});
comment.addEventListener("blur", saveComment);

function flag() {
  saver.add("PUT", "/api/annotate/wrong", step({ is_wrong: wrong.checked }));
}
wrong.addEventListener("change", flag);

const stay = () => location.reload();
for (const [id, action] of Object.entries({ undo, rest: markRest, submit: () => submit(stay), next, previous: () => go("previous") })) {
  document.getElementById(id).addEventListener("click", action);
}

bindKeys({
  j: () => marking.move(1),
  k: () => marking.move(-1),
  ArrowDown: () => marking.move(1),
  ArrowUp: () => marking.move(-1),
  r: () => label("rationale"),
  i: () => label("irrelevant"),
  u: () => label("unsure"),
  I: markRest,
  n: next,
  p: () => go("previous"),
  s: () => !isSubmitted && submit(stay),
  z: undo,
  w: () => wrong.click(),
  c: () => comment.focus(),
});
