"""validate_documents.py DOCUMENTS [RUN...]: holds printed documents and run directories against the shipped schemas.

With runs, every shipped schema must have met a document.

A document's schema is the one its own first field names; a file that names none, or another than its file name, is an error, but for documents of other formats.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema

# Documents whose form is somebody else's: in-toto's statements have a `_type`.
OF_OTHERS = {"attestation"}
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from reprobench_report.load import schema_folder  # noqa: E402

SCHEMAS = schema_folder()


def validator(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))


def problems_of(path: Path, text: str, name: str) -> list[str]:
    return [f"{path}: {error.json_path}: {error.message[:200]}" for error in validator(name).iter_errors(json.loads(text))]


def files_of(run: Path) -> tuple[list[tuple[Path, str]], list[tuple[Path, str]]]:
    """A run directory's documents and files of lines, each with the name of its schema."""
    files = [(run / f"{name}.json", name) for name in ("plan", "run", "verdict")]
    for attempt in sorted(run.glob("cells/*/*/rank-*")):
        files += [(attempt / f"{name}.json", name) for name in ("request", "result", "exit")]
    lines = [(run / "journal.jsonl", "journal")]
    lines += [(path, "trace") for path in sorted(run.glob("cells/*/*/rank-*/trace.jsonl"))[:2]]
    lines += [(path, "telemetry") for path in sorted(run.glob("cells/*/*/telemetry.jsonl"))[:2]]
    return files, lines


def main() -> int:
    printed, runs = Path(sys.argv[1]), [Path(run) for run in sys.argv[2:]]
    found: list[str] = []
    checked = 0
    fewest = 50 * len(runs) or 1
    files = [(path, path.stem) for path in sorted(printed.glob("*.json"))]
    lines = [(path, path.stem) for path in sorted(printed.glob("*.jsonl"))]
    for run in runs:
        of_run, lines_of_run = files_of(run)
        files += of_run
        lines += lines_of_run
    for path, name in files:
        text = path.read_text()
        named = json.loads(text).get("schema")
        if named != (None if name in OF_OTHERS else f"reprobench/{name}"):
            found.append(f"{path}: names the schema {named}")
        found += problems_of(path, text, name)
        checked += 1
    for path, name in lines:
        schema = validator(name)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found += [f"{path}:{number}: {error.message[:200]}" for error in schema.iter_errors(json.loads(line))]
            checked += 1
    if runs:
        shipped = {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")}
        found += [f"{name}: no document was held against this schema" for name in sorted(shipped - {name for _, name in files + lines})]
    print("\n".join(found[:20]))
    print(f"{checked} documents checked, {len(found)} problems")
    return 1 if found or checked < fewest else 0


if __name__ == "__main__":
    sys.exit(main())
