#!/usr/bin/env bash
# What a training step costs here and in Python on the same LibTorch, the batch included: our throughput suite and
# ci/peers/torch_step.py, in turn, so that both meet the same neighbours. Prints per workload how many times longer the
# Python step takes, the median of the pairs and their range.
#
#   ci/compare_torch.sh --stack NAME [--python PROGRAM] [--device cpu|sm_90] [--precision fp32|bf16] [--compile] [--pairs N]
#                       [--reprobench PROGRAM] [--json FILE]
#
# PROGRAM is a Python that imports the stack's release of torch: `pip install torch==2.11.0` into an environment of its own. FILE, or
# with `-` the last line printed, has the ratio of every pair as JSON.
set -euo pipefail
cd "$(dirname "$0")/.."

stack='' python=python3 device=cpu precision=fp32 compile=() pairs=5 reprobench=build/bin/reprobench json=''
while [ $# -gt 0 ]; do
  case $1 in
    --stack) stack=$2 ;;
    --python) python=$2 ;;
    --device) device=$2 ;;
    --precision) precision=$2 ;;
    --pairs) pairs=$2 ;;
    --reprobench) reprobench=$2 ;;
    --json) json=$2 ;;
    --compile) compile=(--compile); shift; continue ;;
    *) sed -n '6,7s/^# *//p' "$0" >&2; exit 2 ;;
  esac
  shift 2
done
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
[ -n "$stack" ] || { echo "compare_torch: --stack is missing" >&2; exit 2; }
on=cuda
[ "$device" = cpu ] && on=cpu
# "2.11.0", of `components: {torch: "2.11.0+cu130", ...}`; an adopted stack is not named after it.
release=$(sed -n 's/^components:.*[{ ]torch: "\([0-9.]*\).*/\1/p' "matrix/stacks/$stack.yaml")
"$python" -c 'import sys, torch; sys.exit(torch.__version__.split("+")[0] != sys.argv[1])' "$release" 2>/dev/null ||
  { echo "compare_torch: $python imports another torch than $stack has, or none" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As a release behaves when nobody asks: Python sets nothing either.
cat >"$work/matrix.yaml" <<YAML
schema: 1
name: compare
suites: [throughput]
axes: {stack: [$stack], device: [$device], precision: [$precision], determinism: [default]}
reference: {stack: $stack}
YAML

# workload, batch size and steps, as the suite trains them
workloads=("mlp/base 32 3000" "gpt2/tiny 4 40")
for ((pair = 0; pair < pairs; ++pair)); do
  status=0
  "$reprobench" --store "$work/store" run --matrix "$work/matrix.yaml" --repeat 1 --no-report --out "$work/run-$pair" >"$work/log" 2>&1 || status=$?
  # A stack that is its own reference decides nothing, which is no failure here.
  case $status in 0 | 3) ;; *) cat "$work/log" >&2; exit 1 ;; esac
  for workload in "${workloads[@]}"; do
    read -r name batch steps <<<"$workload"
    "$python" ci/peers/torch_step.py "$name" --batch-size "$batch" --steps "$steps" --device "$on" --precision "$precision" \
      ${compile[@]+"${compile[@]}"} >"$work/${name%%/*}-$pair.json"
  done
done

"$python" - "$work" "$pairs" "$precision" "$json" <<'PYTHON'
import json, pathlib, statistics, sys

work, pairs = pathlib.Path(sys.argv[1]), int(sys.argv[2])


def ours_ns(pair, model):
    for request in (work / f"run-{pair}").rglob("request.json"):
        if json.loads(request.read_text())["workload"]["model"] != model:
            continue
        lines = [json.loads(line) for line in (request.parent / "trace.jsonl").read_text().splitlines()]
        times = [line["step_time_ns"] for line in lines if "step_time_ns" in line]
        return statistics.median(times[max(len(times) // 10, 3):])
    sys.exit(f"compare_torch: the run has no trace of {model}")


ratios_of = {}
for model in ("mlp", "gpt2"):
    ours = [ours_ns(pair, model) for pair in range(pairs)]
    peers = [json.loads((work / f"{model}-{pair}.json").read_text()) for pair in range(pairs)]
    theirs = [peer["step_time_ns"] for peer in peers]
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    print(f"{model}: Python {statistics.median(theirs) / 1e6:.3f} ms, here {statistics.median(ours) / 1e6:.3f} ms a step; "
          f"x{statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}] over {pairs} pairs")
    ratios_of[model] = ratios
if sys.argv[4]:
    peer = {name: peers[0][name] for name in ("torch", "device_name")}
    line = json.dumps({**peer, "precision": sys.argv[3], "ratios": ratios_of})
    if sys.argv[4] == "-":
        print(line)
    else:
        pathlib.Path(sys.argv[4]).write_text(line + "\n")
PYTHON
