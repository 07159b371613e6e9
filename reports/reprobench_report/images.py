"""The images of a run of `qualify`: which they were, and what their inspections say of them.

Nothing is judged here: the words are the inspections' and the verdict's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .environment import witnesses
from .load import Run

ROLES = ("candidate", "reference")
# The outcome whose colour a word has: of an inspection, a claim and a finding.
WORD_CLASSES = {
    "clean": "passed", "warned": "recorded", "undecided": "inconclusive", "refused": "failed",
    "agrees": "passed", "contradicted": "failed", "unread": "inconclusive",
    "warn": "recorded", "fail": "failed",
}  # fmt: skip


def with_short_digests(sentence: str) -> str:
    """For the first line of a page, which two digests of 64 digits would fill; the table of images has them whole."""
    return re.sub(r"(\bsha256:[0-9a-f]{12})[0-9a-f]{52}\b", "\\1\N{HORIZONTAL ELLIPSIS}", sentence)


@dataclass(frozen=True)
class Image:
    role: str
    name: str
    digest: str
    word: str
    summary: str
    inspection: dict[str, Any]  # empty where it is not the one that the plan names
    environment: dict[str, Any]  # what a worker inside told; empty: none did

    def _part(self, key: str) -> list[dict[str, Any]]:
        return self.inspection.get(key, [])

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Those that do not agree first."""
        order = ("contradicted", "unread", "agrees")
        return sorted(self._part("claims"), key=lambda claim: order.index(claim["word"]))

    def loaded(self, component: str) -> str:
        """The version that a worker inside had loaded; empty: none, or none told."""
        return witnesses(self.environment, component)["loaded"] if self.environment else ""

    @property
    def findings(self) -> list[dict[str, Any]]:
        return self._part("findings")


def images_of(run: Run) -> list[Image]:
    """Empty for a run of stacks. The candidate comes first."""
    environments = {environment["stack"]: environment for environment in run.verdict["environments"]}
    found = [
        Image(
            role, said["name"], said["digest"], said["inspection"], said["summary"], run.inspections.get(role, {}),
            environments.get(role, {}),
        )  # fmt: skip
        for role, said in run.verdict.get("images", {}).items()
    ]
    return sorted(found, key=lambda image: (ROLES.index(image.role) if image.role in ROLES else len(ROLES), image.role))
