#!/usr/bin/env bash
# One GPU runner's job, within eight minutes once the stack is there: device, determinism, throughput and memory suites on the
# GPU that is here, and a negative control that must go red. Leaves a run directory with its report, and gpu.md: what was measured
# against the goals, and what was not measured and why. What is measured beside the run for that page (recording's cost, CUB's sum
# where nvcc is, the same steps in Python where --python has torch) gets what the run and the control leave of the budget.
#
#   ci/gpu.sh [--out DIR] [--stack NAME | --python PYTHON | --prefix DIR | --libtorch DIR] [--matrix FILE] [--budget SECONDS]
#             [--reprobench PROGRAM]
#
# --stack installs a stack by its lock (over the network; torch-2.11.0-cu130 if nothing is named). --python, --prefix and
# --libtorch adopt the PyTorch that is there as the stack `here`: with a compiler and CMake that needs no network, no package
# manager and no root. The matrix (matrix/gpu.yaml) is run with that stack in place of its own. The budget counts from when
# the stack is there. --reprobench takes a build that was carried here, as does a bundle (ci/bundle.sh); $REPROBENCH_STACKS keeps
# the installed stack.
# Exit code: that of `reprobench run`, 4 if no cell can run here, 1 if the negative control was not found.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

usage() {
  sed -n '/^#   ci.gpu.sh/,/^#  *\[--rep/s/^# *//p' "$0" >&2
  exit 2
}
out=gpu-run stack=torch-2.11.0-cu130 matrix=matrix/gpu.yaml budget=480 reprobench=
place=()
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case $1 in
    --out) out=$2 ;;
    --reprobench) reprobench=$2 ;;
    --stack) stack=$2 ;;
    --python | --prefix | --libtorch) stack=here place=("$1" "$2") ;;
    --matrix) matrix=$2 ;;
    --budget) budget=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[[ $budget =~ ^[1-9][0-9]*$ ]] || usage
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}

if [ -z "$reprobench" ] && [ -x bin/reprobench ]; then
  reprobench=bin/reprobench
elif [ -z "$reprobench" ]; then
  # Packages are asked for only where something is missing.
  cmake --preset release >/dev/null 2>&1 || { ci/packages.sh run && cmake --preset release >/dev/null; }
  cmake --build --preset release --target reprobench reprobench-shepherd >/dev/null
  reprobench=build/bin/reprobench
fi
store=$out/store
# A page of an earlier job's files would pass for this one's.
for earlier in run control gpu.md; do
  [ ! -e "$out/$earlier" ] || { echo "gpu: $out has a job's $earlier already; name another --out" >&2; exit 2; }
done
mkdir -p "$out"
run() { "$reprobench" --store "$store" "$@"; }
is_runnable() { run plan --matrix "$1" --filter "$2" 2>/dev/null | grep '^runnable' >/dev/null; }

if [ ${#place[@]} -gt 0 ]; then
  # What report and telemetry need of Python is there where torch is.
  [ "${place[0]}" = --python ] && export REPROBENCH_PYTHON=${REPROBENCH_PYTHON:-$(command -v "${place[1]}")}
  run stack adopt "${place[@]}" here | tee "$out/adopted.txt"
elif ! grep -q "^name: $stack$" "matrix/stacks/$stack.yaml"; then
  echo "gpu: there is no stack $stack; \`reprobench stack list\` shows them" >&2
  exit 2
fi
here=$out/matrix.yaml
# In its axis, and where the matrix names its only stack: as the reference, as required.
only=$(sed -n 's/^  stack: \[\([^],]*\)\]$/\1/p' "$matrix")
sed "s/^  stack: \[.*\]/  stack: [$stack]/; s/\bstack: ${only:-$stack}\([,}]\)/stack: $stack\1/" "$matrix" >"$here"
grep -q "^  stack: \[$stack\]$" "$here" || { echo "gpu: $matrix has no axis \`stack: [...]\` to put $stack into" >&2; exit 2; }
run plan --matrix "$here" >/dev/null || exit 2 # it has said why

on_gpu=yes
is_runnable "$here" 'device != cpu' || on_gpu=no
if [ "$on_gpu" = no ] && { [ "$matrix" = matrix/gpu.yaml ] || ! is_runnable "$here" 'device == cpu'; }; then
  echo "gpu: no cell of $matrix finds its GPU on this host; \`reprobench doctor\` says what is here" >&2
  exit 4
fi
if [ ${#place[@]} -eq 0 ]; then
  with_gpu=()
  [ "$on_gpu" = yes ] && with_gpu=(--with-gpu)
  run stack install "$stack" "${with_gpu[@]}"
fi
start=$SECONDS

# A warning is no reason to stop; a failure is, and `doctor` has printed the remedy. pip only fetches wheels, which are here, and
# jinja2 only writes HTML.
report=()
run doctor >"$out/doctor.txt" || true
if grep '^FAIL' "$out/doctor.txt" | grep -qv '^FAIL *python \(pip\|jinja2\)'; then
  cat "$out/doctor.txt" >&2
  exit 5
fi
if grep -q '^FAIL *python jinja2' "$out/doctor.txt"; then report=(--no-report); fi

# What is left of the budget is the run's, but for a minute for the control; the second interrupt of `timeout` would be a kill, so it
# gets a while to finish its step and report.
reserve=0
[ "$on_gpu" = yes ] && reserve=60
seconds=$((budget - reserve - (SECONDS - start)))
[ "$seconds" -ge 1 ] || { echo "gpu: a budget of $budget s leaves nothing for the run" >&2; exit 2; }
status=0
timeout --preserve-status --signal=INT --kill-after=60 "$seconds" "$reprobench" --store "$store" run --matrix "$here" \
  --out "$out/run" "${report[@]}" || status=$?

# page: never changes how the job ends.
page() {
  local python=${REPROBENCH_PYTHON:-$(command -v /usr/bin/python3 || command -v python3)}
  PYTHONPATH=reports PYTHONDONTWRITEBYTECODE=1 "$python" -m reprobench_report.gpu_page "$out" ||
    echo "gpu: no page of goals; its rows are in $out/run/verdict.json" >&2
}
if [ "$on_gpu" = no ]; then
  ci/gpu_beside.sh --out "$out" --stack "$stack" --reprobench "$reprobench" --seconds 0
  page
  echo "gpu: run directory $out/run, exit code $status; on the CPU alone, there is no GPU here"
  exit "$status"
fi

# Sums by atomic operations differ from run to run on a GPU: three trainings that all add up one gradient that way have to be
# found unequal. (On a CPU, which adds in turn, they are equal: ci/real_stack_test.sh holds that. So its cells are left out.)
control=0
faults=()
for repeat in 0 1 2; do
  faults+=(--inject "kind=atomic_add,repeat=$repeat,step=2,tensor=fc1.weight,element=0,suite=determinism,workload=mlp,precision=fp32")
done
run run --matrix "$here" --out "$out/control" --no-report \
  --filter 'suite == determinism and workload == mlp and precision == fp32 and device != cpu' "${faults[@]}" >/dev/null || control=$?

with_python=()
[ "${place[0]:-}" = --python ] && with_python=(--python "${place[1]}")
ci/gpu_beside.sh --out "$out" --stack "$stack" --reprobench "$reprobench" --seconds $((budget - (SECONDS - start))) "${with_python[@]}" || true
page

if [ "$control" -ne 1 ]; then
  echo "gpu: sums by atomic operations were not found to differ (exit code $control)" >&2
  exit 1
fi
echo "gpu: run directory $out/run, exit code $status; the negative control was found"
exit "$status"
