"""The hosts of a merged run: what each is, what ran there, and which cells several of them ran.

Nothing is judged here: whether two hosts agree is the check `numerics.host_mismatches` of the verdict.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .load import Run

_METRIC = "numerics.host_mismatches"
_WORDS = {"passed": "equal bits", "failed": "conflict"}


@dataclass(frozen=True)
class Host:
    label: str
    facts: dict[str, Any]
    runs: list[str]
    outcomes: Counter[str]

    @property
    def cells(self) -> int:
        return sum(self.outcomes.values())

    @property
    def devices(self) -> str:
        gpus = Counter(gpu["name"] for gpu in self.facts["gpus"])
        return ", ".join(f"{count} × {name}" if count > 1 else name for name, count in gpus.items()) or "no GPU"


@dataclass
class SharedCell:
    """A cell that several hosts ran: one entry a host, and what the verdict says about their bits."""

    slug: str
    entries: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    word: str = "not checked"
    sentence: str = ""


def _host_of(cell: dict[str, Any]) -> str:
    return cell["coordinates"].get("host", "")


def hosts_of(run: Run) -> list[Host]:
    """Empty for a run of one host."""
    return [
        Host(
            host["label"],
            host["facts"],
            host["runs"],
            Counter(cell["outcome"] for cell in run.cells if _host_of(cell) == host["label"]),
        )
        for host in run.plan.get("hosts", [])
    ]


def _agreement(checks: list[dict[str, Any]]) -> tuple[str, str]:
    """A conflict on one side outweighs what the other could not decide."""
    for status in ("failed", "inconclusive", "passed"):
        for check in checks:
            if check["status"] != status:
                continue
            other = "not comparable" if check["reason"] == "not_comparable" else "undecided"
            return _WORDS.get(status, other), check["sentence"]
    return "not checked", ""


def shared_cells(run: Run) -> list[SharedCell]:
    """Conflicts first."""
    found: dict[str, SharedCell] = {}
    for cell in run.cells:
        slug, at, _ = cell["slug"].partition("@")
        if at:
            found.setdefault(slug, SharedCell(slug)).entries.append((_host_of(cell), cell))
    for shared in found.values():
        checks = [check for _, cell in shared.entries for check in cell["checks"] if check["metric"] == _METRIC]
        shared.word, shared.sentence = _agreement(checks)
    order = ("conflict", "undecided", "not comparable", "not checked", "equal bits")
    return sorted(found.values(), key=lambda shared: order.index(shared.word))
