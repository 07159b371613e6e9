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
            ("It ends. Of two ranks nobody knows.\n", "README.md:1: a sentence that begins with its object"),
            ("What does not fit\nis skipped.\n", "README.md:1: a sentence that begins with its object"),
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
            "What does it do? **What it does.** Offers, Whatever.\n",
            "`" + _WORDS_31 + "` is one word.\n",
            "Equal are " + ", ".join(["`aten::mm`"] * 40) + ".\n",
            "The type `Legend`, a [page](https://example.org/legend), [itself](README.md#top).\n",
            "x.\n" * 110,
        ]:
            with self.subTest(text=text):
                self.assertEqual(_said_of({"README.md": text}), [])

    def test_a_word_that_was_replaced_is_found_in_sources_keys_and_pieces_of_identifiers(self):
        for name, text, said in [
            ("a/b.cpp", "// it went on with\n", "`went on with`: the field says resumed"),
            ("a/b.cpp", "JointStretch joint;\n", "`stretch`: the field says subgraph"),
            ("a/b.hpp", "joint_stretches(1);\n", "`stretches`: the field says subgraph"),
            ("a/b.cpp", "StepParting parts;\n", "`parting`: the field says divergence"),
            ("a/b.cpp", "int parted_step_ = 0;\n", "`parted`: the field says divergence"),
            ("a/b.py", 'found["headline"]\n', "`headline`: the field says diagnosis"),
            ("a/b.json", '{"on_given_values": true}\n', "`given values`: the field says substituted inputs"),
            ("a/b.cpp", "GivenValues given;\n", "`given values`: the field says substituted inputs"),
            ("a/b.cpp", "constexpr int kLegs = 3;\n", "`legs`: the field says segment"),
            ("a/b.sh", "--do exit=3,leg=2\n", "`leg`: the field says segment"),
            ("a/b.j2", '<p id="partings">\n', "`partings`: the field says divergence"),
            ("a/b.md", "The type `Headline` says it.\n", "`headline`: the field says diagnosis"),
        ]:
            with self.subTest(text=text):
                self.assertEqual(_said_of({name: text}), [f"{name}:1: {said}"])

    def test_words_that_only_hold_one_of_them_and_what_others_wrote_pass(self):
        for name, text in [
            ("a/b.cpp", "illegal_address, kLegend, kLegitimateRatio, partial, partition, a part of it, Departing\n"),
            ("models/data/a.txt", "How many legs has a spider?\n"),
            ("a/b.lock", "headline==1.0\n"),
        ]:
            with self.subTest(text=text):
                self.assertEqual(_said_of({name: text}), [])

    def test_a_decision_that_is_not_there_is_found_wherever_it_is_named(self):
        there = {"ci/adr/0012-ranks.md": "# 12. Ranks\n"}
        for text, missing in [
            ("// as ADR 12 has it\n", []),
            ("// (ci/adr/0012), a quadrant, ADR-like, ADR [12]\n", []),
            ("// as ADR 13 has it\n", [13]),
            ("// (ADR 12, 13)\n", [13]),
            ("// ADRs 13 and 14, or ci/adr/0015\n", [13, 14, 15]),
        ]:
            with self.subTest(text=text):
                said = [f"a/b.cpp:1: no decision {number} in ci/adr" for number in missing]
                self.assertEqual(_said_of({**there, "a/b.cpp": text}), said)

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
