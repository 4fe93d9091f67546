// The annotation page: one key marks a sentence, saves and moves on.

import { inTurn } from "../turn.js";
import { bindKeys } from "./keys.js";
import { Marking, complain, factUrl, factName, isThisFact } from "./marking.js";
import { newKey, send } from "../net.js";

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
  // Not queued like marks: if it is lost, the page only opens at an earlier sentence.
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

function leaveFor(url) {
  saveComment();
  return marking.leave(() => location.assign(url));
}

function stay() {
  saveComment();
  return marking.leave(() => location.reload());
}

async function undo() {
  clearTimeout(placeTimer);
  const { fact, is_more, marks } = await saver.add("POST", "/api/annotate/undo", { key: newKey(), fact: factName });
  if (!fact) return complain("There is nothing to undo.");
  if (!isThisFact(fact)) return leaveFor(factUrl(PAGE, fact));
  if (is_more) return stay();
  for (const { sentence, label } of marks) marking.setLabel(marking.items[marking.itemAt(sentence)], label);
  marking.goTo(marking.itemAt(marks[0].sentence), true, false);
}

function submit() {
  saveComment();
  return saver.add("POST", "/api/annotate/submit", step());
}

async function submitAndStay() {
  if (isSubmitted) return;
  await submit();
  return stay();
}

async function go(direction) {
  // The server stores the place of the next fact; the old place must not arrive after it.
  clearTimeout(placeTimer);
  saveComment();
  const { fact } = await saver.add("POST", `/api/annotate/${direction}`, factName);
  if (fact) return leaveFor(factUrl(PAGE, fact));
  if (direction === "next") return leaveFor("/annotate?done=1");
}

async function next() {
  const isWhole = !isSubmitted && !marking.unmarked.length;
  if (isWhole && (await submit()).is_pilot_done) return leaveFor("/annotate/pilot");
  return go("next");
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

const previous = () => go("previous");
for (const [id, action] of Object.entries({ undo, rest: markRest, submit: submitAndStay, next, previous })) {
  document.getElementById(id).addEventListener("click", () => inTurn(action));
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
  p: previous,
  s: submitAndStay,
  z: undo,
  w: () => wrong.click(),
  c: () => comment.focus(),
});
