#!/usr/bin/env bash
# One GPU runner's job, within eight minutes once the stack is installed: device, determinism, throughput and memory suites
# on the GPU that is here, and a negative control that must go red. Leaves a run directory with its report.
#
#   ci/gpu.sh [--out DIR] [--reprobench PROGRAM] [--stack NAME]
#
# --reprobench takes a build that was carried here instead of making one; $REPROBENCH_STACKS keeps the installed stack.
# Exit code: that of `reprobench run`, 4 if no GPU is here, 1 if the negative control was not found.
set -euo pipefail
cd "$(dirname "$0")/.."

out=gpu-run stack=torch-2.11.0-cu130 reprobench=
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2 ;;
    --reprobench) reprobench=$2 ;;
    --stack) stack=$2 ;;
    *) echo "usage: ci/gpu.sh [--out DIR] [--reprobench PROGRAM] [--stack NAME]" >&2; exit 2 ;;
  esac
  shift 2
done
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}

if [ -z "$reprobench" ]; then
  ci/packages.sh run
  cmake --preset release >/dev/null
  cmake --build --preset release >/dev/null
  reprobench=build/bin/reprobench
fi
if ! "$reprobench" plan --matrix matrix/gpu.yaml --filter 'device != cpu' | grep '^runnable' >/dev/null; then
  echo "gpu: no cell of matrix/gpu.yaml finds its GPU on this host; \`reprobench doctor\` says what is here" >&2
  exit 4
fi
store=$out/store
mkdir -p "$out"
"$reprobench" --store "$store" stack install "$stack" --with-gpu

# A warning is no reason to stop; a failure is, and `doctor` has printed the remedy.
"$reprobench" --store "$store" doctor

# What is left of the eight minutes is the run's; the second interrupt of `timeout` would be a kill, so it gets a while to
# finish its step and report.
status=0
timeout --preserve-status --signal=INT --kill-after=60 420 "$reprobench" --store "$store" run --matrix matrix/gpu.yaml --stack "$stack" \
  --out "$out/run" || status=$?
# Sums by atomic operations differ from run to run on a GPU: three trainings that all add up one gradient that way have to be
# found unequal. (On a CPU, which adds in turn, they are equal: ci/real_stack_test.sh holds that.)
control=0
faults=()
for repeat in 0 1 2; do
  faults+=(--inject "kind=atomic_add,repeat=$repeat,step=2,tensor=fc1.weight,element=0,suite=determinism,workload=mlp,precision=fp32")
done
"$reprobench" --store "$store" run --matrix matrix/gpu.yaml --stack "$stack" --out "$out/control" --no-report \
  --filter 'suite == determinism and workload == mlp and precision == fp32' \
  "${faults[@]}" >/dev/null || control=$?
if [ "$control" -ne 1 ]; then
  echo "gpu: sums by atomic operations were not found to differ (exit code $control)" >&2
  exit 1
fi
echo "gpu: run directory $out/run, exit code $status; the negative control was found"
exit "$status"
