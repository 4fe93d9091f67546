import { follow, mover, onKeys, press, pressAndFollow, submitOnChange } from "./keys.js";

const move = mover([...document.querySelectorAll(".evidence")]);

function turnView() {
  const views = [...document.querySelectorAll("input[name=view]")];
  const here = views.findIndex((view) => view.checked);
  views[(here + 1) % views.length]?.click();
}

onKeys({
  j: () => move(1),
  k: () => move(-1),
  n: () => follow("next"),
  p: () => follow("prev"),
  v: turnView,
  a: () => press("a"),
  x: () => press("x"),
  e: () => press("e"),
  z: () => pressAndFollow("z"),
});
submitOnChange();
