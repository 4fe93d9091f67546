import sys
from collections.abc import Iterator

import pytest

from sayso.errors import UserError
from sayso.facts import html
from sayso.facts.explanation import Evidence, Explanation
from sayso.records import Sentence, Support


@pytest.fixture
def no_jinja(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    html._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    yield
    html._environment.cache_clear()


def explanation(text: str, word_scores: tuple[float, ...]) -> Explanation:
    sentence = Sentence.from_text(text, "Namibia", "Windhoek")
    evidence = Evidence(sentence, {"shapley": 1.5}, 1, True, sentence.tokens, word_scores)
    return Explanation(
        head_id="h",
        head_name="Namibia",
        head_type="/country",
        relation="<b>capital</b>",
        tail_id="t",
        tail_name="Windhoek",
        tail_type="/city",
        probability=0.9,
        threshold=0.5,
        is_label=None,
        evidence=(evidence,),
        support=Support("one_sentence", 1, 0.9, 0.1, 0.1),
        ranked_by="shapley",
        variant="CNNs+ATT",
    )


def test_text_from_the_corpus_is_escaped_and_mentions_are_marked() -> None:
    page = explanation("Windhoek <i> Namibia", (0.0, 0.0, 0.0)).to_html()
    assert '<mark class="tail">Windhoek</mark> &lt;i&gt; <mark class="head">Namibia</mark>' in page
    assert "&lt;b&gt;capital&lt;/b&gt;" in page


def test_words_are_shaded_by_their_share_of_the_strongest_and_weak_ones_are_not() -> None:
    page = explanation("Windhoek in Namibia", (2.0, -1.0, 0.1)).to_html()
    assert '<span class="word for" style="--strength:1.00" title="+2.000">Windhoek</span> ' in page
    assert '<span class="word against" style="--strength:0.50" title="-1.000">in</span> Namibia</p>' in page


def test_without_jinja_a_page_is_refused_in_one_line(no_jinja: None) -> None:
    with pytest.raises(UserError, match="HTML pages need jinja2: pip install jinja2"):
        explanation("Windhoek in Namibia", ()).to_html()
