"""Response time of the facts pages with more than 100,000 bags: the table sorted, filtered, searched, and one fact.

Requests go through the whole HTTP application, but not the network. Names, scores and probabilities are random.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from figure import amount, at_most, record
from measure import seconds_of
from sayso.serve.fact_table import PAGE_SIZE
from sayso.serve.server import ServeSettings
from toy_predictions import make_plain_store, make_run_folder
from toy_runs import Client

NUM_BAGS, NUM_RELATIONS, NUM_TRAINING = 120_000, 50, 2_000
REPEATS = 10
PAGE_MS, FIRST_MS = 50.0, 1000.0
ADDRESSES = {
    "first page": "/predictions/run",
    "sorted by faithfulness": "/predictions/run?sort=faithfulness&order=up",
    "sorted by name": "/predictions/run?sort=head&order=up",
    "filtered": "/predictions/run?relation=/drawn/relation7&label=no&min_probability=0.8&min_disagreement=0.3",
    "searched by name": "/predictions/run?q=land_7777",
    "last page": "/predictions/run?page=9999999",
    "curve": "/predictions/run/curve?point=20",
}


def drawn_lines(first: int, num: int) -> list[str]:
    """Return sentences in NRE format, one for each of `num` pairs; every second pair has a relation."""
    lines = []
    for pair in range(first, first + num):
        head, tail = f"land_{pair}", f"port_town_{pair % 977}_{pair}"
        relation = f"/drawn/relation{pair % NUM_RELATIONS}" if pair % 2 else "NA"
        text = f"in the spring of {pair % 90} the people of {head} spoke of {tail} and of nothing else ."
        lines.append("\t".join((f"h{pair}", f"t{pair}", head, tail, relation, text, "###END###")))
    return lines


def milliseconds(client: Client, address: str) -> list[float]:
    """Return the response times of repeated requests."""

    def ask() -> None:
        answer = client.get(address)
        assert answer.status_code == 200, answer.text

    return [1000 * seconds_of(ask) for _ in range(REPEATS)]


def main() -> None:
    """Request every page; the first request, which builds the sort orders and name index, is separate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = make_plain_store(folder, drawn_lines(0, NUM_TRAINING), drawn_lines(NUM_TRAINING, NUM_BAGS))
        run = make_run_folder(folder / "run", store, with_words=False)
        client = Client(ServeSettings(data=store.folder, database=folder / "marks.db", runs=(run,)))
        bench = client.application.state.workbench
        first = 1000 * seconds_of(lambda: client.get("/predictions/run"))
        index = bench.predictions["run"].index
        fact = bench.predictions["run"].fact(index.num_facts // 2)
        one_fact = f"/predictions/run/fact?bag={fact['bag']}&relation={fact['relation']}"
        note = f"{index.num_facts:,} facts of {NUM_BAGS:,} bags, {PAGE_SIZE} per page"
        figures = [amount("facts page, very first request", [first], "ms", at_most(FIRST_MS), note)]
        for title, address in (ADDRESSES | {"one fact": one_fact}).items():
            once, *again = milliseconds(client, address)
            figures.append(
                amount(f"facts page, {title}", again, "ms", at_most(PAGE_MS), f"{note}; first request {once:.0f} ms")
            )
        bench.close()
    record(figures)


if __name__ == "__main__":
    main()
