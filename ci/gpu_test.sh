#!/usr/bin/env bash
# The job of a GPU runner, played: ci/gpu.sh with a program that stands for `reprobench`, so that it needs no GPU, no stack and no
# network. What stops the job and what does not, what the budget counts, and what is kept when a stage hangs or a signal comes.
#
#   ci/gpu_test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "gpu test: $1" >&2; exit 1; }
export REPROBENCH_STACKS=$work/stacks

# What it does is told by variables: DOCTOR is what that verb prints; ADOPT, RUN and CONTROL are what these stages do, where `deaf`
# hears no signal. A run leaves its part first.
cat >"$work/reprobench" <<'SH'
#!/usr/bin/env bash
shift 2 # --store FOLDER
last='' out=''
for word in "$@"; do
  [ "$last" != --out ] || out=$word
  last=$word
done
found() {
  echo "FAILED  cell · numerics.repeat_mismatches: repeat 1 differs;"
  echo "        first at step 2 in fc1.weight"
  exit 1
}
deaf() { trap '' INT TERM; sleep "$1"; }
if [ "$1" = run ]; then
  mkdir -p "$out"
  echo measured >"$out/part"
fi
case "$*" in
  plan*) echo "runnable 1" ;;
  doctor) printf '%s\n' "$DOCTOR" ;;
  "stack adopt"*) eval "${ADOPT:-:}" ;;
  run*--inject*) eval "${CONTROL:-found}" ;;
  run*) eval "${RUN:-:}" ;;
esac
SH
chmod +x "$work/reprobench"
row() { printf '%-4s %-22s %s\n%-27s do this' "$1" "$2" "$3" ''; } # WORD NAME DETAIL, as `doctor` prints it

# job NAME STATUS WORDS [ARGUMENT...]: the job ends so, says so and leaves its page, in $out.
job() {
  local name=$1 wanted=$2 words=$3 status=0
  shift 3
  out=$work/$name
  ci/gpu.sh --python python3 --reprobench "$work/reprobench" --out "$out" "$@" >"$work/said" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || wrong "ends with $status instead of $wanted"
  grep -qF -- "$words" "$work/said" || wrong "does not say \"$words\""
  grep -q '^# What the GPU gave' "$out/gpu.md" || wrong "leaves no page"
}
wrong() {
  cat "$work/said" "$out/stages.txt" >&2
  fail "${out##*/} $1"
}
has() { [ -e "$out/$1" ] || wrong "has no $1"; }
lacks() { [ ! -e "$out/$1" ] || wrong "has $1"; }
stage_says() { grep -qxE -- "$1" "$out/stages.txt" || wrong "has no stage \"$1\""; }
page_says() { grep -qF -- "$1" "$out/gpu.md" || wrong "has a page that does not say \"$1\""; }

# All goes well. The budget counts what was spent before the run: of 160 s two for the stack, 33 for what comes after the run.
export DOCTOR
DOCTOR=$(row OK gpu "NVIDIA H100")$'\n'$(row FAIL "python pip" "no python3 has it")
ADOPT="sleep 2" job well 0 "the negative control was found" --budget 160
stage_says 'run: [0-9]+ s of at most 1(1[0-9]|2[0-5]) s, exit code 0'
stage_says 'control: [0-9]+ s of at most 18 s, exit code 1'
has run/part
has control/part
has telemetry_cost.txt
lacks ended.txt
grep -q '^FAIL python pip' "$work/said" || wrong "does not show a warning of doctor"
if grep -q '^OK ' "$work/said"; then wrong "shows what doctor finds in order"; fi
status=0
ci/gpu.sh --python python3 --reprobench "$work/reprobench" --out "$out" >"$work/said" 2>&1 || status=$?
[ "$status" -eq 2 ] || wrong "is an earlier job's folder, and is taken: $status"

# What `doctor` finds: most of it stops nothing, neither does the driver that another stack wants.
for found in "/dev/shm:64 MiB" "gpu processes:compute mode is prohibited" "driver:torch-9-cu132: driver 580 is under 590" "libcuda:none"; do
  DOCTOR=$(row FAIL "${found%%:*}" "${found#*:}") job "goes on at ${found//\//-}" 0 "FAIL ${found%%:*}" --budget 60
done
for found in "gpu:no GPU answers" "driver:here: driver 520 is under 525" "driver branch:R595 no longer knows Volta" "mig:MIG mode is on" \
  "store:cannot be written" "c++:not on PATH" "cmake:not on PATH"; do
  DOCTOR=$(row FAIL /dev/shm "64 MiB")$'\n'$(row FAIL "${found%%:*}" "${found#*:}") \
    job "stops at $found" 5 "nothing can be measured here: ${found%%:*}: ${found#*:}" --budget 60
  lacks run
  page_says "**ENDED EARLY**: nothing can be measured here: "
done
DOCTOR=$(row OK gpu "NVIDIA H100")

# A control that hangs is cut off at its own limit, and what came before it is kept. One that finds nothing is no control.
CONTROL="deaf 60" job "control hangs" 1 "the negative control was cut off" --budget 10
has run/part
stage_says 'control: [0-9]+ s of at most 2 s, exit code 137'
page_says "the negative control was cut off"
CONTROL="exit 0" job "control finds nothing" 1 "were not found to differ (exit code 0)" --budget 60
# Neither is one that fails for another reason, as a cell that crashes does.
CONTROL="echo 'FAILED  cell · crash'; exit 1" job "control crashes" 1 "were not found to differ (exit code 1)" --budget 60
grep -q 'FAILED  cell · crash' "$out/control.txt" || wrong "keeps not what the control said"

# A run that hangs leaves the control its time, and its exit code is the job's. What comes before a run has no more than the budget.
RUN="deaf 60" job "run hangs" 137 "the negative control was found" --budget 9
has run/part
stage_says 'control: [0-9]+ s of at most 2 s, exit code 1'
ADOPT="sleep 60" job "stack takes all" 2 "a budget of 1 s leaves nothing for the run" --budget 1
lacks run
ADOPT="exit 5" job "no stack" 5 "the PyTorch of --python python3 was not adopted" --budget 60

# A signal in the middle of the run: the job ends soon, with what there is.
out=$work/signal began=$SECONDS status=0
RUN="sleep 60" ci/gpu.sh --python python3 --reprobench "$work/reprobench" --out "$out" --budget 120 >"$work/said" 2>&1 &
job=$!
for _ in {1..200}; do
  [ ! -e "$out/run/part" ] || break
  sleep 0.1
done
kill -TERM "$job"
wait "$job" || status=$?
[ "$status" -eq 143 ] || wrong "ends with $status after SIGTERM"
[ $((SECONDS - began)) -lt 30 ] || wrong "ends $((SECONDS - began)) s after it began"
has run/part
page_says "SIGTERM ended the job; its last stage was run"
echo "gpu test: what stops a GPU runner's job, what its budget counts and what it keeps are as documented"

ci/first_gpu_test.sh
