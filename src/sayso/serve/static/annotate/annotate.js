// The annotation page: one key marks a sentence, saves and moves on. The next fact replaces this one in the same page, so
// that keys pressed meanwhile wait for it.

import { inTurn, leave } from "../turn.js";
import { bindKeys } from "./keys.js";
import { Marking, complain, factUrl, saver, wasRefused } from "./marking.js";
import { AWAY, newKey, rooted, sendAtEnd, stored } from "../net.js";

const PAGE = rooted("/annotate/fact");
const LONGEST_ANSWER = 60_000;
const LONGEST_WAIT = 8000;
const person = document.querySelector(".who span").textContent;
const byId = (id) => document.getElementById(id);

let marking, comment, wrong, isSubmitted, savedComment;

// Take over the fact that the document shows.
function open() {
  marking = new Marking({
    onMark: (place, label) => saveMarks([{ sentence: place, label }]),
    onMove: keepPlace,
  });
  const { dataset } = marking.fact;
  isSubmitted = Boolean(dataset.submitted);
  marking.version = Number(dataset.version);
  [comment, wrong] = ["comment", "wrong"].map(byId);
  savedComment = comment.value;
  comment.addEventListener("input", keepDraft);
  comment.addEventListener("blur", saveComment);
  wrong.addEventListener("change", flag);
  const previous = () => go("previous");
  for (const [id, action] of Object.entries({ undo, rest: markRest, submit: submitAndStay, next, previous })) {
    const button = byId(id);
    // A click is meant for the fact that was visible; keys wait for the next one.
    button.addEventListener("click", () => inTurn(() => button.isConnected && action()));
  }
  restoreDraft();
}

// The body of a request that changes this fact. The version is that of the last response: if another tab has changed the
// fact since, the server refuses the request and says what changed.
function step(more = {}) {
  const [here, body] = [marking, { ...marking.name, key: newKey(), ...more }];
  return () => ({ ...body, version: here.version });
}

function change(method, path, more) {
  const here = marking;
  return saver.add(method, `/api/annotate/${path}`, step(more)).then((state) => {
    here.version = state.version;
    return state;
  });
}

function saveMarks(marks) {
  change("POST", "marks", { marks });
}

let placeTimer;
function keepPlace() {
  clearTimeout(placeTimer);
  placeTimer = setTimeout(savePlace, 300);
}

function savePlace() {
  clearTimeout(placeTimer);
  saver.add("PUT", "/api/annotate/place", { ...marking.name, sentence: Number(marking.item.dataset.place) });
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

// Show the fact at the URL in place of this one.
async function visit(url, isNew = true) {
  clearTimeout(placeTimer);
  let found;
  do {
    saveComment();
    await saver.idle();
    found = await pageAt(url);
  } while (comment.value !== savedComment || !saver.isIdle); // something was typed or clicked meanwhile
  if (!found) return leave(() => location.assign(url));
  if (isNew) history.pushState(null, "", found.url);
  document.title = found.page.title;
  for (const part of ["main", ".bar"]) document.querySelector(part).replaceWith(found.page.querySelector(part));
  if (isNew) scrollTo(0, 0);
  open();
}

// Return the page of a fact, asking again until the server responds; undefined if it is another page.
async function pageAt(url) {
  for (let wait = 500; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(LONGEST_ANSWER) });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      return answer.ok && page.getElementById("sentences") ? { url: answer.url, page } : undefined;
    } catch {
      complain(AWAY);
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

async function leaveFor(url) {
  saveComment();
  clearTimeout(placeTimer);
  await saver.idle();
  return leave(() => location.assign(url));
}

// Show what the server has, at the same sentence.
function stay() {
  savePlace();
  return visit(location.href, false);
}

async function undo() {
  clearTimeout(placeTimer);
  const asked = { key: newKey(), fact: marking.name };
  const undone = await saver.add("POST", "/api/annotate/undo", () => ({ ...asked, version: marking.version }));
  if (!undone.fact) return complain("There is nothing to undo.");
  if (!marking.isOf(undone.fact)) return visit(factUrl(PAGE, undone.fact));
  marking.version = undone.version;
  if (undone.is_more) return stay();
  for (const { sentence, label } of undone.marks) marking.setLabel(marking.items[marking.itemAt(sentence)], label);
  marking.goTo(marking.itemAt(undone.marks[0].sentence), true, false);
}

function submit() {
  saveComment();
  return change("POST", "submit");
}

async function submitAndStay() {
  if (isSubmitted) return;
  const num = marking.unmarked.length;
  if (num) {
    await saver.idle();
    return complain(`${num} of ${marking.items.length} sentences are not marked yet; mark them, as unsure if necessary.`);
  }
  await submit();
  return stay();
}

async function go(direction) {
  // The server stores the place of the next fact; the old place must not arrive after it.
  clearTimeout(placeTimer);
  saveComment();
  const { fact } = await saver.add("POST", `/api/annotate/${direction}`, marking.name);
  if (fact) return visit(factUrl(PAGE, fact));
  if (direction === "next") return leaveFor(rooted("/annotate?done=1"));
}

async function next() {
  const isWhole = !isSubmitted && !marking.unmarked.length;
  if (isWhole && (await submit()).is_pilot_done) return leaveFor(rooted("/annotate/pilot"));
  return go("next");
}

function flag() {
  change("PUT", "wrong", { is_wrong: wrong.checked });
}

// A comment is saved when the user leaves the box. Until the server has it, the browser keeps it as a draft.
function saveComment() {
  if (comment.value === savedComment) return;
  const [text, place] = [comment.value, draftPlace()];
  savedComment = text;
  byId("comment-note").hidden = true;
  change("PUT", "comment", { text }).then(() => draftAt(place)?.text === text && localStorage.removeItem(place));
}

const draftPlace = () => `${stored("sayso-comment")}/${person}/${marking.fact.dataset.ids}`;

function draftAt(place) {
  return JSON.parse(localStorage.getItem(place) ?? "null");
}

function keepDraft() {
  try {
    localStorage.setItem(draftPlace(), JSON.stringify({ text: comment.value, before: savedComment.trim() }));
  } catch {
    // Lost only if the page closes while the server is away.
  }
}

// Save a comment that an earlier page could not save; if it has changed since, let the user decide.
function restoreDraft() {
  const draft = draftAt(draftPlace());
  if (!draft || draft.text.trim() === savedComment.trim()) return localStorage.removeItem(draftPlace());
  comment.value = draft.text;
  if (draft.before === savedComment.trim() && !wasRefused) return saveComment();
  const note = byId("comment-note");
  note.textContent = `Not saved yet: press Enter in the box to save it${savedComment && ` instead of “${savedComment}”`}.`;
  note.hidden = false;
}

addEventListener("pagehide", () => {
  saver.sendFirstAtEnd();
  if (saver.isIdle && comment.value !== savedComment) {
    sendAtEnd("PUT", "/api/annotate/comment", step({ text: comment.value })());
  }
});
addEventListener("popstate", () => {
  const asked = new URLSearchParams(location.search);
  // Not for links within the page.
  if (marking.isOf({ bag: Number(asked.get("bag")), relation: asked.get("relation") })) return;
  inTurn(() => visit(location.href, false));
});

open();
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
  s: submitAndStay,
  z: undo,
  w: () => wrong.click(),
  c: () => comment.focus(),
});
