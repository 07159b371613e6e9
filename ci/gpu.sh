#!/usr/bin/env bash
# One GPU runner's job: device, determinism, throughput and memory suites on the GPU that is here, and a negative control that must
# go red. Leaves a run directory with its report, and gpu.md: what was measured against the goals, and what was not measured and
# why. What is measured beside the run for that page (recording's cost, CUB's sum where nvcc is, the same steps in Python where
# --python has torch) gets what the run and the control leave of the budget.
#
#   ci/gpu.sh [--out DIR] [--stack NAME | --python PYTHON | --prefix DIR | --libtorch DIR] [--matrix FILE] [--budget SECONDS]
#             [--reprobench PROGRAM]
#
# --stack installs a stack by its lock (over the network; torch-2.11.0-cu130 if nothing is named). --python, --prefix and
# --libtorch adopt the PyTorch that is there as the stack `here`: with a compiler and CMake that needs no network, no package
# manager and no root. The matrix (matrix/gpu.yaml) is run with that stack in place of its own. --reprobench takes a build that
# was carried here, as does a bundle (ci/bundle.sh); $REPROBENCH_STACKS keeps the installed stack.
#
# The budget is the whole job's, from this script's first line: what is built and installed counts. It is 480 s where PyTorch is
# there already, and 1500 s with --stack. An eighth of it is kept for the control, which has its own limit; a run that is over
# its time gets a sixteenth to finish its step and report.
#
# Each stage leaves its part in DIR when it ends, and a line in stages.txt. gpu.md is written however the job ends, also by a
# signal; a job that ended early says why in ended.txt and in gpu.md. After SIGKILL gpu.md is that of the run, if the run had ended.
#
# Exit code: that of `reprobench run`, 4 if no cell can run here, 1 if the negative control was not found by its place or had to be cut
# off, 2 for a wrong call or a budget that leaves nothing for the run, 5 if `doctor` has a FAIL of the GPU, the driver, MIG, the store,
# the compiler or CMake. Its other FAILs, such as a small /dev/shm, are printed, and the job goes on. 130 or 143 after a signal.
set -euo pipefail
start=$SECONDS
cd "$(dirname "$0")/.."
. ci/failure_trap.sh
. ci/gpu_control.sh

usage() {
  sed -n '/^#   ci.gpu.sh/,/^#  *\[--rep/s/^# *//p' "$0" >&2
  exit 2
}
out=gpu-run stack=torch-2.11.0-cu130 matrix=matrix/gpu.yaml budget='' reprobench=
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
if [ -z "$budget" ]; then budget=$((${#place[@]} > 0 ? 480 : 1500)); fi
[[ $budget =~ ^[1-9][0-9]*$ ]] || usage
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
store=$out/store
# The last of the budget: first a run may finish in `grace`, then the control has `kept`, of which a little is for its own end.
kept=$((budget / 8 + 2)) grace=$((budget / 16 + 1))
control_grace=$((kept / 6 + 1))

# A page of an earlier job's files would pass for this one's.
for earlier in run control gpu.md; do
  [ ! -e "$out/$earlier" ] || { echo "gpu: $out has a job's $earlier already; name another --out" >&2; exit 2; }
done
mkdir -p "$out"
rm -f "$out/stages.txt" "$out/ended.txt"

left() { echo $((budget - (SECONDS - start))); }
run() { "$reprobench" --store "$store" "$@"; }
is_runnable() { run plan --matrix "$1" --filter "$2" 2>/dev/null | grep '^runnable' >/dev/null; }

give_up() { # STATUS WHY
  echo "gpu: $2" >&2
  echo "$2" >"$out/ended.txt"
  exit "$1"
}

# stage NAME SECONDS GRACE COMMAND...: its exit code is the command's. It is told to end after SECONDS (INT), killed GRACE later.
# Not in the foreground, where bash would hear a signal only when it ends.
name='' child=''
stage() {
  local seconds=$2 grace_s=$3 from=$SECONDS status=0
  name=$1
  shift 3
  if [ "$seconds" -lt 1 ]; then
    echo "$name: not begun, no time was left" >>"$out/stages.txt"
    return 124
  fi
  timeout --preserve-status --signal=INT --kill-after="$grace_s" "$seconds" "$@" &
  child=$!
  wait "$child" || status=$?
  child=''
  echo "$name: $((SECONDS - from)) s of at most $seconds s, exit code $status" >>"$out/stages.txt"
  return "$status"
}

# needed STATUS WHY: of a stage without which there is no run.
needed() {
  [ "$1" -ne 0 ] || return 0
  [ "$(left)" -ge 1 ] || give_up 2 "a budget of $budget s leaves nothing for the run: $2"
  give_up "$1" "$2"
}

# judge FOLDER: a run that was killed has its record and no verdict.
judge() {
  if [ ! -e "$out/$1/plan.json" ] || [ -e "$out/$1/verdict.json" ]; then return 0; fi
  timeout --kill-after=2 30 "$reprobench" --store "$store" report "$out/$1" >/dev/null 2>&1 || true
}

# page: never changes how the job ends.
page() {
  local python=${REPROBENCH_PYTHON:-$(command -v /usr/bin/python3 || command -v python3)}
  judge run
  judge control
  PYTHONPATH=reports PYTHONDONTWRITEBYTECODE=1 timeout --kill-after=2 60 "$python" -m reprobench_report.gpu_page "$out" ||
    echo "gpu: no page of goals; its rows are in $out/run/verdict.json" >&2
}
# shellcheck disable=SC2317 # by a trap
at_end() {
  local status=$?
  trap - ERR
  page
  builtin exit "$status"
}
trap at_end EXIT

# on_signal NAME STATUS: what runs gets a few seconds to end; the page is made of what is there.
# shellcheck disable=SC2317 # by a trap
on_signal() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then
    kill -INT "$child" 2>/dev/null || true
    for _ in {1..80}; do
      kill -0 "$child" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$child" 2>/dev/null || true
  fi
  give_up "$2" "SIG$1 ended the job${name:+; its last stage was $name}"
}
trap 'on_signal INT 130' INT
trap 'on_signal TERM 143' TERM
trap 'on_signal HUP 143' HUP

# look_at_host: stops where nothing can be measured or built. A row `driver` is of one stack, and only ours counts. The columns
# are those of `doctor`: a word of four letters, a name of 22, what was found.
look_at_host() {
  local stops
  stage doctor "$(left)" "$grace" "$reprobench" --store "$store" doctor >"$out/doctor.txt" || true
  stops=$(awk -v stack="$stack" '/^FAIL / {
      row = substr($0, 6, 22)
      sub(/ +$/, "", row)
      of_host = row ~ /^(gpu|driver branch|mig|store|c\+\+|cmake)$/
      if (of_host || (row == "driver" && index(substr($0, 29), stack ":") == 1)) print row ": " substr($0, 29)
    }' "$out/doctor.txt")
  if [ -n "$stops" ]; then
    cat "$out/doctor.txt" >&2
    give_up 5 "nothing can be measured here: ${stops//$'\n'/; }"
  fi
  if grep -q '^FAIL' "$out/doctor.txt"; then
    echo "gpu: doctor warns, and the job goes on:" >&2
    awk '/^[A-Z]/ { shown = /^FAIL/ } shown' "$out/doctor.txt" >&2
  fi
}

# Where a driver is mounted that neither the loader's cache nor LD_LIBRARY_PATH finds. `reprobench` names it to its workers.
if ! { /sbin/ldconfig -p 2>/dev/null || true; } | grep 'libcuda\.so\.1 .*x86-64' >/dev/null; then
  for folder in /usr/local/nvidia/lib64 /usr/lib/wsl/lib; do
    if [ -e "$folder/libcuda.so.1" ]; then export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder; fi
  done
fi

if [ -z "$reprobench" ] && [ -x bin/reprobench ]; then
  reprobench=bin/reprobench
elif [ -z "$reprobench" ]; then
  # Packages are asked for only where something is missing.
  built=0
  stage build "$(left)" 5 bash -c '
    cmake --preset release >/dev/null 2>&1 || { ci/packages.sh run && cmake --preset release >/dev/null; } &&
    cmake --build --preset release --target reprobench reprobench-shepherd >/dev/null' || built=$?
  needed "$built" "the coordinator was not built"
  reprobench=build/bin/reprobench
fi

installed=0
if [ ${#place[@]} -gt 0 ]; then
  # What report and telemetry need of Python is there where torch is.
  [ "${place[0]}" = --python ] && export REPROBENCH_PYTHON=${REPROBENCH_PYTHON:-$(command -v "${place[1]}")}
  stage stack "$(left)" 5 "$reprobench" --store "$store" stack adopt "${place[@]}" here >"$out/adopted.txt" || installed=$?
  cat "$out/adopted.txt"
  needed "$installed" "the PyTorch of ${place[*]} was not adopted"
elif ! grep -q "^name: $stack$" "matrix/stacks/$stack.yaml"; then
  give_up 2 "there is no stack $stack; \`reprobench stack list\` shows them"
fi
here=$out/matrix.yaml
# In its axis, and where the matrix names its only stack: as the reference, as required.
only=$(sed -n 's/^  stack: \[\([^],]*\)\]$/\1/p' "$matrix")
sed "s/^  stack: \[.*\]/  stack: [$stack]/; s/\bstack: ${only:-$stack}\([,}]\)/stack: $stack\1/" "$matrix" >"$here"
grep -q "^  stack: \[$stack\]$" "$here" || give_up 2 "$matrix has no axis \`stack: [...]\` to put $stack into"
run plan --matrix "$here" >/dev/null || give_up 2 "$matrix cannot be planned" # it has said why

on_gpu=yes
is_runnable "$here" 'device != cpu' || on_gpu=no
if [ "$on_gpu" = no ] && { [ "$matrix" = matrix/gpu.yaml ] || ! is_runnable "$here" 'device == cpu'; }; then
  give_up 4 "no cell of $matrix finds its GPU on this host; \`reprobench doctor\` says what is here"
fi
if [ ${#place[@]} -eq 0 ]; then
  with_gpu=()
  [ "$on_gpu" = yes ] && with_gpu=(--with-gpu)
  stage stack "$(left)" 5 "$reprobench" --store "$store" stack install "$stack" "${with_gpu[@]}" || installed=$?
  needed "$installed" "the stack $stack was not installed"
fi

look_at_host
# jinja2 only writes HTML.
report=()
if grep -q '^FAIL *python jinja2' "$out/doctor.txt"; then report=(--no-report); fi

# What is left of the budget is the run's, but for what comes after it; the second interrupt of `timeout` would be a kill.
seconds=$(left)
if [ "$on_gpu" = yes ]; then seconds=$((seconds - kept - grace)); fi
[ "$seconds" -ge 1 ] || give_up 2 "a budget of $budget s leaves nothing for the run"
status=0
stage run "$seconds" "$grace" "$reprobench" --store "$store" run --matrix "$here" --out "$out/run" "${report[@]}" || status=$?

beside=(ci/gpu_beside.sh --out "$out" --stack "$stack" --reprobench "$reprobench")
if [ "$on_gpu" = no ]; then
  "${beside[@]}" --seconds 0
  echo "gpu: run directory $out/run, exit code $status; on the CPU alone, there is no GPU here"
  exit "$status"
fi
page >/dev/null # for whoever is killed from here on

control=0
limit=$((kept - control_grace)) began=$SECONDS
stage control "$limit" "$control_grace" "$reprobench" --store "$store" run --matrix "$here" --out "$out/control" --no-report \
  --filter "$control_filter" "${control_faults[@]}" >"$out/control.txt" || control=$?
took=$((SECONDS - began))

if [ "${place[0]:-}" = --python ]; then beside+=(--python "${place[1]}"); fi
# It ends in time by itself; a driver that hangs is what the limit is for.
stage beside "$(($(left) > 0 ? $(left) + 5 : 5))" 5 "${beside[@]}" --seconds "$(left)" || true

if [ "$control" -ne 1 ] && [ "$took" -ge "$limit" ]; then
  give_up 1 "the negative control was cut off after $took s (exit code $control); what came before it is in $out"
fi
if ! control_found "$control" "$out/control.txt"; then
  echo "gpu: sums by atomic operations were not found to differ (exit code $control); $out/control.txt has what the control said" >&2
  exit 1
fi
echo "gpu: run directory $out/run, exit code $status; the negative control was found"
exit "$status"
