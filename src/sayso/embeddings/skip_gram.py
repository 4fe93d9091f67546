"""Train skip-gram word vectors (Mikolov et al. 2013) with gensim, on a corpus in any supported format or documents."""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sayso.config import SEED, Range, check_ranges
from sayso.documents.document import LeftOut, holds_documents, read_documents
from sayso.documents.mention import plain_sentences
from sayso.documents.settings import BuildSettings
from sayso.embeddings.word2vec import write_word_vectors
from sayso.errors import BadInputError, import_extra, option
from sayso.io.atomic import refuse_unwritable_path
from sayso.readers.read import Tally, read_sentences
from sayso.records import sentence_key
from sayso.seeding import sub_seed


@dataclass(frozen=True, kw_only=True)
class SkipGramSettings:
    """Settings of skip-gram training; with one worker the same seed gives the same vectors."""

    width: Annotated[int, Range(1, 10_000)] = 300
    window: Annotated[int, Range(1, 10_000)] = 5
    epochs: Annotated[int, Range(1, 1_000_000)] = 5
    min_count: Annotated[int, Range(1, 10**9)] = 2
    seed: Annotated[int, SEED] = 13
    workers: Annotated[int, Range(1, 1_024)] = 1

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class SkipGramReport:
    """Counts of a training run."""

    num_sentences: int
    num_words: int
    num_bad: int


def train_skip_gram(
    corpora: Sequence[Path], out: Path, settings: SkipGramSettings, max_bad: float, on_note: Callable[[str], None]
) -> SkipGramReport:
    """Train vectors for the words in the corpora, which are sentences or documents; write them to `out`.

    The file is text, or binary if `out` ends in `.bin`.

    Raises:
        BadInputError: More than the fraction `max_bad` of the lines in a corpus are bad.
    """
    refuse_unwritable_path(out)
    for path in corpora:
        if str(path) == "-":
            raise BadInputError("-: training reads the text several times; use a file instead of standard input")
    gensim = import_extra("gensim.models", "training word vectors", "vectors")  # slow to import
    with tempfile.TemporaryDirectory(prefix="sayso-") as folder:
        text = Path(folder) / "sentences.txt"
        tallies = [Tally(path) for path in corpora]
        num_sentences = _write_text(text, tallies, settings.window, max_bad)
        on_note(f"{num_sentences:,} distinct sentences")
        model = gensim.Word2Vec(
            vector_size=settings.width,
            window=settings.window,
            min_count=settings.min_count,
            workers=settings.workers,
            seed=sub_seed(settings.seed, "skip-gram") % 2**32,
            sg=1,
        )
        model.build_vocab(_TextLines(text))
        if not model.wv.index_to_key:
            raise BadInputError(f"{corpora[0]}: no word occurs {settings.min_count} times; lower {option('min_count')}")
        on_note(f"{len(model.wv.index_to_key):,} words occur {settings.min_count} times or more")
        lines = _TextLines(text, lambda epoch: on_note(f"epoch {epoch} of {settings.epochs}"))
        model.train(lines, total_examples=model.corpus_count, epochs=settings.epochs)
    write_word_vectors(out, model.wv.index_to_key, model.wv.vectors, binary=out.suffix == ".bin")
    return SkipGramReport(num_sentences, len(model.wv.index_to_key), sum(tally.num_bad for tally in tallies))


class _TextLines:
    """The tokens of each line of a file, opened again for every pass."""

    def __init__(self, path: Path, on_pass: Callable[[int], None] | None = None) -> None:
        self.path, self.on_pass, self.num_passes = path, on_pass, 0

    def __iter__(self) -> Iterator[list[str]]:
        self.num_passes += 1
        if self.on_pass:
            self.on_pass(self.num_passes)
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                yield line.rstrip("\n").split(" ")


def _write_text(path: Path, tallies: Sequence[Tally], window: int, max_bad: float) -> int:
    """Write the training text, one sequence per line; return the number of distinct sentences."""
    are_documents = [holds_documents(tally.path) for tally in tallies]
    read = {True: _of_documents, False: _of_sentences}
    sentences = (tokens for tally, kind in zip(tallies, are_documents, strict=True) for tokens in read[kind](tally))
    num_distinct = 0
    with path.open("w", encoding="utf-8") as out:
        for tokens, is_sentence in _texts(sentences, window):
            num_distinct += is_sentence
            out.write(" ".join(tokens) + "\n")
    for tally, is_document in zip(tallies, are_documents, strict=True):
        # `sayso build` has its own limit for documents that cannot be used, and lists them.
        tally.refuse_too_many_bad(1.0 if is_document else max_bad)
    return num_distinct


def _of_sentences(tally: Tally) -> Iterator[Sequence[str]]:
    return (sentence.tokens for sentence in read_sentences(tally.path, tally))


def _of_documents(tally: Tally) -> Iterator[Sequence[str]]:
    """Yield the tokens of all sentences of the documents, and count those that cannot be used as bad."""
    for document in read_documents(tally.path, BuildSettings(), lambda _: None):
        if isinstance(document, LeftOut):
            tally.count_bad(tally.path, 0, f"{document.where}: {document.reason}") if document.is_fault else None
        else:
            tally.num_good += 1
            yield from plain_sentences(document.text)


def _texts(sentences: Iterable[Sequence[str]], window: int) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield each distinct sentence once with its names split, and each joined name in it once with the words around it.

    A sentence may occur with many pairs, each time with different names joined. This way it is learned only once, and
    no joined name is lost. Only 8 bytes per sentence are kept in memory.
    """
    seen: set[bytes] = set()
    for tokens in sentences:
        key = sentence_key(" ".join(tokens))
        if _is_new(key, seen):
            yield key.split(), True
        for index, token in enumerate(tokens):
            if "_" in token.strip("_") and _is_new(f"{token}\t{key}", seen):
                yield tokens[max(0, index - window) : index + window + 1], False


def _is_new(text: str, seen: set[bytes]) -> bool:
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()
    if digest in seen:
        return False
    seen.add(digest)
    return True
