#!/usr/bin/env python3
"""Holds the pages to what a newcomer needs: short sentences, the field's words, links that lead somewhere, small folders.

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

# Private words of former versions, and the field's word for each. Sources still have some of the first in names of types
# and keys, which the next major version of the documents renames; pages and messages have none.
REPLACED_IN_PAGES = {
    r"\bstretch(es)?\b": "subgraph",
    r"\bpartings?\b": "divergence",
    r"\bheadlines?\b": "diagnosis",
    r"\blegs?\b": "segment",
    r"\bgiven values\b": "substituted inputs",
}
REPLACED_EVERYWHERE = {r"\b(gone|went) on with\b": "resumed"}


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
    for number, line in enumerate(text.splitlines(), 1):
        shown = re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
        for pattern, word in REPLACED_IN_PAGES.items():
            if re.search(pattern, shown, re.IGNORECASE):
                yield number, f"`{re.search(pattern, shown, re.IGNORECASE)[0]}`: the field says {word}"
        for target in re.findall(r"\]\(([^)#\s]+)", line):
            if "://" not in target and not os.path.exists(os.path.join(os.path.dirname(name), target)):
                yield number, f"no file {target}"


def violations(names):
    folders = {}
    for name in names:
        folders.setdefault(os.path.dirname(name), []).append(name)
        if not name.endswith((".md", ".cpp", ".hpp", ".sh", ".yaml", ".j2")) and name != HELP:
            continue
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, word in REPLACED_EVERYWHERE.items():
                if re.search(pattern, line):
                    yield f"{name}:{number}: `{re.search(pattern, line)[0]}`: the field says {word}"
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
    print("pages: short sentences, known words, links that lead somewhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())
