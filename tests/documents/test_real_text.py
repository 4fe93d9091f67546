"""Find the names in FB-NYT's test sentences again, if the data are on this machine."""

from readers.shared_data import shared
from sayso.documents.document import Document
from sayso.documents.gazetteer import Gazetteer
from sayso.documents.link import Linker
from sayso.documents.mention import DocumentReader
from sayso.readers.read import Tally, read_sentences
from sayso.records import sentence_key


def test_nearly_every_mention_of_fb_nyt_is_found_again_in_its_bare_text() -> None:
    path = shared("fbnyt/test.txt.gz")
    names: dict[str, dict[str, None]] = {}
    wanted: dict[str, set[tuple[str, str]]] = {}
    for sentence in read_sentences(path, Tally(path)):
        for mention in (sentence.head, sentence.tail):
            names.setdefault(mention.entity_id, {})[mention.name] = None
        wanted.setdefault(sentence_key(sentence.text), set()).add(sentence.pair)
    table = {entity_id: tuple(found) for entity_id, found in names.items()}
    reader = DocumentReader(Gazetteer(table, "ignore").find, Linker(table), table, 300)
    num_found = num_wanted = 0
    for text, pairs in wanted.items():
        for sentence in reader.sentences(Document("d", text)):
            ids = {entity.mention.entity_id for entity in sentence.entities}
            num_found += sum(head in ids and tail in ids for head, tail in pairs)
        num_wanted += len(pairs)
    assert num_wanted == 8_637
    assert num_found / num_wanted > 0.97
