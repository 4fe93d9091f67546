// A list of facts: those of a run, or those that people have decided on.

import { follow, mover, onKeys, pressAndFollow } from "./keys.js";

const move = mover([...document.querySelectorAll("a.open")]);

onKeys({
  "/": () => document.querySelector("input[type=search]").focus(),
  j: () => move(1),
  k: () => move(-1),
  n: () => follow("next"),
  p: () => follow("prev"),
  z: () => pressAndFollow("z"),
});
