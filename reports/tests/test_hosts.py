"""What the reports say about a merged run: its hosts, and the cells that several of them ran."""

import copy
import unittest

import golden_run
import gpu_samples

from reprobench_report.hosts import hosts_of, shared_cells
from reprobench_report.html import report_html
from reprobench_report.markdown import summary_md

METRIC = "numerics.host_mismatches"


def merged(status="failed", reason="over_bound", sentence="3 > 0; first at step 5 in fc1.weight"):
    """The golden run as one of two hosts that both ran its first passed cell."""
    documents = golden_run.documents()
    verdict, plan, info = (documents[name] for name in golden_run.NAMES)
    sources = [
        {
            "run_id": f"r-{host}", "host": host, "started_utc": "2026-01-01T00:00:00Z", "ended_utc": "2026-01-01T00:01:00Z",
            "duration_ns": 60_000_000_000, "interrupted": False,
        }
        for host in ("gpu-a", "gpu-b")
    ]  # fmt: skip
    info["sources"] = verdict["info"]["sources"] = sources
    other = {
        **plan["host"], "driver": "570.124.06",
        "gpus": [{**gpu_samples.GPU, "name": "NVIDIA H100", "memory_bytes": 80 << 30}] * 8,
    }  # fmt: skip
    plan["hosts"] = [
        {"label": "gpu-a", "runs": ["r-gpu-a"], "facts": plan["host"]},
        {"label": "gpu-b", "runs": ["r-gpu-b"], "facts": other},
    ]
    place = next(i for i, cell in enumerate(verdict["cells"]) if cell["outcome"] == "passed" and cell["checks"])
    for document in (verdict, plan):
        twin = copy.deepcopy(document["cells"][place])
        document["cells"].insert(place + 1, twin)
        for cell, host in ((document["cells"][place], "gpu-a"), (twin, "gpu-b")):
            cell["coordinates"]["host"] = host
            cell["cell_id"] += f"@{host}"
            cell["slug"] += f"@{host}"
    verdict["cells"][place + 1]["checks"].append(
        {
            **copy.deepcopy(verdict["cells"][place]["checks"][0]),
            "metric": METRIC, "dimension": "numerics", "status": status, "reason": reason, "sentence": sentence,
        }
    )  # fmt: skip
    verdict["totals"]["planned"] += 1
    verdict["totals"]["passed"] += 1
    plan["totals"]["planned"] += 1
    plan["totals"]["runnable"] += 1
    return golden_run.loaded(documents)


class Hosts(unittest.TestCase):
    def test_a_run_of_one_host_has_no_section_on_hosts(self):
        run = golden_run.loaded(golden_run.documents())
        self.assertEqual(hosts_of(run), [])
        self.assertEqual(shared_cells(run), [])
        self.assertNotIn('id="hosts"', report_html(run))
        self.assertNotIn("### Hosts", summary_md(run))

    def test_each_host_stands_with_its_devices_and_the_cells_it_ran(self):
        run = merged()
        first, second = hosts_of(run)
        self.assertEqual((first.label, first.devices, first.cells), ("gpu-a", "no GPU", 1))
        self.assertEqual((second.devices, dict(second.outcomes)), ("8 × NVIDIA H100", {"passed": 1}))
        page = report_html(run)
        for words in ('id="hosts"', "8 × NVIDIA H100", "570.124.06", "Merged from", "r-gpu-b of gpu-b"):
            self.assertIn(words, page)

    def test_a_conflict_between_hosts_is_named_with_its_place(self):
        (shared,) = shared_cells(merged())
        self.assertEqual(shared.word, "conflict")
        self.assertEqual([host for host, _ in shared.entries], ["gpu-a", "gpu-b"])
        self.assertIn("first at step 5 in fc1.weight", report_html(merged()))
        self.assertIn("| conflict |", summary_md(merged()))

    def test_words_follow_the_verdict(self):
        words = {
            ("passed", "within_bound"): "equal bits",
            ("inconclusive", "not_comparable"): "not comparable",
            ("inconclusive", "missing_metric"): "undecided",
        }
        for (status, reason), word in words.items():
            self.assertEqual(shared_cells(merged(status, reason))[0].word, word)

    def test_hosts_of_a_shared_cell_have_a_row_each_in_the_matrix(self):
        page = report_html(merged())
        for host in ("gpu-a", "gpu-b"):
            self.assertIn(f'<span class="knob">host {host}</span>', page)

    def test_a_hostile_host_label_is_refused_by_the_schema(self):
        documents = golden_run.documents()
        documents["plan"]["hosts"] = [{"label": "<b>", "runs": ["r"], "facts": documents["plan"]["host"]}]
        with self.assertRaisesRegex(Exception, "label"):
            golden_run.loaded(documents)


if __name__ == "__main__":
    unittest.main()
