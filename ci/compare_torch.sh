#!/usr/bin/env bash
# What a training step costs here and in Python on the same LibTorch, the batch included: our suite `limits` and
# ci/peers/torch_step.py, in turn, so that both meet the same neighbours, with the same threads and the same settings of
# malloc. Prints per workload how many times longer the Python step takes, each side with the fastest of its kinds of update
# (three there, two here on a CPU), the median of the pairs and their range.
#
#   ci/compare_torch.sh --stack NAME [--python PROGRAM] [--device cpu|sm_90] [--precision fp32|bf16] [--compile] [--pairs N]
#                       [--workload NAME]... [--reprobench PROGRAM] [--json FILE]
#
# NAME is one of the workloads below, such as mlp/mid; without one all of them. PROGRAM is a Python that imports the stack's
# release of torch: `pip install torch==2.11.0` into an environment of its own. FILE, or with `-` the last line printed, has the
# ratio of every pair as JSON.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

stack='' python=python3 device=cpu precision=fp32 compile=() pairs=5 reprobench=build/bin/reprobench json=''
wanted=()
while [ $# -gt 0 ]; do
  case $1 in
    --stack) stack=$2 ;;
    --python) python=$2 ;;
    --device) device=$2 ;;
    --precision) precision=$2 ;;
    --pairs) pairs=$2 ;;
    --workload) wanted+=("$2") ;;
    --reprobench) reprobench=$2 ;;
    --json) json=$2 ;;
    --compile) compile=(--compile); shift; continue ;;
    *) sed -n '7,8s/^# *//p' "$0" >&2; exit 2 ;;
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

# Either side with the fastest update it has; a GPU has no flat one.
layouts=per_tensor
[ "$device" != cpu ] || layouts='per_tensor, flat'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As a release behaves when nobody asks: Python sets nothing either.
cat >"$work/matrix.yaml" <<YAML
schema: 1
name: compare
suites: [limits]
axes: {stack: [$stack], device: [$device], precision: [$precision], determinism: [default], optimizer_layout: [$layouts]}
YAML

# The worker's default of the knob \`allocator\`: without it glibc gives large buffers back to the kernel in every step.
export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=2147483648 MALLOC_TOP_PAD_=67108864
export OMP_NUM_THREADS=1

# workload, batch size and steps, as the suite trains them
workloads=("mlp/base 32 2000" "mlp/sgd 32 2000" "mlp/adamw 32 2000" "mlp/mid 32 500" "gpt2/tiny 4 40" "resnet/tiny 32 200" "llama/tiny 4 60")
if [ "${#wanted[@]}" -gt 0 ]; then
  every=("${workloads[@]}")
  workloads=()
  for name in "${wanted[@]}"; do
    found=''
    for workload in "${every[@]}"; do [ "${workload%% *}" = "$name" ] && found=$workload; done
    [ -n "$found" ] || { echo "compare_torch: $name is none of $(printf '%s, ' "${every[@]%% *}" | sed 's/, $//')" >&2; exit 2; }
    workloads+=("$found")
  done
fi
filter=() updates=(loop foreach fused)
for workload in "${workloads[@]}"; do filter+=(--workload "${workload%%/*}"); done
for ((pair = 0; pair < pairs; ++pair)); do
  status=0
  "$reprobench" --store "$work/store" run --matrix "$work/matrix.yaml" --repeat 1 "${filter[@]}" --no-report --out "$work/run-$pair" \
    >"$work/log" 2>&1 || status=$?
  # One repeat says nothing of repeatability, which is no failure here.
  case $status in 0 | 3) ;; *) cat "$work/log" >&2; exit 1 ;; esac
  for workload in "${workloads[@]}"; do
    read -r name batch steps <<<"$workload"
    for update in "${updates[@]}"; do
      "$python" ci/peers/torch_step.py "$name" --batch-size "$batch" --steps "$steps" --device "$on" --precision "$precision" \
        --update "$update" ${compile[@]+"${compile[@]}"} >"$work/${name/\//-}-$update-$pair.json"
    done
  done
done

"$python" - "$work" "$pairs" "$precision" "$json" "$layouts" "${workloads[@]%% *}" <<'PYTHON'
import json, pathlib, statistics, sys

work, pairs = pathlib.Path(sys.argv[1]), int(sys.argv[2])


UPDATES = ("loop", "foreach", "fused")
LAYOUTS = tuple(sys.argv[5].split(", "))


def here_ns(pair, name, layout):
    model, preset = name.split("/")
    for request in (work / f"run-{pair}").rglob("request.json"):
        asked = json.loads(request.read_text())
        if (asked["workload"]["model"], asked["workload"]["preset"], asked["knobs"]["optimizer_layout"]) != (model, preset, layout):
            continue
        lines = [json.loads(line) for line in (request.parent / "trace.jsonl").read_text().splitlines()]
        times = [line["step_time_ns"] for line in lines if "step_time_ns" in line]
        return statistics.median(times[max(len(times) // 10, 3):])
    sys.exit(f"compare_torch: the run has no trace of {name} with {layout}")


def there(pair, name, update):
    return json.loads((work / f"{name.replace('/', '-')}-{update}-{pair}.json").read_text())


def fastest(times_ns):
    return min(times_ns, key=lambda kind: statistics.median(times_ns[kind]))


def milliseconds(times_ns):
    return ", ".join(f"{statistics.median(times) / 1e6:.3f} ({kind})" for kind, times in times_ns.items())


ratios_of = {}
for name in sys.argv[6:]:
    peers = {update: [there(pair, name, update) for pair in range(pairs)] for update in UPDATES}
    python = {update: [peer["step_time_ns"] for peer in peers[update]] for update in UPDATES}
    here = {layout: [here_ns(pair, name, layout) for pair in range(pairs)] for layout in LAYOUTS}
    ratios = sorted(b / a for a, b in zip(here[fastest(here)], python[fastest(python)]))
    print(f"{name}: a step in ms: Python {milliseconds(python)}; here {milliseconds(here)}; "
          f"x{statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}] of the fastest two over {pairs} pairs")
    ratios_of[name] = ratios
if sys.argv[4]:
    peer = {key: peers[UPDATES[0]][0][key] for key in ("torch", "device_name")}
    line = json.dumps({**peer, "precision": sys.argv[3], "ratios": ratios_of})
    if sys.argv[4] == "-":
        print(line)
    else:
        pathlib.Path(sys.argv[4]).write_text(line + "\n")
PYTHON
