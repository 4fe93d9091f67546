"""Convert a user's sentences to input for a trained model: rewritten, mapped to ids and grouped into bags."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sayso.errors import BadArgumentError
from sayso.features.batch import Part
from sayso.features.lexicon import Entities, Lexicon, TypesById
from sayso.memory import DiskShuffle, slices_by_cost
from sayso.records import Bag, Sentence
from sayso.store.block import SentenceBlock
from sayso.store.collect import Collector
from sayso.store.group import Bags, group
from sayso.store.rows import Rows
from sayso.store.table import BagTable
from sayso.store.vocabulary import Numbering

TOKENS_HELD = 2_000_000
"""A larger corpus is spilled to disk; this is about 50,000 sentences, or 100 MB while they are read."""

_log = logging.getLogger("sayso")
_NUM_PARTITIONS = 1024
_PLAIN_COLUMNS = ("head_B", "tail_B", "window_N2")
_ROW_COLUMNS = ("tokens", "head_spans", "tail_spans")


@dataclass(frozen=True, kw_only=True)
class InputBags:
    """Bags as a model reads them, and their pairs.

    `head_B` and `tail_B` are indices into `entities`. Sentences are numbered in the order in which they were added:
    `line_N` are the numbers of the kept ones, `line_B` that of each bag's first one.
    """

    part: Part
    head_B: np.ndarray
    tail_B: np.ndarray
    line_B: np.ndarray
    line_N: np.ndarray
    entities: Entities
    num_repeated: int


class InputBuilder:
    """Takes sentences one by one and stores integer ids; `finish` or `portions` groups them into bags."""

    def __init__(self, lexicon: Lexicon, tokens_held: int = TOKENS_HELD) -> None:
        self.lexicon = lexicon
        self.num_too_far_apart = 0
        self._tokens_held = tokens_held
        self._ids, self._names = Numbering(), dict[int, str]()
        self._collector = self._new_collector()
        self._spilled: _SpilledSentences | None = None

    def add(self, sentence: Sentence) -> bool:
        """Add a sentence, without its relations; return False, adding nothing, if its mentions are too far apart."""
        tokens, head, tail, *_ = self.lexicon.rewrite(sentence)
        is_taken = self._collector.add(tokens, head, tail)
        self.num_too_far_apart += not is_taken
        return is_taken

    def add_stream(self, sentences: Iterable[Sentence | SentenceBlock]) -> None:
        """Add any number of sentences for `portions`; what does not fit into memory is spilled to disk."""
        for sentence in sentences:
            if not isinstance(sentence, SentenceBlock):
                self.add(sentence)
            elif not self.add_block(sentence):
                for each in sentence.sentences():
                    self.add(each)
            if self._collector.num_tokens >= self._tokens_held:
                self._spill()

    def add_block(self, block: SentenceBlock) -> bool:
        """Add the sentences of a block; return False, adding nothing, if they have to be added one by one."""
        window_N2 = self._collector.windows_of(block)
        words = self.lexicon.numbers_of(block) if window_N2 is not None else None
        if window_N2 is None or words is None:
            return False
        self._collector.add_block(block, window_N2, words)
        return True

    def finish(self, num_relations: int, types: TypesById, bag_N: np.ndarray | None = None) -> InputBags:
        """Return one bag per pair with its distinct sentences, or the bags given by `bag_N` with all sentences."""
        collected = self._collector.columns()
        assert bag_N is None or len(bag_N) == collected.num_sentences, "a sentence was left out, or its bag is missing"
        line_N = np.arange(collected.num_sentences)
        return self._input_bags(group(collected, bag_N), line_N, self.recognise(types), num_relations)

    def recognise(self, types: TypesById) -> Entities:
        """Look up the entities in all sentences."""
        ids = list(self._ids)
        names = [self._names.get(number, "") for number in range(len(ids))]
        return self.lexicon.recognise(ids, names, types)

    def portions(self, num_relations: int, entities: Entities) -> Iterator[InputBags]:
        """Yield the bags of all pairs, a few pairs at a time, each with all its distinct sentences."""
        for collected, line_N in self._collected():
            yield self._input_bags(group(collected), line_N, entities, num_relations)

    def _collected(self) -> Iterator[tuple[BagTable, np.ndarray]]:
        if self._spilled is None:
            collected = self._collector.columns()
            return iter([(collected, np.arange(collected.num_sentences))])
        self._spill()
        return self._spilled.portions(self._tokens_held)

    def _new_collector(self) -> Collector:
        return Collector(self.lexicon.numbering, self._ids, self._names, self.lexicon.max_tokens)

    def _spill(self) -> None:
        self._spilled = self._spilled or _SpilledSentences()
        self._spilled.put(self._collector.columns())
        self._collector = self._new_collector()

    def _input_bags(self, bags: Bags, line_N: np.ndarray, entities: Entities, num_relations: int) -> InputBags:
        table = bags.table
        inputs = self.lexicon.input_of(table, entities.type_L)
        number_L = entities.number_L
        # From here on, ids are the model's own; UNKNOWN_ENTITY becomes row 0 of the entity vectors.
        known = replace(table, head_B=number_L[table.head_B], tail_B=number_L[table.tail_B])
        return InputBags(
            part=Part(table=known, inputs=inputs, num_relations=num_relations),
            head_B=table.head_B,
            tail_B=table.tail_B,
            line_B=line_N[bags.first_B],
            line_N=line_N[bags.order],
            entities=entities,
            num_repeated=len(line_N) - len(bags.order),
        )


class _SpilledSentences:
    """Collected sentences on disk, with all sentences of a pair in one partition, in reading order."""

    def __init__(self) -> None:
        self._shuffle = DiskShuffle(_NUM_PARTITIONS)
        self._num_lines = 0

    def put(self, collected: BagTable) -> None:
        """Append sentences."""
        partition_N, num = _partition(collected.head_B, collected.tail_B), collected.num_sentences
        self._shuffle.put("line_N", partition_N, np.arange(self._num_lines, self._num_lines + num))
        for name in _PLAIN_COLUMNS:
            self._shuffle.put(name, partition_N, getattr(collected, name))
        for name in _ROW_COLUMNS:
            rows: Rows = getattr(collected, name)
            self._shuffle.put(name, np.repeat(partition_N, rows.length), rows.value)
            self._shuffle.put(f"{name}.length", partition_N, rows.length.astype(np.int32))
        self._num_lines += num

    def portions(self, num_tokens: int) -> Iterator[tuple[BagTable, np.ndarray]]:
        """Yield sentences and their positions in the stream, about `num_tokens` at a time, without splitting a pair."""
        take = self._shuffle.take
        for some in slices_by_cost(self._shuffle.size_K("tokens"), num_tokens):
            if len(line_N := take("line_N", some)):
                plain = {name: take(name, some) for name in _PLAIN_COLUMNS}
                rows = {n: Rows.of_lengths(take(n, some), take(f"{n}.length", some)) for n in _ROW_COLUMNS}
                yield BagTable.of_sentences(**plain, **rows), line_N


def _partition(head_N: np.ndarray, tail_N: np.ndarray) -> np.ndarray:
    """Return a partition per pair, from a hash.

    Ids are assigned in order of first appearance, so their own bits are not evenly spread.
    """
    mixed_N = head_N.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + tail_N.astype(np.uint64)
    mixed_N *= np.uint64(0xD6E8FEB86659FD93)
    return (mixed_N >> np.uint64(54)).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class UserBags:
    """The sentences that a model can read: `row_B` are the indices of their bags, `bag_N` the bag of each sentence."""

    builder: InputBuilder
    sentences: list[Sentence]
    row_B: np.ndarray
    bag_N: np.ndarray

    def input_bags(self, num_relations: int, types: TypesById | None, uses_entities: bool) -> InputBags:
        """Return the bags with the model's ids; log a warning about unknown entities."""
        bags = self.builder.finish(num_relations, types or {}, self.bag_N)
        warn_unknown(bags.entities, self.builder.lexicon, uses_entities)
        return bags


def read_bags(bags: Sequence[Bag], lexicon: Lexicon) -> UserBags:
    """Return the sentences that the model can read; log a warning with the number of others.

    Raises:
        TypeError: `bags` is a single bag, or contains something that is not a bag.
        BadArgumentError: A bag has no sentences, or an invalid one.
    """
    _refuse_other_than_bags(bags)
    builder, rows, sentences = InputBuilder(lexicon), [], []
    for row, bag in enumerate(bags):
        where = f"bag {row + 1} ({bag.head_id}, {bag.tail_id})"
        if not bag.sentences:
            raise BadArgumentError(f"{where} has no sentences")
        for number, sentence in enumerate(bag.sentences, 1):
            if problem := _problem(sentence, bag):
                raise BadArgumentError(f"{where}: sentence {number}: {problem}")
            if builder.add(sentence):
                rows.append(row)
                sentences.append(sentence)
    if num := builder.num_too_far_apart:
        left_out = "1 sentence is left out" if num == 1 else f"{num:,} sentences are left out"
        _log.warning("%s: %s", left_out, too_far_apart_message(lexicon))
    row_B, bag_N = np.unique(np.array(rows, np.int64), return_inverse=True)
    return UserBags(builder=builder, sentences=sentences, row_B=row_B, bag_N=bag_N)


def label_rows(bags: Sequence[Bag], relations: Sequence[str]) -> np.ndarray:
    """Return label_BR, the relation labels of each bag; raise `BadArgumentError` on an unknown relation."""
    _refuse_other_than_bags(bags)
    column = {name: number for number, name in enumerate(relations)}
    label_BR = np.zeros((len(bags), len(column)), bool)
    for row, bag in enumerate(bags):
        if unknown := bag.relations - column.keys():
            raise BadArgumentError(f"bag {row + 1}: the model does not know the relation {min(unknown)!r}")
        label_BR[row, [column[name] for name in bag.relations]] = True
    return label_BR


def _refuse_other_than_bags(bags: Sequence[Bag]) -> None:
    """Raise `TypeError` unless this is a list of bags; a single bag is a tuple and would pass for one."""
    if isinstance(bags, Bag):
        raise TypeError("expected a list of bags, got a single bag: write [bag]")
    for number, bag in enumerate(bags, 1):
        if not isinstance(bag, Bag):
            raise TypeError(f"bag {number} is a {type(bag).__name__}, not a sayso.Bag: see Bag.from_sentences")


def too_far_apart_message(lexicon: Lexicon) -> str:
    """Return the message for sentences whose mentions are too far apart for the model."""
    return f"mentions are more than {lexicon.max_tokens} tokens apart"


def warn_unknown(entities: Entities, lexicon: Lexicon, uses_entities: bool) -> None:
    """Log the number of unknown entities, if the model uses more than the words of an entity."""
    uses_types = lexicon.mentions != "words"
    if not entities.num_unknown or not (uses_types or uses_entities):
        return
    untyped = f"; {entities.num_untyped:,} have no type and count as {lexicon.types[0]}: pass `types`"
    _log.warning(
        "%s of %s entities are unknown to the model%s",
        f"{entities.num_unknown:,}",
        f"{len(entities.ids):,}",
        untyped if uses_types and entities.num_untyped else "",
    )


def _problem(sentence: Sentence, bag: Bag) -> str:
    """Return what is wrong with a sentence that was built by hand, or an empty string."""
    if sentence.pair != (bag.head_id, bag.tail_id):
        return f"it mentions a different pair, {sentence.pair}"
    spans = (*sentence.head.spans, *sentence.tail.spans)
    if not sentence.head.spans or not sentence.tail.spans:
        return "a mention has no spans"
    if any(not 0 <= start < stop <= len(sentence.tokens) for start, stop in spans):
        return f"a mention is outside the sentence's {len(sentence.tokens)} tokens"
    if any(one.stop > other.start for one, other in pairwise(sorted(spans))):
        return "mentions overlap"
    return ""
