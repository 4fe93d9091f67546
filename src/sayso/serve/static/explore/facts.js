import { follow, mover, onKeys } from "./keys.js";

const move = mover([...document.querySelectorAll("table.facts a.open")]);

onKeys({
  "/": () => document.querySelector("input[type=search]").focus(),
  j: () => move(1),
  k: () => move(-1),
  n: () => follow("next"),
  p: () => follow("prev"),
});
