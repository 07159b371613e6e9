#!/usr/bin/env bash
# Faults of one rank among three, again and again on the real worker over Gloo: does every trial end in time, in the right
# class and with the right rank by name? By hand; a line a fault, exit code 1 unless every trial of every fault did.
#
#   ci/rank_faults.sh [--trials N] [--beside N] [--stack NAME] [--worker COMMAND] [--keep FOLDER] REPROBENCH [FAULT...]
#
# 100 trials of each fault, four runs beside each other; COMMAND in place of the installed stack's worker. FOLDER keeps the
# runs. Of a fault without --inject ("none") every trial must pass.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

trials=100 beside=4 stack=torch-2.9.0-cu128 worker='' work=''
while [ $# -gt 0 ]; do
  case "$1" in
    --trials) trials=$2 && shift 2 ;;
    --beside) beside=$2 && shift 2 ;;
    --stack) stack=$2 && shift 2 ;;
    --worker) worker=$2 && shift 2 ;;
    --keep) work=$2 && shift 2 && mkdir "$work" ;; # a new one: what an earlier call left is no evidence of this one
    -*) echo "usage: ci/rank_faults.sh [--trials N] [--beside N] [--stack NAME] [--worker COMMAND] [--keep FOLDER] REPROBENCH [FAULT...]" >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "rank_faults: name the built program, such as build-ci/bin/reprobench" >&2; exit 2; }
reprobench=$(realpath "$1") && shift
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi

# name               planted in rank 1 (kind, operation, call), or 0    rendezvous  attempt's end  what its sentence begins with
table='
none                 -                                                   file  completed     exit
none_tcp             -                                                   tcp   completed     exit
rank_killed          kind=rank_killed,step=3,tensor=all_reduce,rank=1        file  crash         rank 1: SIGKILL
rank_stopped         kind=rank_stopped,step=3,tensor=all_reduce,rank=1       file  hang          rank 1: rank
rank_slow            kind=operation_slow,step=1,tensor=all_reduce,rank=1     file  completed     late
collective_shape     kind=collective_shape,step=3,tensor=all_reduce,rank=1   file  worker_error  rank 1: collective
collective_dtype     kind=collective_dtype,step=3,tensor=all_reduce,rank=1   file  worker_error  rank 1: collective
collective_order     kind=collective_order,step=3,tensor=all_reduce,rank=1   file  worker_error  rank 1: collective
collective_skipped   kind=collective_skipped,step=3,tensor=all_reduce,rank=1 file  worker_error  rank 1: collective
rendezvous_lost      kind=rendezvous_lost,step=1,tensor=all_reduce,rank=1    file  worker_error  rank 1: collective
rendezvous_lost_tcp  kind=rendezvous_lost,step=1,tensor=all_reduce,rank=1    tcp   worker_error  rank 1: collective
store_lost           kind=rank_killed,step=3,tensor=all_reduce,rank=0        tcp   crash         rank 0: SIGKILL
'

# Twelve processes at a time on two cores: half the gap must still be a while.
start_s=30 gap_s=12 grace_s=2
matrix() { # RENDEZVOUS
  cat <<YAML
schema: 1
name: rank_faults
suites: [comm]
axes: {stack: [$stack], device: [cpu], world_size: [3], rendezvous: [$1]}
limits: {first_heartbeat: ${start_s}s, heartbeat_gap: ${gap_s}s, grace: ${grace_s}s}
thresholds: {comm.latency_ratio: [{gate: record_only}]} # there is no reference
YAML
}

trial_runs() { # FOLDER RENDEZVOUS PLANTED: the trials, in `beside` runs of their own
  local part planted repeat
  matrix "$2" >"$1/matrix.yaml"
  for ((part = 0; part < beside; part++)); do
    local count=$(((trials + beside - 1 - part) / beside)) options=()
    [ "$count" -gt 0 ] || continue
    [ -z "$worker" ] || options+=(--worker "$stack=$worker")
    for ((repeat = 0; repeat < count; repeat++)); do
      planted="$3,repeat=$repeat"
      [ "$3" = - ] || options+=(--inject "$planted")
    done
    "$reprobench" --quiet --store "$1/store-$part" run --matrix "$1/matrix.yaml" --repeat "$count" --no-report --out "$1/run-$part" \
      "${options[@]}" >"$1/run-$part.txt" 2>&1 &
  done
  wait # whatever they say, their files are judged
}

# Prints "RIGHT TRIALS SLOWEST_S" and to stderr what was wrong. A slow rank completes, and is named by what every rank measured.
judged() { # FOLDER END BEGINNING
  python3 - "$@" "$trials" $((start_s + gap_s + grace_s)) <<'PYTHON'
import glob, json, sys
folder, end, beginning, trials, limit_s = sys.argv[1:4] + [int(word) for word in sys.argv[4:6]]

def late(attempt_folder):
    named = set()
    for path in glob.glob(attempt_folder + "/rank-*/result.json"):
        measured = [m for m in json.load(open(path)).get("measurements", []) if m["operation"] == "all_reduce"]
        named |= {m["finding"].split(",")[0] for m in measured}
    return named == {"rank 1 comes last"}

right, seen, slowest_s = 0, 0, 0.0
for path in sorted(glob.glob(folder + "/run-*/verdict.json")):
    run = path.rsplit("/", 1)[0]
    for cell in json.load(open(path))["cells"]:
        if beginning == "exit" and cell["outcome"] != "passed":
            print("  without a fault the cell is", cell["outcome"], cell["sentence"], file=sys.stderr)
        for attempt in cell["attempts"]:
            seen += 1
            took_s = (attempt.get("duration_ns") or 1e18) / 1e9
            slowest_s = max(slowest_s, took_s)
            said = late(f"{run}/{attempt['folder']}") if beginning == "late" else attempt["detail"].startswith(beginning)
            # Suites run for as long as they take; what is stopped or gives up ends by the limits.
            is_in_time = end == "completed" or took_s <= limit_s
            if attempt["end"] in end.split(",") and said and is_in_time:
                right += 1
            else:
                print("  wrong:", attempt["end"], f"{took_s:.1f} s", attempt["detail"], file=sys.stderr)
print(right, seen, f"{slowest_s:.1f}")
PYTHON
}

wrong=0
while read -r name planted rendezvous end beginning; do
  [ -n "$name" ] || continue
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  folder=$work/$name
  mkdir -p "$folder"
  trial_runs "$folder" "$rendezvous" "$planted"
  read -r right seen slowest_s < <(judged "$folder" "$end" "$beginning")
  printf '%-20s %3d of %3d trials right, the slowest took %s s\n' "$name" "$right" "$trials" "$slowest_s"
  if [ "$right" -ne "$trials" ] || [ "$seen" -ne "$trials" ]; then wrong=1; fi
done <<<"$table"
exit "$wrong"
