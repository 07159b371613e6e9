"""What the reports say of the images of a run of `qualify`, and of an inspection that is not the one that was made."""

import hashlib
import json
import tempfile
import unittest
from pathlib import Path

import golden_run
from test_reports import Page

from reprobench_report.html import MAX_CLAIMS, report_html
from reprobench_report.images import images_of
from reprobench_report.load import load_run
from reprobench_report.markdown import summary_md

DIGEST = "sha256:" + "c" * 64


def claim(component, word, why=""):
    return {
        "component": component, "claimed": "9.1", "source": "env CUDNN_VERSION", "found": "9.10.2",
        "evidence": "site-packages/nvidia/cudnn", "word": word, "why": why,
    }  # fmt: skip


def inspection(**changed):
    return {
        "schema": "reprobench/inspection", "version": golden_run.documents()["verdict"]["version"],
        "image": "new.tar", "form": "oci-archive", "digest": DIGEST, "tags": [], "user": "10001", "entries": 7,
        "layers": [], "torches": [], "components": [], "libraries": [],
        "claims": [claim("torch", "agrees"), claim("cudnn", "contradicted", "two copies"), claim("nccl", "unread")],
        "findings": [{"severity": "warn", "code": "setuid", "path": "/usr/bin/<b>", "what": "gives rights away"}],
        "word": "warned", "summary": "1 of 3 claims contradicted", **changed,
    }  # fmt: skip


def run_of_images(document, keep=lambda text: text, loaded_by=None):
    """The golden run as one of `qualify`; `keep` may change an inspection after its sum was taken.

    `loaded_by` is the role whose worker told what the first stack's of the golden run did.
    """
    documents = golden_run.documents()
    if loaded_by:
        documents["verdict"]["environments"][0]["stack"] = loaded_by
    text = json.dumps(document)
    image = {
        "name": "team/new.tar", "digest": DIGEST, "inspection": document["word"], "summary": document["summary"],
        "inspection_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }  # fmt: skip
    images = {"reference": {**image, "name": "/srv/old", "digest": "root-" + DIGEST}, "candidate": image}
    documents["verdict"]["images"] = documents["plan"]["images"] = images
    with tempfile.TemporaryDirectory() as folder:
        golden_run.write_run(Path(folder), documents)
        (Path(folder) / "inputs").mkdir()
        (Path(folder) / "inputs" / "inspection-candidate.json").write_text(keep(text))
        return load_run(Path(folder))


class Images(unittest.TestCase):
    def test_a_run_of_stacks_has_no_section_on_images(self):
        run = golden_run.loaded(golden_run.documents())
        self.assertEqual(images_of(run), [])
        self.assertNotIn('id="images"', report_html(run))
        self.assertNotIn("### Images", summary_md(run))

    def test_both_are_named_by_digest_with_the_candidate_first(self):
        run = run_of_images(inspection())
        self.assertEqual([image.role for image in images_of(run)], ["candidate", "reference"])
        page, summary = report_html(run), summary_md(run)
        for words in ('id="images"', 'href="#images"', f"<code>{DIGEST}</code>", f"<code>root-{DIGEST}</code>", "/srv/old"):
            self.assertIn(words, page)
        self.assertIn("### Images", summary)
        self.assertLess(summary.index("candidate | team"), summary.index("reference | /srv"))
        parsed = Page(page)
        self.assertEqual((parsed.problems, parsed.open), ([], []))

    def test_the_first_line_has_the_beginning_of_a_digest_and_the_table_all_of_it(self):
        documents = golden_run.documents()
        documents["verdict"]["sentence"] = f"candidate {DIGEST} qualified against reference root-{DIGEST}, not {DIGEST}0. So."
        page = report_html(golden_run.loaded(documents))
        short = "sha256:" + "c" * 12 + "\u2026"
        self.assertIn(f'<h1 id="sentence">candidate {short} qualified against reference root-{short}, not {DIGEST}0.</h1>', page)
        self.assertIn(f"<code>{DIGEST}</code>", report_html(run_of_images(inspection())))

    def test_claims_that_do_not_agree_come_first_with_their_reason(self):
        candidate = images_of(run_of_images(inspection()))[0]
        self.assertEqual([claim["component"] for claim in candidate.claims], ["cudnn", "nccl", "torch"])
        page = report_html(run_of_images(inspection()))
        self.assertIn("3 claims, 1 finding", page)
        self.assertIn('<span class="sub">two copies</span>', page)
        self.assertIn("<code>/usr/bin/&lt;b&gt;</code> gives rights away", page)

    def test_what_a_worker_inside_had_loaded_stands_beside_what_was_found(self):
        told = golden_run.documents()["verdict"]["environments"][0]["fingerprint"]["components"]
        torch = next(component["loaded"] for component in told if component["name"] == "torch")
        self.assertTrue(torch)
        run = run_of_images(inspection(), loaded_by="candidate")
        self.assertEqual([image.loaded("torch") for image in images_of(run)], [torch, ""])
        self.assertEqual(images_of(run)[0].loaded("never"), "")
        self.assertIn(f"<td>9.10.2</td><td>{torch}</td>", report_html(run))
        self.assertIn("<td>9.10.2</td><td>\u2013</td>", report_html(run_of_images(inspection())))

    def test_words_have_the_colour_of_an_outcome(self):
        for word, outcome in (("clean", "passed"), ("warned", "recorded"), ("undecided", "inconclusive"), ("refused", "failed")):
            self.assertIn(f'<span class="chip {outcome}">', report_html(run_of_images(inspection(word=word, claims=[], findings=[]))))

    def test_an_inspection_that_was_changed_or_is_none_is_not_shown(self):
        for keep in (lambda text: text.replace("contradicted", "agrees", 1), lambda text: "{", lambda text: text + " "):
            run = run_of_images(inspection(), keep)
            self.assertEqual(run.inspections, {})
            self.assertNotIn("two copies", report_html(run))
        whole = run_of_images(inspection())
        self.assertEqual(list(whole.inspections), ["candidate"])

    def test_a_stack_whose_name_is_a_path_is_not_followed(self):
        documents = golden_run.documents()
        document = run_of_images(inspection()).verdict["images"]
        documents["verdict"]["images"] = documents["plan"]["images"] = {"../candidate": document["candidate"]}
        self.assertEqual(golden_run.loaded(documents).inspections, {})

    def test_a_thousand_claims_are_cut_with_their_count(self):
        many = inspection(claims=[claim(f"package-{number}", "agrees") for number in range(MAX_CLAIMS + 7)])
        page = report_html(run_of_images(many))
        self.assertIn("7 more in inputs/inspection-candidate.json", page)
        self.assertNotIn(f"package-{MAX_CLAIMS}<", page)


if __name__ == "__main__":
    unittest.main()
