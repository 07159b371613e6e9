#!/usr/bin/env bash
# The first calls on a card, played: ci/first_gpu.sh with programs that stand for the coordinator and the tests, so that it needs no GPU.
# Whatever hangs, is killed, is missing or finds no room, what came before is packed, and the same call goes on behind it.
#
#   ci/first_gpu_test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

work=$(mktemp -d)
mounted=()
at_end() {
  for folder in "${mounted[@]}"; do umount "$folder"; done
  rm -rf "$work"
}
trap at_end EXIT
fail() { echo "first gpu test: $1" >&2; exit 1; }

tree=$work/tree
mkdir -p "$tree/ci" "$tree/matrix" "$tree/bin" "$work/path"
cp ci/first_gpu.sh ci/failure_trap.sh ci/gpu_control.sh "$tree/ci"
cp matrix/gpu.yaml "$tree/matrix"
# A stage is told by what it asks for. The one that HANG names does not end by itself; the one that FAIL names fails.
cat >"$tree/play" <<'SH'
echo "$name" >>"$PLAYED/begun"
if [ "$FAIL" = fill ] && [ "$name" = facts ]; then head -c 1000000 /dev/zero 2>/dev/null >"$PLAYED/work/filler" || true; fi
if [ -n "$name" ] && [ "$HANG" = "$name" ]; then
  echo "$BASHPID" >>"$PLAYED/hung"
  sleep 60
fi
[ -z "$name" ] || [ "$FAIL" != "$name" ] || exit 1
SH
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
  run*) name=${out##*/} && mkdir -p "$out/cells" && echo measured >"$out/part" && echo '{"steps": 200}' >"$out/cells/request.json" ;;
esac
. "${0%/*}/../play"
if [ "$name" = control ]; then
  [ "$CONTROL" = crash ] || echo "FAILED  cell · numerics.repeat_mismatches: repeat 1 differs; first at step 2 in fc1.weight"
  exit 1
fi
SH
cat >"$tree/bin/kernels_test" <<'SH'
#!/usr/bin/env bash
name=kernels
. "${0%/*}/../play"
SH
cat >"$tree/bin/backend_test" <<'SH'
#!/usr/bin/env bash
case "$*" in
  *'[gpu]'*) name=device_tests ;;
  *'[nccl]') name=nccl ;;
  *) name=managed ;;
esac
. "${0%/*}/../play"
SH
cat >"$tree/ci/compare_torch.sh" <<'SH'
#!/usr/bin/env bash
name=eager
[[ $* != *--compile* ]] || name=compiled
. "${0%/*}/../play"
SH
cat >"$tree/ci/gpu_beside.sh" <<'SH'
#!/usr/bin/env bash
name=beside
. "${0%/*}/../play"
SH
cat >"$work/path/nvidia-smi" <<SH
#!/usr/bin/env bash
name=facts
. "$tree/play"
SH
cat >"$work/path/compute-sanitizer" <<SH
#!/usr/bin/env bash
name=sanitizer
[[ \$* != *"run request.json"* ]] || name=two_steps
. "$tree/play"
[ "\$name" != two_steps ] || cat request.json
SH
cat >"$work/path/python3" <<SH
#!/bin/sh
echo $work/site
SH
chmod +x "$tree"/bin/* "$tree"/ci/*.sh "$work"/path/*
unset REPROBENCH_STACKS # each call has its own: many run at a time, and each writes the worker that it runs
export HANG='' FAIL='' GPU=yes CONTROL=found PATH=$work/path:$PATH

# call a|b|c NAME STATUS [ARGUMENT...]
call() {
  local letter=$1 name=$2 wanted=$3 status=0
  shift 3
  mkdir -p "$work/$name"
  PLAYED=$work/$name timeout 300 "$tree/ci/first_gpu.sh" "$letter" --out "$work/$name/out" --work "$work/$name/work" --python "$work/path/python3" \
    "$@" >"$work/$name/said" 2>&1 || status=$?
  if [ "$status" -ne "$wanted" ]; then
    cat "$work/$name/said" "$work/$name/out/stages.txt" >&2
    find "$work/$name" -path '*/logs/*.txt' -exec tail -n 3 {} + >&2
    fail "$name ends with $status instead of $wanted"
  fi
}
packed() { # NAME FILE: in one package that is whole
  local part list=$work/$1/list
  for part in "$work/$1"/out/results-*.tar.gz.0; do
    if tar tzf "$part" 2>/dev/null >"$list" && grep -xF "results/$2" "$list" >/dev/null; then return; fi
  done
  fail "$1 packs no $2"
}
has_stages() { # NAME STAGES
  local found
  found=$(cut -d ' ' -f 2 "$work/$1/out/stages.txt" | sort | xargs)
  [ "$found" = "$(xargs -n 1 <<<"$2" | sort | xargs)" ] || fail "$1 has the stages $found"
}
at_once() { # COMMAND...: run for each line of the standard input, all at a time
  local line one running=() failed=0
  while read -r line; do
    # shellcheck disable=SC2086 # its words
    "$@" $line &
    running+=("$!")
  done
  for one in "${running[@]}"; do wait "$one" || failed=1; done
  return "$failed"
}
a='facts adopt kernels device_tests doctor smoke control determinism smoke_16'
# shellcheck disable=SC2034 # by its name
b='adopt nccl smoke control determinism smoke_16 speed'
c='adopt eager managed sanitizer two_steps card beside models nccl compiled'

whole() {
  for _ in 1 2; do
    call "$1" "whole-$1" 0
    has_stages "whole-$1" "${!1}" # what is done is not done again
  done
}
at_once whole <<<$'a\nb\nc'
for part in logs/facts.txt logs/kernels.txt smoke/part control/part determinism/part describe.json; do packed whole-a "$part"; done
[ -s "$work/whole-a/out/worker.tar.gz" ] || fail "the worker does not come back"
grep -qx '{"steps":2}' "$work/whole-c/work/results/logs/two_steps.txt" || fail "no training of two steps is checked"

# Each that hangs is cut off; those before it and those behind it are there.
cut_off() { # CALL STAGE
  local last=${!1##* } HANG=$2
  call "$1" "cut-$1-$2" 1 --limit 3
  has_stages "cut-$1-$2" "${!1}"
  grep -qE "^$1 $2 (124|137) " "$work/cut-$1-$2/out/stages.txt" || fail "$2 was cut off and does not say so"
  [ "$last" = "$2" ] || packed "cut-$1-$2" "logs/$last.txt"
}
# The whole call is killed in each stage: what came before is packed already. A second start goes on there, and alone.
killed() { # CALL STAGE
  local place=$work/killed-$1-$2 caller before
  mkdir -p "$place"
  HANG=$2 PLAYED=$place "$tree/ci/first_gpu.sh" "$1" --out "$place/out" --work "$place/work" --python "$work/path/python3" >/dev/null 2>&1 &
  caller=$!
  until [ -s "$place/hung" ]; do sleep 0.1; done
  kill -KILL "$caller"
  wait "$caller" 2>/dev/null || true
  before=$(cat "$place/out/stages.txt" 2>/dev/null || true)
  call "$1" "killed-$1-$2" 0
  has_stages "killed-$1-$2" "${!1}"
  [ "$(head -n "$(wc -l <<<"$before")" "$place/out/stages.txt")" = "$before" ] || [ -z "$before" ] || fail "$2: stages before the kill are gone"
  for name in ${!1}; do packed "killed-$1-$2" "logs/$name.txt"; done
  while read -r hung; do
    # What nobody has waited for yet has no words any more.
    if grep -qs . "/proc/$hung/cmdline"; then fail "$2 of the call that was killed runs beside the second start"; fi
  done <"$place/hung"
}
stages_once() { # of call b those that call a has not
  for name in $a; do echo "a $name"; done
  printf 'b nccl\nb speed\n'
  for name in $c; do echo "c $name"; done
}
for ((from = 1; from <= 21; from += 7)); do
  stages_once | tail -n "+$from" | head -n 7 | at_once cut_off
  stages_once | tail -n "+$from" | head -n 7 | at_once killed
done

# A full disk. Where the results go: what was packed stays, nothing that is half there does, and the next that finds room packs all.
disk() { # FOLDER SIZE
  mkdir -p "$1"
  mount -t tmpfs -o "size=$2" none "$1"
  mounted+=("$1")
}
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  disk "$work/full-out/out" 64k
  call a full-out 0
  packed full-out determinism/part
  head -c 100000 /dev/urandom >"$work/full-out/work/results/much"
  sed -i '/ smoke_16 /d' "$work/full-out/work/stages.txt"
  call a full-out 1
  grep -q 'the results of smoke_16 are not packed' "$work/full-out/said" || fail "that nothing was packed is not said"
  packed full-out determinism/part
  [ "$(find "$work/full-out/out" -name 'results-*' | wc -l)" -eq 1 ] || fail "half a package takes the room of the next"
  grep -q '^a determinism 0 ' "$work/full-out/out/stages.txt" || fail "a full disk takes the list of stages"
  mount -o remount,size=1m "$work/full-out/out"
  sed -i '/ smoke_16 /d' "$work/full-out/work/stages.txt"
  call a full-out 0
  packed full-out much

  # Where the stages work: the others still begin, and what is there is packed.
  disk "$work/full-work/work" 256k
  FAIL=fill call a full-work 1
  for name in $a; do grep -q "^a $name " "$work/full-work/said" || fail "a full disk ends the call before $name"; done
  packed full-work logs/kernels.txt
else
  echo "first gpu test: no disk can be filled here without root"
fi

# A file that changes while it is packed, as the log of what runs beside does, is no package that failed.
mkdir "$work/changing"
# shellcheck disable=SC2016 # its own words
printf '#!/bin/sh\ncase $* in *results) %s "$@"; exit 1 ;; esac\nexec %s "$@"\n' "$(command -v tar)" "$(command -v tar)" >"$work/changing/tar"
chmod +x "$work/changing/tar"
PATH=$work/changing:$PATH call a changed 0
packed changed smoke/part

# A second call into the same folder, whose working folder is gone, takes nothing away from what the first left.
rm -rf "$work/whole-a/work"
call b whole-a 0
packed whole-a logs/kernels.txt
packed whole-a speed/part

# A tool that refuses costs its own stage.
for FAIL in doctor device_tests; do
  call a "fails-$FAIL" 1
  [ "$(grep -v ' 0 [0-9]*$' "$work/fails-$FAIL/out/stages.txt" | cut -d ' ' -f 2)" = "$FAIL" ] || fail "$FAIL that fails is not the only one"
  packed "fails-$FAIL" smoke_16/part
done
FAIL=''
rm "$work/path/compute-sanitizer"
call c no-checker 1
[ "$(grep -v ' 0 [0-9]*$' "$work/no-checker/out/stages.txt" | cut -d ' ' -f 2 | xargs)" = "sanitizer two_steps" ] || fail "without the checker not it alone fails"

# With an empty home, no variable and no more programs than a machine has that is lent: neither compiler nor driver.
bare=$work/bare
mkdir -p "$bare/path" "$bare/home"
for tool in bash sh cat chmod cp cut date dirname env find flock grep gzip head ls mkdir mv printf realpath rm sed sleep sort split tail tar tee timeout \
  touch tr uname wc xargs; do
  ln -s "$(command -v "$tool")" "$bare/path/$tool"
done
status=0
env -i HOME="$bare/home" PATH="$bare/path" HANG='' FAIL='' GPU=yes CONTROL=found PLAYED="$bare" "$tree/ci/first_gpu.sh" a --out "$bare/out" --work "$bare/work" \
  --python "$work/path/python3" >"$bare/said" 2>&1 || status=$?
[ "$status" -eq 0 ] || { cat "$bare/said" >&2; fail "with few programs it ends with $status"; }
has_stages bare "$a"
packed bare smoke_16/part

# Without a GPU the CPU's cells do not make a run pass, nor does a control that fails for another reason than its fault.
GPU=no call a blind 1
for name in smoke determinism control; do
  grep -q "^a $name 1 " "$work/blind/out/stages.txt" || fail "without a GPU $name passes"
done
CONTROL=crash call a crashed 1
[ "$(grep -v ' 0 [0-9]*$' "$work/crashed/out/stages.txt" | cut -d ' ' -f 2)" = control ] || fail "a control that crashed passes for one that was found"

# A time that is spent is said, and is no pass.
call a short 1 --seconds 2
grep -q 'no time is left for smoke_16' "$work/short/said" || fail "a stage that was left out is not named"
echo "first gpu: every stage of three calls cut off and killed once, full disks, tools that refuse or are missing"
