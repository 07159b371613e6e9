"""report.html: one file that fetches nothing, runs no script and has the same bytes for the same run.

The content security policy allows exactly the one style sheet below, by hash; a hostile string that became markup
could still load nothing and run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from . import escape, svg
from .changes import changes_of, dimensions_of, workloads_of
from .environment import component_names, differences, witnesses
from .heatmap import grid_of, letters
from .hosts import hosts_of, shared_cells
from .images import WORD_CLASSES, images_of, with_short_digests
from .limits import limit_rows
from .load import OUTCOMES, Run
from .measurements import check_name, measured_cells
from .overview import (
    cells_that_ran,
    comparisons,
    dimension_counts,
    dimension_lines,
    disarmed_by,
    first_of_each,
    in_order,
    outcome_counts,
    own_files,
    recorded_over,
    reference_stacks,
    skip_groups,
    unchecked,
)
from .phases import has_phases, phase_bars
from .divergences import divergences, squeezed
from .quantity import duration, exact, finite, human, percent, significant
from .telemetry import MAX_ROWS, clock_chart, telemetry_rows

_TEMPLATES = Path(__file__).resolve().parent / "templates"

# Beyond these many cells a full card or an expandable entry each would make the page too large to open; the rest get
# a row in a compact table with the same words and numbers.
MAX_CARDS = 100
MAX_EXPANDABLE = 150

# Of each metric that is over its bound and only recorded; the rest is counted.
MAX_OVER_SHOWN = 3

# Of the claims and of the findings of one image.
MAX_CLAIMS = 100

_WANTED = ("failed", "errored", "inconclusive", "unfinished")


def _anchor(cell: dict[str, Any], index: int) -> str:
    identifier = cell["cell_id"]
    return f"c-{identifier}" if re.fullmatch(r"[0-9A-Za-z_-]{1,64}", identifier) else f"cell-{index}"


def _bound_kinds(run: Run) -> dict[tuple[str, str, str], str]:
    """By cell, metric and where it was set: a probe may have several thresholds of one metric."""
    return {
        (cell["cell_id"], threshold["metric"], threshold["origin"]): threshold["bound"]["kind"]
        for cell in run.plan["cells"]
        for threshold in cell["thresholds"]
    }


def _minified(css: str) -> str:
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    return re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", css)).replace(";}", "}").strip()


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=escape.html,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def report_html(run: Run) -> str:
    verdict, plan, cells = run.verdict, run.plan, run.cells
    kinds = _bound_kinds(run)
    steps = {cell["cell_id"]: cell["request"]["workload"].get("steps", 0) for cell in plan["cells"]}
    wanted = sorted((c for c in cells if c["outcome"] in _WANTED), key=lambda c: _WANTED.index(c["outcome"]))
    passed = [cell for cell in cells if cell["outcome"] in ("passed", "recorded")]
    expandable = passed if len(passed) <= MAX_EXPANDABLE else []
    counts = outcome_counts(run)
    sentence, stop, further = verdict["sentence"].partition(". ")
    anchors = {id(cell): _anchor(cell, index) for index, cell in enumerate(cells)}

    changes = changes_of(run)
    environment = _environment()
    context = {
        "verdict": verdict,
        "first_sentence": with_short_digests(sentence + stop.strip()),
        "further_sentences": further,
        "info": run.info,
        "plan": plan,
        "totals": verdict["totals"],
        "outcomes": [(name, counts[name]) for name in OUTCOMES],
        "dimensions": dimension_counts(cells),
        "lines": dimension_lines(run),
        "unchecked": unchecked(run),
        "over": first_of_each(recorded_over(cells), MAX_OVER_SHOWN),
        "disarmed_by": disarmed_by,
        "ran": cells_that_ran(cells),
        "comparisons": comparisons(cells),
        "changes": changes,
        "change_workloads": workloads_of(changes),
        "change_dimensions": dimensions_of(changes),
        "references": reference_stacks(cells),
        "hosts": hosts_of(run),
        "images": images_of(run),
        "image_classes": WORD_CLASSES,
        "max_claims": MAX_CLAIMS,
        "shared": shared_cells(run),
        "own_files": own_files(plan),
        "max_shared": MAX_EXPANDABLE,
        "skips": skip_groups(cells),
        "grid": grid_of(cells),
        "cards": wanted[:MAX_CARDS],
        "wanted_rest": wanted[MAX_CARDS:],
        "expandable": expandable,
        "passed_rest": passed[len(expandable) :],
        "environments": verdict["environments"],
        "components": component_names(verdict["environments"]),
        "differences": differences(verdict["environments"], reference_stacks(cells)),
        "witnesses": witnesses,
        "letters": letters,
        "measured": measured_cells(run),
        "limits": limit_rows(run),
        "check_name": check_name,
        "in_order": in_order,
        "anchor": lambda cell: anchors[id(cell)],
        "phase_bars": phase_bars,
        "bullet": lambda cell, check: svg.bullet(
            check, kinds.get((cell["cell_id"], check["metric"], check["origin"]), "")
        ),
        "strip": lambda cell, step: svg.step_strip(step, steps.get(cell["cell_id"], 0)),
        "outcome_bar": svg.outcome_bar,
        "telemetry": telemetry_rows(run),
        "telemetry_limit": MAX_ROWS,
        "clock_chart": clock_chart,
        "human": human,
        "exact": exact,
        "finite": finite,
        "percent": percent,
        "significant": significant,
        "duration": duration,
    }
    found = divergences(run, environment, context)
    sheets = ["style.css"]
    sheets += ["divergences.css"] if found["shown"] else []
    sheets += ["telemetry.css"] if context["telemetry"] else []
    sheets += ["phases.css"] if has_phases(run) else []
    style = "".join(_minified((_TEMPLATES / sheet).read_text(encoding="utf-8")) for sheet in sheets)
    text = environment.get_template("report.html.j2").render(
        **context,
        divergences=found,
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii"),
    )
    # Indentation of the templates is a tenth of a large report.
    return squeezed(text) + "\n"
