"""ci/pages_check.py finds what it says that it finds, each by a page made for it."""

import contextlib
import importlib.util
import tempfile
import unittest
from pathlib import Path

from golden_run import REPOSITORY

_SPEC = importlib.util.spec_from_file_location("pages_check", REPOSITORY / "ci" / "pages_check.py")
pages_check = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pages_check)

_WORDS_31 = " ".join(["word"] * 31) + "."


def _said_of(files):
    files = {"README.md": "A page.\n", **files}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)
        return list(pages_check.violations(list(files)))


class PagesTest(unittest.TestCase):
    def test_a_violation_is_named_with_its_line(self):
        for text, said in [
            (f"Short.\n{_WORDS_31}\n", "README.md:1: a sentence of 31 words"),
            (f"{' '.join(['word'] * 15)}\n{' '.join(['word'] * 16)}.\n", "README.md:1: a sentence of 31 words"),
            (f"- one\n- {_WORDS_31}\n", "README.md:2: a sentence of 31 words"),
            ("See [it](missing.md).\n", "README.md:1: no file missing.md"),
            ("Where two runs diverge lies the\nheadline.\n", "README.md:2: `headline`: the field says diagnosis"),
            ("It is gone on with.\n", "README.md:1: `gone on with`: the field says resumed"),
            ("x.\n" * 111, "README.md: 111 lines"),
        ]:
            with self.subTest(said=said, text=text):
                found = _said_of({"README.md": text})
                self.assertEqual([sentence[: len(said)] for sentence in found], [said])

    def test_what_is_short_enough_or_no_sentence_passes(self):
        for text in [
            f"{' '.join(['word'] * 30)}. {' '.join(['word'] * 30)}.\n",
            f"```\n{_WORDS_31}\n```\n",
            f"| {_WORDS_31} |\n",
            "`" + _WORDS_31 + "` is one word.\n",
            "Equal are " + ", ".join(["`aten::mm`"] * 40) + ".\n",
            "The type `Headline`, [a page](https://example.org/legs), [itself](README.md#top).\n",
            "x.\n" * 110,
        ]:
            with self.subTest(text=text):
                self.assertEqual(_said_of({"README.md": text}), [])

    def test_a_word_that_was_replaced_everywhere_is_found_in_sources(self):
        self.assertEqual(
            _said_of({"a/b.cpp": "// it went on with\n"}), ["a/b.cpp:1: `went on with`: the field says resumed"]
        )

    def test_help_is_held_line_by_line(self):
        page = pages_check.HELP
        self.assertEqual(_said_of({page: "  --a N: One headline\n  --b: Two\n"}), [f"{page}:1: `headline`: the field says diagnosis"])
        said = _said_of({page: f"run\n  --c: {_WORDS_31}\n"})
        self.assertEqual([sentence[: sentence.index(" words")] for sentence in said], [f"{page}:2: a sentence of 31"])

    def test_a_folder_of_more_than_ninety_files_is_found(self):
        files = {f"full/{index}.txt": "" for index in range(90)}
        self.assertEqual(_said_of(files), [])
        self.assertEqual(
            _said_of({**files, "full/90.txt": ""}), ["full: 91 files; 90 is where a newcomer is lost"]
        )


if __name__ == "__main__":
    unittest.main()
