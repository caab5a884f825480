"""Text of a repository inside a comment: it is shown, and never acts.

A comment is written in Markdown that GitHub turns into mentions, links, references, HTML and pictures. Whatever may come from a pull
request stands in a code span or a fence longer than any run of backquotes in it; words of a message stay prose only where every character
is harmless.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from reviewbot.report.common import visible
from reviewbot.report.markdown import code_span
from reviewbot.review.event import REPOSITORY

MAX_MESSAGE = 2_000  # characters of one message
MAX_PATH = 300
MAX_WORD = 80  # a longer one is code

_BACKQUOTES = re.compile("`+")
# Letters, digits and the punctuation of a sentence. No @ # : / \ < > [ ] * _ ~ | & $ ` and nothing outside of Latin letters.
_HARMLESS = re.compile(r"[A-Za-z0-9\u00c0-\u024f(\"']*(?:[A-Za-z0-9\u00c0-\u024f.,%=+()\"';-]*[A-Za-z0-9\u00c0-\u024f%)\"'])?[.,;:)]*\Z")
_SIGNS = frozenset({"-", "\u2013", "\u2014", "=", "+", "%", "&"})
_ACTS = re.compile(r"www\.|(?<!\w)[0-9a-f]{7,64}(?!\w)|\bGH-\d|\A[-+=]", re.IGNORECASE)


def span(text: str, most: int = MAX_MESSAGE) -> str:
    """Text of the repository as one code span on one line, cut where it is long."""
    return code_span(cut(" ".join(text.split()), most))


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def prose(text: str) -> str:
    """A message: words that cannot act stay words, pieces in backquotes and all other words are code spans."""
    text = cut(" ".join(text.split()), MAX_MESSAGE)
    pieces = []
    position = 0
    for start, end, length in _quoted(text):
        pieces.append(_words(text[position:start]))
        pieces.append(code_span(text[start + length : end - length].strip(" ") or " "))
        position = end
    pieces.append(_words(text[position:]))
    return "".join(_apart(pieces))


def _quoted(text: str) -> list[tuple[int, int, int]]:
    """Pieces between two runs of backquotes of the same length: start, end and that length. Linear in the text."""
    runs = [(match.start(), match.end() - match.start()) for match in _BACKQUOTES.finditer(text)]
    following: dict[int, int] = {}
    partner = [0] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1]
        partner[number] = following.get(length, 0)
        following[length] = number
    found = []
    number = 0
    while number < len(runs):
        other = partner[number]
        if other:
            start, length = runs[number]
            found.append((start, runs[other][0] + length, length))
        number = (other or number) + 1
    return found


def _apart(pieces: list[str]) -> list[str]:
    """Two code spans that touch would be read as one."""
    result: list[str] = []
    for piece in pieces:
        if piece:
            if result and result[-1].endswith("`") and piece.startswith("`"):
                result.append(" ")
            result.append(piece)
    return result


def _words(text: str) -> str:
    words = re.split(r"( +)", text)
    shown = [word if not word.strip() or _is_harmless(word) else code_span(word) for word in words]
    return "".join(shown)


def _is_harmless(word: str) -> bool:
    return word in _SIGNS or (len(word) <= MAX_WORD and _HARMLESS.match(word) is not None and _ACTS.search(word) is None)


def fence(lines: list[str], info: str) -> str:
    """Lines as a fenced block of a kind. They are not changed, so they must be ``is_plain`` already."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    marks = "`" * max(3, longest + 1)
    return "\n".join([f"{marks}{info}", *lines, marks])


def is_plain(text: str) -> bool:
    """Whether a line can be shown as it is: nothing invisible, undecodable or turning is in it."""
    without_tabs = text.replace("\t", " ")
    return "\ufffd" not in text and visible(without_tabs) == without_tabs


def link(text: str, url: str) -> str:
    """A link; ``text`` is Markdown already, ``url`` comes from ``Links``."""
    return f"[{text}]({url})"


class Links:
    """Addresses at the head of a repository on a GitHub server; all of them empty where the repository is not known."""

    def __init__(self, server: str = "", repository: str = "") -> None:
        good = REPOSITORY.match(repository) and re.fullmatch(r"https?://[A-Za-z0-9.:-]+", server.rstrip("/"))
        self._root = f"{server.rstrip('/')}/{repository}" if good else ""

    def place(self, commit: str, path: str, line: int, end: int = 0) -> str:
        """``path:line`` as a permalink at ``commit``."""
        shown = code_span(f"{cut(path, MAX_PATH)}:{line}" if line else cut(path, MAX_PATH))
        if not self._root or path == "." or len(path) > 2 * MAX_PATH:
            return shown
        try:
            address = quote(path.encode("utf-8", "surrogateescape"), safe="/")
        except UnicodeEncodeError:  # half of a pair, which no file name has
            return shown
        lines = f"#L{line}" + (f"-L{end}" if end > line else "") if line else ""
        return link(shown, f"{self._root}/blob/{quote(commit, safe='')}/{address}{lines}")

    def commit(self, commit: str) -> str:
        return link(code_span(commit[:10]), f"{self._root}/commit/{quote(commit, safe='')}") if self._root else code_span(commit[:10])
