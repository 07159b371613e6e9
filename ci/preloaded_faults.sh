#!/usr/bin/env bash
# A library preloaded into the candidate's workers makes what they call slow, stall, leak, be skipped or start late. Does a run
# fail by the check that is there for it? A line a fault; exit code 1 unless every one did, and without a fault none failed.
#
#   ci/preloaded_faults.sh [--stack NAME] [--keep FOLDER] REPROBENCH [FAULT...]
#
# By hand, minutes. The reference has the same worker of the installed stack NAME, without that library. FOLDER keeps the runs.
# That such a library was there leaves a run undecided in any case; here its effect is looked for.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

stack=torch-2.9.0-cu128 work=''
while [ $# -gt 0 ]; do
  case "$1" in
    --stack) stack=$2 && shift 2 ;;
    --keep) work=$2 && shift 2 && mkdir "$work" ;; # a new one: what an earlier call left is no evidence of this one
    -*) sed -n '/^#   ci/p' "$0" >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { sed -n '/^#   ci/p' "$0" >&2; exit 2; }
reprobench=$(realpath "$1") && shift
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi

# fault          suite        workload     check that has to fail
table='
none             throughput   mlp          -
none             memory       mlp          -
none             comm         collectives  -
none             determinism  mlp          -
slow             throughput   mlp          throughput.step_time
stalls           throughput   mlp          throughput.mean_step_time
stutters         throughput   mlp          throughput.step_time_p99
hiccups          throughput   mlp          throughput.slowest_steps_time
slows_later      throughput   mlp          throughput.slowest_quarter_step_time
starts_late      throughput   mlp          throughput.start_to_first_step
ends_late        throughput   mlp          throughput.time_outside_steps
takes_more       memory       mlp          memory.peak_anonymous
leaks            memory       mlp          memory.anonymous_growth
slow_messages    comm         collectives  comm.latency_ratio
skips_relu       determinism  mlp          numerics.beyond_rounding
loses_updates    determinism  gpt2         numerics.beyond_rounding
'
known=$(awk 'NF { print $1 }' <<<"$table" | sort -u)
for asked; do
  grep -qx -- "$asked" <<<"$known" || { echo "preloaded_faults: no fault \`$asked\`; there are $(xargs <<<"$known")" >&2; exit 2; }
done

c++ -std=c++20 -O1 -shared -fPIC ci/preloaded_faults.cpp -o "$work/preloaded_faults.so" -ldl
worker=$({ find "$REPROBENCH_STACKS" -path "*/$stack-*/workers/*/reprobench-worker" -printf '%T@ %p\n' 2>/dev/null || true; } | sort -n | tail -n 1 | cut -d ' ' -f 2-)
[ -n "$worker" ] || { echo "preloaded_faults: $stack is not installed" >&2; exit 1; }

# Names of two stacks; neither has to be installed, as the workers are given.
candidate=torch-2.9.0-cu128 reference=torch-2.8.0-cu128
worker_script() { # NAME VARIABLES
  printf '#!/bin/sh\n%s exec %q "$@" --data %q\n' "$2" "$worker" "$PWD/models/data" >"$work/$1"
  chmod +x "$work/$1"
}
worker_script plain ""

# answer VERDICT CHECK: the candidate's cells have that check failed; without one, none failed at all.
answer() {
  python3 - "$1" "$candidate" "$2" <<'PYTHON'
import json, sys

path, candidate, wanted = sys.argv[1:]
cells = [cell for cell in json.load(open(path))["cells"] if cell["coordinates"]["stack"] == candidate]
checks = [check for cell in cells for check in cell["checks"] if check["status"] == "failed" and check["gate"] == "armed"]
failed = {check["metric"]: check["sentence"] for check in checks}
reasons = sorted({cell["reason"] for cell in cells})
print(f"{wanted}: {failed[wanted]}" if wanted in failed else f"{', '.join(failed) or 'nothing failed'}; {', '.join(reasons)}")
sys.exit(0 if cells and (wanted in failed if wanted != "-" else not failed and reasons == ["wrong_libraries"]) else 1)
PYTHON
}

asked_all=0 held=0
while read -r fault suite workload check; do
  [ -n "$fault" ] || continue
  [ $# -eq 0 ] || [[ " $* " = *" $fault "* ]] || continue
  # Other workloads take minutes. Where there is none, a rule that matches nothing is refused.
  exclude="exclude: [{where: 'workload != $workload'}]"
  case $suite in memory | comm) exclude='' ;; esac
  cat >"$work/matrix.yaml" <<YAML
schema: 1
name: preloaded
suites: [$suite]
axes: {stack: [$candidate, $reference], device: [cpu], precision: [fp32]}
$exclude
reference: {stack: $reference}
required: [{device: cpu, stack: $candidate}]
YAML
  worker_script preloaded "PRELOADED_FAULT=$fault LD_PRELOAD='$work/preloaded_faults.so'"
  run=$work/$fault-$suite status=0
  "$reprobench" --quiet --store "$work/store" run --no-report --matrix "$work/matrix.yaml" --out "$run" \
    --worker "$candidate=$work/preloaded" --worker "$reference=$work/plain" >"$run.out" 2>&1 || status=$?
  asked_all=$((asked_all + 1))
  if said=$(answer "$run/verdict.json" "$check"); then held=$((held + 1)); else said="NOT HELD: $said"; fi
  printf '%-14s %-12s exit code %s  %s\n' "$fault" "$suite" "$status" "$said"
done <<<"$table"
echo "$held of $asked_all held"
[ "$asked_all" -gt 0 ] && [ "$held" -eq "$asked_all" ]
