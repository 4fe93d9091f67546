import json

from sayso.documents.align import Aligner
from sayso.documents.line import lines_of
from sayso.documents.mention import MentionedEntity, MentioningSentence
from sayso.readers import jsonl
from sayso.records import Mention, Sentence, Source, Span

ANA = MentionedEntity(Mention("m.1", 'Ana "D" Díaz', (Span(0, 1), Span(3, 4))), ((5, 8), (20, 23)))
ROME = MentionedEntity(Mention("m.2", "Rome", (Span(2, 3),)), ((14, 18),))
SENTENCE = MentioningSentence(("Ana", "left", "Rome", "Ana"), (ANA, ROME), Source("d\\1", 5, 23, (1, 3)))


def test_lines_are_read_back_as_the_sentences_of_the_pairs() -> None:
    pairs, _ = Aligner({("m.1", "m.2"): ("/left",)}, 1.0, 13, 30).align(SENTENCE.entities)
    lines = lines_of(SENTENCE, pairs)
    assert [jsonl.parse(line) for line in lines] == [
        Sentence(SENTENCE.tokens, ANA.mention, ROME.mention, ("/left",), SENTENCE.source),
        Sentence(SENTENCE.tokens, ROME.mention, ANA.mention, (), SENTENCE.source),
    ]
    assert json.loads(lines[0])["head"]["places"] == [[5, 8], [20, 23]]
    assert json.loads(lines[0])["document"] == {"id": "d\\1", "start": 5, "stop": 23, "glued": [1, 3]}
