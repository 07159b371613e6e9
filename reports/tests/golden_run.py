"""The golden run directory, and copies of it that a test may break."""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

REPORTS = Path(__file__).resolve().parent.parent
REPOSITORY = REPORTS.parent
GOLDEN = REPORTS / "tests" / "golden" / "run-2.0"
NAMES = ("verdict", "plan", "run")
sys.path.insert(0, str(REPORTS))

from reprobench_report.load import Run, load_run  # noqa: E402

_DOCUMENTS = {name: json.loads((GOLDEN / f"{name}.json").read_text("utf-8")) for name in NAMES}


def documents() -> dict[str, Any]:
    """Fresh copies of verdict, plan and run."""
    return copy.deepcopy(_DOCUMENTS)


def write_run(folder: Path, changed: dict[str, Any]) -> Path:
    for name, document in changed.items():
        (folder / f"{name}.json").write_text(json.dumps(document), "utf-8")
    return folder


def loaded(changed: dict[str, Any]) -> Run:
    """The run as the loader accepts it, schema check included."""
    with tempfile.TemporaryDirectory() as folder:
        return load_run(write_run(Path(folder), changed))
