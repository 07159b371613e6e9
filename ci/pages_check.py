#!/usr/bin/env python3
"""Holds pages to what a newcomer needs: short sentences in plain order, the field's words, links that lead somewhere.

    ci/pages_check.py        prints every violation with file and line; exit code 1 if there is one
"""

import os
import re
import subprocess
import sys

WORDS_IN_A_SENTENCE = 30
FILES_IN_A_FOLDER = 90
README_LINES = 110
HELP = "matrix/cli/verbs/testdata/options.txt"  # what --help says of every option, a line each

# Private words of former versions, and the field's word for each. Nothing that is read or written here has one of them, nor
# an identifier with one as a piece of it.
REPLACED_EVERYWHERE = {
    r"\b(gone|went) on with\b": "resumed",
    r"\bstretch(es|ed)?\b": "subgraph",
    r"\bpart(ed|ings?)\b": "divergence",
    r"\bheadlines?\b": "diagnosis",
    r"\blegs?\b": "segment",
    r"\bgiven values?\b": "substituted inputs",
}
READ = (".md", ".cpp", ".hpp", ".cu", ".sh", ".py", ".yaml", ".json", ".j2", ".css", ".txt")
QUOTED = ("models/data/", "matrix/facts/")  # the words of others
# The record of what was replaced, and what looks for it.
NAMES_THEM = ("ci/adr/0060-words-of-contract-2.md", "ci/pages_check.py", "reports/tests/test_pages_script.py")


def tracked_files():
    names = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if os.path.isfile(name)]


def prose(text):
    """(line, paragraph) of everything that is read as sentences: no code blocks, tables, headings or images."""
    lines, start, in_code = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            line = ""
        item = re.match(r"\s*([-*]|\d+\.) ", line)
        is_prose = line.strip() and not in_code and not re.match(r"\s*[|#>!]|\s{4,}\S", line)
        if lines and (not is_prose or item):
            yield start, " ".join(lines)
            lines = []
        if is_prose:
            start = start if lines else number
            lines.append(line[item.end() :] if item else line.strip())


def sentences(paragraph):
    plain = re.sub(r"`[^`]*`(,? `[^`]*`)*", "CODE", paragraph)  # a list of names is read as one
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    return re.split(r"(?<=[.!?:;])\s+", plain)


def page_violations(name, text):
    for line, paragraph in enumerate(text.splitlines(), 1) if name == HELP else prose(text):
        for sentence in sentences(paragraph):
            if len(sentence.split()) > WORDS_IN_A_SENTENCE:
                yield line, f"a sentence of {len(sentence.split())} words: {sentence[:60]}..."
            if name != HELP and re.match(r"(Of|What|Named) ", sentence) and not sentence.endswith("?"):
                yield line, f"a sentence that begins with its object: {sentence[:60]}..."
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)", line):
            if "://" not in target and not os.path.exists(os.path.join(os.path.dirname(name), target)):
                yield number, f"no file {target}"


def replaced_words(text):
    """(line, what) of each word that was replaced, also as a piece of an identifier: `joint_stretch`, `JointStretch`."""
    for number, line in enumerate(text.splitlines(), 1):
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", line).lower()
        for pattern, word in REPLACED_EVERYWHERE.items():
            if found := re.search(pattern, words):
                yield number, f"`{found[0]}`: the field says {word}"


def dangling_decisions(text, decisions):
    """(line, what) of each decision that is named by its number, and is not among `decisions`: "ADR 12, 20", "ci/adr/0048"."""
    for number, line in enumerate(text.splitlines(), 1):
        lists = re.findall(r"\bADRs? (\d+(?:(?:, | and )\d+)*)|\badr/(\d{4})", line)
        for decision in re.findall(r"\d+", " ".join(map(" ".join, lists))):
            if int(decision) not in decisions:
                yield number, f"no decision {int(decision)} in ci/adr"


def violations(names):
    folders = {}
    decisions = {int(match[1]) for name in names if (match := re.match(r"ci/adr/(\d{4})-", name))}
    for name in names:
        folders.setdefault(os.path.dirname(name), []).append(name)
        if not name.endswith(READ) or name.startswith(QUOTED):
            continue
        with open(name, encoding="utf-8") as file:
            text = file.read()
        if name not in NAMES_THEM:
            yield from (f"{name}:{line}: {what}" for line, what in replaced_words(text))
            if not name.startswith("ci/adr/"):  # its index says where former numbers went
                yield from (f"{name}:{line}: {what}" for line, what in dangling_decisions(text, decisions))
        if name.endswith(".md") or name == HELP:
            yield from (f"{name}:{line}: {what}" for line, what in page_violations(name, text))
    for folder, files in folders.items():
        if len(files) > FILES_IN_A_FOLDER:
            yield f"{folder}: {len(files)} files; {FILES_IN_A_FOLDER} is where a newcomer is lost"
    with open("README.md", encoding="utf-8") as file:
        if (lines := len(file.readlines())) > README_LINES:
            yield f"README.md: {lines} lines; it is read in three minutes at {README_LINES}"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = list(violations(tracked_files()))
    if found:
        print("\n".join(found), f"pages: {len(found)} violations", sep="\n", file=sys.stderr)
        return 1
    print("pages: short sentences, known words, links and decisions that are there")
    return 0


if __name__ == "__main__":
    sys.exit(main())
