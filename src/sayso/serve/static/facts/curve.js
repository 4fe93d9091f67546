import { mover, onKeys, submitOnChange } from "./keys.js";

const points = [...document.querySelectorAll(".curve a.point")];
const move = mover(points);

onKeys({ ArrowRight: () => move(1), ArrowLeft: () => move(-1) });
submitOnChange();

// One stop for the Tab key instead of dozens; arrows move between points.
const chosen = points.find((point) => point.hasAttribute("aria-current")) ?? points[0];
for (const point of points) point.setAttribute("tabindex", point === chosen ? "0" : "-1");
