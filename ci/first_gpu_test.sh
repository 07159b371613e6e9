#!/usr/bin/env bash
# The first calls on a card, played: ci/first_gpu.sh with programs that stand for the coordinator and the tests, so that it needs no GPU.
# Whatever hangs, is killed or finds no room, what came before is packed, and the same call goes on behind it.
#
#   ci/first_gpu_test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "first gpu test: $1" >&2; exit 1; }

tree=$work/tree
mkdir -p "$tree/ci" "$tree/matrix" "$tree/bin" "$work/path"
cp ci/first_gpu.sh ci/failure_trap.sh ci/gpu_control.sh "$tree/ci"
cp matrix/gpu.yaml "$tree/matrix"
# A stage is told by what it asks for; the one that HANG names does not end by itself.
cat >"$tree/bin/reprobench" <<'SH'
#!/usr/bin/env bash
shift 2 # --store FOLDER
name='' out='' last=''
for word in "$@"; do
  [ "$last" != --out ] || out=$word
  last=$word
done
case "$*" in
  "stack adopt"*)
    name=adopt
    mkdir -p "$REPROBENCH_STACKS/here-1/workers/2"
    printf '#!/bin/sh\necho "{}"\n' >"$REPROBENCH_STACKS/here-1/workers/2/reprobench-worker"
    chmod +x "$REPROBENCH_STACKS/here-1/workers/2/reprobench-worker"
    ;;
  doctor) name=doctor ;;
  plan*) [ "$GPU" = no ] || echo "runnable  1 cell" ;;
  run*) name=${out##*/} && mkdir -p "$out" && echo measured >"$out/part" ;;
esac
[ -z "$HANG" ] || [ "$name" != "$HANG" ] || sleep 60
if [ "$name" = control ]; then
  [ "$CONTROL" = crash ] || echo "FAILED  cell · numerics.repeat_mismatches: repeat 1 differs; first at step 2 in fc1.weight"
  exit 1
fi
SH
for program in kernels_test backend_test; do
  cat >"$tree/bin/$program" <<'SH'
#!/usr/bin/env bash
name=${0##*/}
[ -z "$HANG" ] || [ "$name" != "$HANG" ] || sleep 60
SH
done
cat >"$work/path/python3" <<SH
#!/bin/sh
echo $work/site
SH
chmod +x "$tree"/bin/* "$work/path/python3"
export HANG='' GPU=yes CONTROL=found

# call NAME STATUS [ARGUMENT...]
call() {
  local name=$1 wanted=$2 status=0
  shift 2
  "$tree/ci/first_gpu.sh" a --out "$work/$name/out" --work "$work/$name/work" --python "$work/path/python3" "$@" >"$work/said" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || { cat "$work/said" >&2; fail "$name ends with $status instead of $wanted"; }
}
packed() { # NAME FILE: in one package that is whole
  local part
  for part in "$work/$1"/out/results-*.tar.gz.0; do
    if tar tzf "$part" 2>/dev/null >"$work/list" && grep -xF "results/$2" "$work/list" >/dev/null; then return; fi
  done
  fail "$1 packs no $2"
}
stages() { cut -d ' ' -f 2 "$work/$1/out/stages.txt" | sort | tr '\n' ' '; }
all='adopt control determinism device_tests doctor facts kernels smoke smoke_16 '

call whole 0
[ "$(stages whole)" = "$all" ] || fail "the stages are $(stages whole)"
for part in logs/facts.txt logs/kernels.txt smoke/part control/part determinism/part describe.json; do packed whole "$part"; done
[ -s "$work/whole/out/worker.tar.gz" ] || fail "the worker does not come back"
call whole 0
[ "$(stages whole)" = "$all" ] || fail "what is done is done again: $(stages whole)"

# Each that hangs is cut off; those before it and those behind it are there.
for HANG in adopt kernels_test backend_test doctor smoke control determinism smoke_16; do
  call "$HANG" 1 --limit 3
  [ "$(stages "$HANG")" = "$all" ] || fail "with $HANG that hangs the stages are $(stages "$HANG")"
  packed "$HANG" logs/facts.txt
  [ "$HANG" = smoke_16 ] || packed "$HANG" smoke_16/part
done
grep -qE '^a smoke_16 (124|137) ' "$work/smoke_16/out/stages.txt" || fail "a stage that was cut off does not say so"

# The whole call is killed in a stage: what came before is packed already, and a second start goes on there.
HANG=determinism
setsid "$tree/ci/first_gpu.sh" a --out "$work/killed/out" --work "$work/killed/work" --python "$work/path/python3" >/dev/null 2>&1 &
caller=$!
for ((i = 0; i < 600; ++i)); do
  grep -qs '^a control ' "$work/killed/out/stages.txt" && break
  sleep 0.1
done
kill -KILL -- "-$caller"
wait "$caller" 2>/dev/null || true
packed killed smoke/part
HANG=''
call killed 0
[ "$(stages killed)" = "$all" ] || fail "behind a kill the stages are $(stages killed)"
packed killed determinism/part

# No room for the package: the stages go on, and one that finds room packs all of it.
printf '#!/bin/sh\nexit 1\n' >"$work/path/tar"
chmod +x "$work/path/tar"
PATH=$work/path:$PATH call full 1
[ "$(stages full)" = "$all" ] || fail "on a full disk the stages are $(stages full)"
grep -q 'are not packed' "$work/said" || fail "that nothing was packed is not said"
rm "$work/path/tar"
sed -i '/ smoke_16 /d' "$work/full/work/stages.txt"
call full 0
packed full smoke/part

# Without a GPU the CPU's cells do not make a run pass, nor does a control that fails for another reason than its fault.
GPU=no call blind 1
for name in smoke determinism control; do
  grep -q "^a $name 1 " "$work/blind/out/stages.txt" || fail "without a GPU $name passes"
done
CONTROL=crash call crashed 1
[ "$(grep -v ' 0 [0-9]*$' "$work/crashed/out/stages.txt" | cut -d ' ' -f 2)" = control ] || fail "a control that crashed passes for one that was found"

# A time that is spent is said, and is no pass.
call short 1 --seconds 2
grep -q 'no time is left for smoke_16' "$work/said" || fail "a stage that was left out is not named"
echo "first gpu: every stage cut off once, a killed call, a full disk"
