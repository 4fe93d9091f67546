// Mark head and tail by selecting text, with a preview; the server finds the mentions again.

const form = document.getElementById("try");
const preview = form?.querySelector(".preview");
const MOST_SHOWN = 12;
const LONGEST_SHOWN = 600;

const lines = (field) => field.value.split("\n").map((line) => line.trim()).filter(Boolean);
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/[\s_]+/g, "[\\s_]+");

function addSelection(side) {
  const area = form.elements.sentences;
  const chosen = area.value.slice(area.selectionStart, area.selectionEnd).trim();
  const field = form.elements[side];
  if (!chosen || chosen.includes("\n") || lines(field).includes(chosen)) return;
  // A name that no sentence contains is outdated: the new one replaces it.
  const kept = lines(field).filter((name) => pattern([name]).test(area.value));
  field.value = [...kept, chosen].join("\n");
  show();
}

function pattern(names) {
  const longestFirst = [...names].sort((one, other) => other.length - one.length);
  return new RegExp(`(?<![\\p{L}\\p{N}])(${longestFirst.map(escaped).join("|")})(?![\\p{L}\\p{N}])`, "giu");
}

function spans(text, names, kind) {
  return names.length ? [...text.matchAll(pattern(names))].map((found) => ({ kind, start: found.index, stop: found.index + found[0].length })) : [];
}

function markedLine(text) {
  const paragraph = document.createElement("p");
  paragraph.dir = "auto";
  const found = [...spans(text, lines(form.elements.heads), "head"), ...spans(text, lines(form.elements.tails), "tail")];
  found.sort((one, other) => one.start - other.start || other.stop - one.stop);
  let end = 0;
  const kinds = new Set();
  for (const { kind, start, stop } of found) {
    if (start < end) continue;
    paragraph.append(text.slice(end, start));
    const mark = document.createElement("mark");
    mark.className = kind;
    mark.textContent = text.slice(start, stop);
    paragraph.append(mark);
    kinds.add(kind);
    end = stop;
  }
  paragraph.append(text.slice(end));
  for (const kind of ["head", "tail"]) {
    if (kinds.has(kind)) continue;
    const note = document.createElement("span");
    note.className = "missing";
    note.textContent = ` the ${kind} is not named here; the sentence will be left out`;
    paragraph.append(note);
  }
  return paragraph;
}

const shortened = (text) => (text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)} …` : text);

function show() {
  const texts = lines(form.elements.sentences);
  preview.replaceChildren(...texts.slice(0, MOST_SHOWN).map(shortened).map(markedLine));
  preview.hidden = !texts.length;
}

if (form) {
  for (const button of form.querySelectorAll("[data-mark]")) {
    button.addEventListener("click", () => addSelection(button.dataset.mark));
  }
  form.elements.sentences.addEventListener("keydown", (event) => {
    const side = { KeyH: "heads", KeyT: "tails" }[event.code];
    if (!event.altKey || event.ctrlKey || event.metaKey || !side) return;
    event.preventDefault();
    addSelection(side);
  });
  form.addEventListener("input", show);
  form.addEventListener("submit", () => {
    form.querySelector("button[type=submit]").disabled = true;
    document.getElementById("wait").hidden = false;
  });
  show();
  document.getElementById("answer")?.focus();
}
