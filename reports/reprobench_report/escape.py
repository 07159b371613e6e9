"""One escape function per sink. Every text of a run is untrusted: names come from YAML, sentences quote worker output.

A sink's function is the only way text reaches it, so a hostile string has to beat one short function, not a template.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# CSI and OSC sequences and two-character escapes (ECMA-48).
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

# Controls other than tab and newline, lone surrogates, non-characters, and the marks that reorder text on screen.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

_MARKDOWN_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>])")

# A spreadsheet takes a cell for a formula if it starts with one of these, blanks in front of it or not.
_FORMULA = re.compile(r"^[\s\u00a0\u200b\ufeff]*[=+\-@\t\r\n]", re.MULTILINE)


def printable(text: str) -> str:
    """`text` without terminal sequences; each character that cannot be shown safely becomes U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", _ANSI.sub("", text.replace("\r\n", "\n")))


def html(value: object) -> Markup:
    """For HTML text and quoted attributes. Markup made by our own templates passes through."""
    if isinstance(value, Markup):
        return value
    return escape(printable(str(value)))


def markdown(value: object) -> str:
    """For GitHub Markdown, inside a table cell or a line: no markup, link, mention or line break survives."""
    text = " ".join(printable(str(value)).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace("@", "&#64;").replace("://", "&#58;//")
    return _MARKDOWN_PUNCTUATION.sub(r"\\\1", text)


def markdown_code(value: object) -> str:
    """A code span in Markdown. An HTML element, because a backtick span cannot hold a pipe inside a table."""
    text = " ".join(printable(str(value)).split())
    for character in "&<>\"'|`*_[]\\@:~":
        text = text.replace(character, f"&#{ord(character)};") if character != "&" else text.replace("&", "&amp;")
    return f"<code>{text}</code>"


def csv_text(value: object) -> str:
    """For a CSV field that holds text: never a formula in a spreadsheet. Quoting is the writer's part."""
    text = printable(str(value))
    return "'" + text if _FORMULA.search(text) else text


def terminal(value: object) -> str:
    """For a line on a terminal."""
    return printable(str(value)).replace("\n", " ")
