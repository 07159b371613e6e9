"""Reads a run directory and refuses what it does not understand, with one sentence that names file and field."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .schema_check import first_problem

# The build writes the schemas. `reprobench` names its own; by hand they are a bundle's, or those of the last build in the checkout.
_ROOT = Path(__file__).resolve().parents[2]
_SCHEMA_FOLDERS = (_ROOT / "schema", _ROOT / "build" / "schema", _ROOT / "build-ci" / "schema")

# Most-wanted first: how a report orders cells, counts and colours.
OUTCOMES = ("failed", "errored", "inconclusive", "unfinished", "passed", "recorded", "skipped")
DIMENSIONS = ("numerics", "throughput", "memory", "communication")
# As the coordinator bounds them (matrix/record/atomic_file.cpp).
LARGEST_DOCUMENT_BYTES = 1 << 30
STATUSES = ("failed", "inconclusive", "passed")
LAST_READER_OF_MAJOR_1 = "0.2.0"  # as matrix/contract/version.hpp has it


class ReportError(Exception):
    """The run directory cannot be reported; the text says which file and why."""


@dataclass(frozen=True)
class Run:
    verdict: dict[str, Any]
    plan: dict[str, Any]
    info: dict[str, Any]
    # Of comparisons.json, which not every run has: nothing, or what it holds, or why it cannot be shown.
    comparisons: list[dict[str, Any]] | None = None
    comparisons_problem: str = ""
    inspections: dict[str, dict[str, Any]] = field(default_factory=dict)  # of images, by stack

    @property
    def cells(self) -> list[dict[str, Any]]:
        return self.verdict["cells"]


def schema_folder() -> Path:
    named = os.environ.get("REPROBENCH_SCHEMAS", "")
    folders = [Path(named)] if named else [folder for folder in _SCHEMA_FOLDERS if folder.is_dir()]
    if not folders:
        raise ReportError("there are no schemas: `reprobench schema --write DIR`, then REPROBENCH_SCHEMAS=DIR")
    return max(folders, key=lambda folder: folder.stat().st_mtime if folder.is_dir() else 0.0)


def load_schema(name: str) -> dict[str, Any]:
    path = schema_folder() / f"{name}.schema.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"the schema of {name} documents cannot be read: {path}: {error.strerror}") from None


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON; non-finite numbers travel as words in quotes")


def _read_bytes(path: Path) -> bytes:
    """A run folder may come from anywhere: a FIFO is not waited for, a device or a huge file is not read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ReportError(f"{path.name} is not a regular file")
        if status.st_size > LARGEST_DOCUMENT_BYTES:
            raise ReportError(f"{path.name} is larger than {LARGEST_DOCUMENT_BYTES} bytes")
        return file.read(LARGEST_DOCUMENT_BYTES)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(_read_bytes(path).decode("utf-8"), parse_constant=_reject_constant)
    except FileNotFoundError:
        raise ReportError(f"{path.name} is missing: {path.parent} is not a judged run directory") from None
    except OSError as error:
        raise ReportError(f"{path.name} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path.name} is not a JSON document: {error}") from None


def _check_version(file: str, document: Any, name: str, schema: dict[str, Any]) -> None:
    """Another major is refused, a newer minor is refused, an older minor is read (matrix/contract/version.hpp)."""
    if not isinstance(document, dict) or document.get("schema") != f"reprobench/{name}":
        raise ReportError(f"{file} is not a reprobench/{name} document")
    known = {part: rule["const"] for part, rule in schema["properties"]["version"]["properties"].items()}
    version = document.get("version")
    if not isinstance(version, dict) or not all(type(version.get(part)) is int for part in known):
        raise ReportError(f"{file}: `version` with `major` and `minor` is missing")
    if version["major"] != known["major"] or version["minor"] > known["minor"]:
        raise ReportError(
            f"{file}: version {version['major']}.{version['minor']} cannot be read by this report, "
            f"which reads {known['major']}.0 to {known['major']}.{known['minor']}"
            + (f"; reprobench {LAST_READER_OF_MAJOR_1} is the last that reads it" if version["major"] == 1 else "")
        )


def _check_content(file: str, document: dict[str, Any], schema: dict[str, Any]) -> None:
    # Versions this report reads were settled before; an older minor must not fail on the schema's constant.
    parts = schema["properties"]["version"]["properties"]
    problem = first_problem({**document, "version": {part: rule["const"] for part, rule in parts.items()}}, schema)
    if problem is not None:
        raise ReportError(f"{file}: {problem}")


def load_document(path: Path, name: str) -> dict[str, Any]:
    document = _read_json(path)
    schema = load_schema(name)
    _check_version(path.name, document, name, schema)
    _check_content(path.name, document, schema)
    return document


def _check_agreement(verdict: dict[str, Any], plan: dict[str, Any], info: dict[str, Any]) -> None:
    judged = [cell["cell_id"] for cell in verdict["cells"]]
    planned = [cell["cell_id"] for cell in plan["cells"]]
    if judged != planned:
        raise ReportError("verdict.json and plan.json name different cells: they are not of the same run")
    if verdict["info"]["run_id"] != info["run_id"]:
        raise ReportError("verdict.json and run.json name different runs")
    counted = Counter(cell["outcome"] for cell in verdict["cells"])
    stated = verdict["totals"]
    if stated["planned"] != len(judged) or any(
        stated.get(outcome, 0) != counted[outcome] for outcome in OUTCOMES
    ):
        raise ReportError("verdict.json: `totals` disagree with its cells")


def _load_comparisons(path: Path, run_id: str) -> tuple[list[dict[str, Any]] | None, str]:
    """The verdict does not rest on them, so a document that cannot be read costs its section and not the report.

    `compare RUN` measures cells of that run: a file in which another run was measured was copied here."""
    if not path.exists():
        return None, ""
    try:
        comparisons = load_document(path, "comparisons")["comparisons"]
    except ReportError as error:
        return None, str(error)
    for comparison in comparisons:
        measured = comparison["measured"].partition(":")[0]
        if measured != run_id:
            return None, f"comparisons.json compares cells of {measured}, not of this run"
    return comparisons, ""


def _load_inspections(folder: Path, images: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those that the plan names by their sums; the verdict says of the others that they are missing or changed."""
    found = {}
    for stack, image in images.items():
        if "/" in stack:  # a name that leads out of the run
            continue
        path = folder / "inputs" / f"inspection-{stack}.json"
        try:
            if hashlib.sha256(_read_bytes(path)).hexdigest() == image["inspection_sha256"]:
                found[stack] = load_document(path, "inspection")
        except (OSError, ReportError):
            continue
    return found


def load_run(folder: Path) -> Run:
    verdict = load_document(folder / "verdict.json", "verdict")
    plan = load_document(folder / "plan.json", "plan")
    info = load_document(folder / "run.json", "run")
    _check_agreement(verdict, plan, info)
    inspections = _load_inspections(folder, plan.get("images", {}))
    return Run(verdict, plan, info, *_load_comparisons(folder / "comparisons.json", info["run_id"]), inspections)
