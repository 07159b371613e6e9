"""read_event_files.py RUN: holds a run's curves, read by the public `tensorboard` package, against its traces."""

from __future__ import annotations

import json
import math
import struct
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader


def read_curves(path: Path) -> dict[str, dict[int, float]]:
    """By tag and step."""
    curves: dict[str, dict[int, float]] = {}
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            curves.setdefault(value.tag, {})[event.step] = value.tensor.float_val[0]
    return curves


def losses_of(trace: Path) -> dict[int, float]:
    steps = [json.loads(line) for line in trace.read_text().splitlines()]
    return {step["step"]: step["loss"]["bits"] for step in steps if step["kind"] == "step"}


def same(point: float, bits: str) -> bool:
    stated = struct.unpack(">f" if len(bits) == 8 else ">d", bytes.fromhex(bits))[0]
    return math.isnan(point) and math.isnan(stated) or point == struct.unpack("f", struct.pack("f", stated))[0]


def main() -> int:
    run = Path(sys.argv[1])
    slugs = {cell["cell_id"]: cell["slug"] for cell in json.loads((run / "verdict.json").read_text())["cells"]}
    read = points = 0
    for trace in sorted(run.glob("cells/*/r*a0.*/rank-0/trace.jsonl")):
        losses = losses_of(trace)
        if not losses:
            continue  # a probe
        repeat = trace.parts[-3].partition("a")[0].removeprefix("r")
        (path,) = (run / "tensorboard" / slugs[trace.parts[-4]] / f"repeat-{repeat}").iterdir()
        curves = read_curves(path)
        loss = curves["train/loss"]
        if loss.keys() != losses.keys() or not all(same(loss[step], bits) for step, bits in losses.items()):
            print(f"{path}: not the losses of {trace}")
            return 1
        if not {"throughput/step_time_s", "throughput/samples_per_s", "train/learning_rate"} <= curves.keys():
            print(f"{path}: has only {sorted(curves)}")
            return 1
        read += 1
        points += sum(len(curve) for curve in curves.values())
    print(f"{read} curve files with {points} points are those of their traces")
    return 0 if read else 1


if __name__ == "__main__":
    sys.exit(main())
