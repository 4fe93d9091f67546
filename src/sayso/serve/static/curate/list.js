import { follow, mover, onKeys } from "../explore/keys.js";

const move = mover([...document.querySelectorAll(".decisions a.open")]);

onKeys({
  "/": () => document.querySelector("input[type=search]").focus(),
  j: () => move(1),
  k: () => move(-1),
  n: () => follow("next"),
  p: () => follow("prev"),
  z: () => document.querySelector("button[data-key=z]")?.click(),
});
