"""How long the reports of a large run take and how big they get: python3 reports/bench_report.py [CELLS].

The run is the golden one, repeated with other workloads until it has CELLS cells (5,000). Its budget is 10 s for all
three reports, loading and validating included, 5 MB for the HTML and 900 KB for the summary. Exit code 1: over budget.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))

from reprobench_report.__main__ import write_reports  # noqa: E402

GOLDEN = _HERE / "tests" / "golden" / "run-2.0"
BUDGET = {"report.html": 5_000_000, "summary.md": 900_000}
BUDGET_S = 10.0


def _copied(cells: list[dict[str, Any]], round_: int) -> list[dict[str, Any]]:
    copies = copy.deepcopy(cells)
    for cell in copies:
        cell["cell_id"] = f"{round_:04x}{cell['cell_id'][4:]}"
        cell["slug"] = cell["slug"].replace("-mlp-", f"-mlp{round_}-")
        cell["coordinates"]["workload"] = f"mlp{round_}"
        if cell["reference_cell_id"]:
            cell["reference_cell_id"] = f"{round_:04x}{cell['reference_cell_id'][4:]}"
    return copies


def write_large_run(folder: Path, cells: int, keep: str | None = None) -> None:
    """A run of `cells` cells; with `keep`, all of them are copies of the golden cells of that outcome."""
    documents = {name: json.loads((GOLDEN / f"{name}.json").read_text("utf-8")) for name in ("verdict", "plan", "run")}
    verdict, plan = documents["verdict"], documents["plan"]
    chosen = [index for index, cell in enumerate(verdict["cells"]) if keep in (None, cell["outcome"])]
    rounds = range(-(-cells // len(chosen)))
    for document in (verdict, plan):
        template = [document["cells"][index] for index in chosen]
        document["cells"] = [cell for round_ in rounds for cell in _copied(template, round_)][:cells]
    counts = Counter(cell["outcome"] for cell in verdict["cells"])
    verdict["totals"] = {name: counts[name] for name in verdict["totals"]} | {"planned": cells}
    skipped = sum(cell["skip"] is not None for cell in plan["cells"])
    plan["totals"] = {"planned": cells, "runnable": cells - skipped, "skipped": skipped}
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), "utf-8")


def main() -> int:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    over = False
    for keep in (None, "passed", "failed"):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write_large_run(folder, cells, keep)
            start = time.perf_counter()
            paths = write_reports(folder, folder / "report")
            seconds = time.perf_counter() - start
            sizes = {path.name: path.stat().st_size for path in paths}
        over |= seconds > BUDGET_S or any(sizes[name] > limit for name, limit in BUDGET.items())
        listed = ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in sizes.items())
        print(f"{cells} cells, {keep or 'as the golden run'}: {seconds:.2f} s, {listed}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
