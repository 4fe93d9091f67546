from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.markup import without_markup

pieces = st.sampled_from(
    [
        "Oslo",
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "&amp;",
        "&#39;",
        "a < b",
        "<br/>",
        "<nav>",
        "</nav>",
        "<html>",
        "<x-y>",
        " ",
        "<script>if (a<b) c</script>",
        "é",
        "&",
    ]
)


def test_tags_go_and_blocks_end_paragraphs() -> None:
    text = "<html><body><p>Ana <b>Diaz</b> lives.</p><p>In Rome.</p></body></html>"
    assert without_markup(text).text.split("\n\n") == ["", "", "", "Ana Diaz lives.", "", "In Rome.", "", "", ""]


def test_comments_scripts_and_styles_go_with_what_is_in_them() -> None:
    assert without_markup("a<!-- <b>no</b> -->b<script>var x='<p>';</script>c<style>p{}</style>d").text == "abcd"


def test_navigation_goes_with_what_is_in_it_also_if_nested() -> None:
    text = "a<nav><ul><li>Home</li><nav>x</nav></ul></nav>b<button>Go</button>c<noscript>on</noscript>d"
    assert without_markup(text).text.split() == ["a", "b", "c", "d"]
    assert without_markup("a<nav>b</p> c").text.split() == ["a", "b", "c"], "never closed"
    assert without_markup("a</nav>b<nav>c").text.split() == ["a", "b", "c"]


def test_a_value_may_hold_what_ends_a_tag() -> None:
    assert without_markup("""<a title="x > y" href='<p>'>Oslo</a> <p class=it's>Rome</p>""").text.split() == [
        "Oslo",
        "Rome",
    ]


def test_a_whole_page_has_no_tags_left() -> None:
    body = "<my-card id='1'>Ana</my-card><unknown>x</unknown> 1 < 2"
    for start in ("<!DOCTYPE html>", "<html>", "<?xml version='1.0'?>\n<!-- a page -->\n<html lang='en'>"):
        assert without_markup(start + body).text.split() == ["Anax", "1", "<", "2"]


def test_markup_that_is_never_closed_takes_time_in_proportion_to_the_text() -> None:
    for piece in ("<nav>", '<a title="', "<p ' ", "<!-", "</nav>", "&amp", "<script"):
        without_markup(piece * 40_000)


def test_references_mean_their_characters() -> None:
    assert without_markup("AT&amp;T&nbsp;caf&eacute; &#8212; &unknown; R&D").text == "AT&T\xa0café — &unknown; R&D"


def test_what_html_does_not_have_stays() -> None:
    for text in ("if a < b and c > d", "<unknown>x</unknown>", "x <3 y", "<Ana Diaz>"):
        assert without_markup(text).text == text


def test_places_lead_back_to_the_document() -> None:
    text = "<p>Ana <b>Dia</b>z &amp; Co.</p>"
    plain = without_markup(text)
    start = plain.text.index("Ana")
    assert text[slice(*plain.original(start, start + 8))] == "Ana <b>Dia</b>z"
    start = plain.text.index("&")
    assert text[slice(*plain.original(start, start + 1))] == "&amp;"


def test_given_places_lead_to_the_plain_text() -> None:
    text = "<p>Ana <b>Diaz</b></p>"
    plain = without_markup(text)
    start, stop = plain.plain(text.index("Diaz"), text.index("Diaz") + 4)
    assert plain.text[start:stop] == "Diaz"


@given(st.lists(pieces).map("".join))
def test_every_span_has_an_original_span_in_the_same_order(text: str) -> None:
    plain = without_markup(text)
    places = [plain.original(i, i + 1) for i in range(len(plain.text))]
    assert all(0 <= start < stop <= len(text) for start, stop in places)
    assert places == sorted(places)
    for index, (start, stop) in enumerate(places):
        if stop == start + 1:
            assert text[start] == plain.text[index]
