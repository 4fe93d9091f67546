"""Write articles of English Wikipedia as documents for `sayso build`: plain paragraphs, without markup.

    python examples/wiki/articles.py documents.jsonl

The articles are in the sample data of gensim (`pip install 'sayso[vectors]'`); titles.txt lists those that are used.
Lists, tables and headings are left out, and so is everything after the text itself (notes, references, links).
"""

import bz2
import html
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
TITLES = Path(__file__).with_name("titles.txt")
_APPENDIX = re.compile(r"(?ims)^==\s*(see also|notes|references|footnotes|further reading|external links)\b.*")
_HIDDEN = (
    r"<!--.*?-->|<ref\b[^<>]*/>|<(ref|math|gallery|table|timeline|sup|blockquote|imagemap|score|poem|div)\b.*?</\1\s*>"
)
_NESTED = {
    "template": re.compile(r"\{\{([^{}]*)\}\}"),
    "table": re.compile(r"^[:*\s]*\{\|(?:(?!\{\|).)*?^\s*\|\}", re.M | re.S),
    "file": re.compile(r"\[\[(?:file|image|category|[a-z]{2,3}):(?:[^\[\]]|\[\[[^\[\]]*\]\]|\[[^\[\]]*\])*\]\]", re.I),
}
_LINKS = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]|\[(?:https?:)?//[^\s\]]+\s*([^\]]*)\]")
_TIDY = (
    (re.compile(r"'{2,}|</?\w[^<>]*>|__[A-Z]+__|\([\s,;:.]*\)|\[\d*\]"), ""),
    (re.compile(r"\(\s*(?:(?:[,;:]|or\b|and\b)\s*)*"), "("),
    (re.compile(r"\s*[,;:]?\s*\)"), ")"),
    (re.compile(r"\s+(?=[,.;:])|,(?=\s*,)|\(\)"), ""),
    (re.compile(r"\s+"), " "),
)
_LEFTOVER = re.compile(r"^\W*[,;:.)]|[{}|]|\[\[|\]\]| (?:of|at|in|about|over|than)[,.]")


def main(out: Path) -> None:
    """Write the listed articles as JSON lines with id and text."""
    titles = set(TITLES.read_text("utf-8").splitlines())
    found = {title: plain(markup) for title, markup in articles() if title in titles}
    if missing := titles - found.keys():
        sys.exit(f"not in gensim's sample: {', '.join(sorted(missing))}")
    lines = (json.dumps({"id": title, "text": text}, ensure_ascii=False) + "\n" for title, text in found.items())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(lines), "utf-8")
    print(f"{len(found)} articles, {sum(len(text.split()) for text in found.values()):,} words")


def articles() -> Iterator[tuple[str, str]]:
    """Yield title and markup of every article in gensim's sample."""
    package = importlib.util.find_spec("gensim")
    if package is None or package.origin is None:
        sys.exit("gensim is missing: pip install 'sayso[vectors]'")
    with bz2.open(Path(package.origin).parent / SAMPLE) as file:
        for _, element in ElementTree.iterparse(file):
            name = element.tag.removesuffix("page")
            if name != element.tag:
                yield element.findtext(f"{name}title", ""), element.findtext(f"{name}revision/{name}text", "")
                element.clear()


def plain(markup: str) -> str:
    """Return the paragraphs of an article, separated by empty lines."""
    text = re.sub(_HIDDEN, "", _APPENDIX.sub("", markup), flags=re.I | re.S)
    for kind, pattern in _NESTED.items():
        while (inner := pattern.sub(shown if kind == "template" else "", text)) != text:
            text = inner
    text = html.unescape(_LINKS.sub(lambda link: link[1] or link[2] or "", text))
    lines = [tidy(line) for line in text.splitlines() if line[:1] not in {*"*#;:=|!{} "}]
    return "\n\n".join(
        line for line in lines if re.search(r"(\S+ ){5}.*[.!?)\"]$", line) and not _LEFTOVER.search(line)
    )


def shown(template: re.Match[str]) -> str:
    """Return what a template shows within a sentence, if it is a measure, a date or a foreign word."""
    name, *values = (part.strip() for part in template[1].split("|") if "=" not in part)
    if name.lower() in ("convert", "cvt"):
        return " ".join(values[: 4 if values[1:2] in (["to"], ["and"], ["-"]) else 2])
    if name.lower() in ("lang", "transl", "nowrap", "small", "'"):
        return values[-1] if values else ""
    return {"as of": " ".join([name, *values[:1]]), "snd": " – ", "spaced ndash": " – "}.get(name.lower(), "")


def tidy(line: str) -> str:
    """Return a line without what the removed markup leaves behind."""
    for pattern, new in _TIDY:
        line = pattern.sub(new, line)
    return line.strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
