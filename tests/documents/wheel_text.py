"""Real text inside the gensim wheel: 350 news items and the articles of an early dump of English Wikipedia."""

import bz2
import re
from functools import cache
from pathlib import Path

import gensim
from gensim.corpora.wikicorpus import extract_pages, filter_wiki

_FOLDER = Path(gensim.__file__).parent / "test" / "test_data"
_ARTICLES = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_REST_OF_MARKUP = re.compile(r"'{2,}|^[:*#;]+ ?|^[|!{][^\n]*$|^=+ *|[ =]+$|\[http\S* ?|\]", re.MULTILINE)


@cache
def wheel_texts() -> dict[str, str]:
    """Return the text of each document by id: `news/17` is a line of `lee_background.cor`, `article/Aikido` a page."""
    news = (_FOLDER / "lee_background.cor").read_text("utf-8").splitlines()
    more = (_FOLDER / "lee.cor").read_text("latin-1").splitlines()
    texts = {f"news/{number}": text for number, text in enumerate(news + more)}
    with bz2.open(_FOLDER / _ARTICLES) as dump:
        for title, markup, _ in extract_pages(dump, ("0",)):
            if not markup.lower().startswith("#redirect"):
                texts[f"article/{title}"] = _REST_OF_MARKUP.sub("", filter_wiki(markup))
    return texts
