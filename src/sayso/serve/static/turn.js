// Keys and clicks take effect in their order, each once the one before has its answer where it waits for one: what is
// marked after an undo is marked where the undo has led.

const STILL_HERE = 5000;
let turn = Promise.resolve();

export function inTurn(action) {
  turn = turn.then(action).catch(reportError);
}

// Leave the page by `go`; the promise that comes back is never kept. What is asked for from now on is meant for the next
// page, or for nobody: it does not happen here. A page that is still there after a while was not left after all, because
// somebody has stopped the browser on its way, and listens again.
export function leave(go) {
  const never = new Promise(() => {});
  turn = never;
  go();
  setTimeout(() => {
    turn = Promise.resolve();
  }, STILL_HERE);
  return never;
}
