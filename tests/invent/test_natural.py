from sayso.invent.natural import natural_text


def test_punctuation_joins_the_word_and_spans_point_at_the_names() -> None:
    made = natural_text(["in", "H", "'s", "town", ",", "T", "and", "H", "met", "."], {"H": "Ann Bo", "T": "Oz"})
    assert made.text == "In Ann Bo's town, Oz and Ann Bo met."
    assert [made.text[a:b] for a, b in made.spans["H"]] == ["Ann Bo", "Ann Bo"]
    assert [made.text[a:b] for a, b in made.spans["T"]] == ["Oz"]


def test_a_name_at_the_start_keeps_its_own_case() -> None:
    assert natural_text(["H", "left", "."], {"H": "eBo"}).text == "eBo left."
