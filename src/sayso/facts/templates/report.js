// Selects the run, the mechanism that ranks the sentences, and the facts to show. The page is readable without it.
"use strict";
(function () {
  const byId = (id) => document.getElementById(id);
  const run = byId("run"), mechanism = byId("mechanism"), support = byId("support"), search = byId("search");
  const facts = Array.from(document.querySelectorAll("details.fact"));
  const count = byId("count");

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const fact of facts) {
      const fits =
        fact.dataset.run === run.value &&
        (!support.value || fact.dataset.support === support.value || (support.value === "marked" && fact.dataset.marked === "1")) &&
        (!wanted || fact.textContent.toLowerCase().includes(wanted));
      fact.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = shown === 1 ? "1 fact" : shown + " facts";
  }

  function order() {
    const name = mechanism.value;
    for (const list of document.querySelectorAll("ol.sentences")) {
      const scored = Array.from(list.children).map((item) => {
        let value = -Infinity;
        for (const score of item.querySelectorAll(".score")) {
          const chosen = score.dataset.name === name;
          score.classList.toggle("chosen", chosen);
          if (chosen) value = Number(score.dataset.score);
        }
        return [value, item];
      });
      scored.sort((a, b) => b[0] - a[0]);
      for (const pair of scored) list.appendChild(pair[1]);
    }
  }

  run.addEventListener("change", filter);
  support.addEventListener("change", filter);
  search.addEventListener("input", filter);
  mechanism.addEventListener("change", order);
  byId("controls").hidden = false;
  order();
  filter();
})();
