// Keys and clicks take effect in order, each after the previous one has finished, so that a mark after an undo
// applies to the sentence that the undo moved to.

const STILL_HERE = 5000;
let turn = Promise.resolve();

export function inTurn(action) {
  turn = turn.then(action).catch(reportError);
}

// Leave the page by calling `go`; the returned promise never resolves. Later actions are meant for the next page and are
// dropped here. If the page is still open after a while, for example because the user pressed Stop, it accepts actions
// again.
export function leave(go) {
  const never = new Promise(() => {});
  turn = never;
  go();
  setTimeout(() => {
    turn = Promise.resolve();
  }, STILL_HERE);
  return never;
}
