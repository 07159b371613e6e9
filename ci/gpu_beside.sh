#!/usr/bin/env bash
# What a page of goals needs beside a run on a GPU (reports/reprobench_report/gpu_beside.py): what recording costs a step, CUB's
# sum, the same steps in Python. Of each there is afterwards FOLDER/NAME.json, one JSON line, or FOLDER/NAME.txt with why not.
#
#   ci/gpu_beside.sh --out FOLDER --stack NAME --reprobench PROGRAM --seconds N [--python PYTHON]
#
# PYTHON imports the stack's release of torch. All of it ends within N seconds; what did not begin by then says so. Exit code 0
# unless it is called wrongly: a measurement that failed is one that is missing, not a failed job.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

out='' stack='' reprobench='' seconds='' python=''
while [ $# -ge 2 ]; do
  case $1 in
    --out) out=$2 ;;
    --stack) stack=$2 ;;
    --reprobench) reprobench=$2 ;;
    --seconds) seconds=$2 ;;
    --python) python=$2 ;;
    *) break ;;
  esac
  shift 2
done
if [ $# -gt 0 ] || [ -z "$out" ] || [ -z "$stack" ] || [ -z "$reprobench" ] || ! [[ $seconds =~ ^-?[0-9]+$ ]]; then
  sed -n 's/^#   ci/usage: ci/p' "$0" >&2
  exit 2
fi
stacks=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
end=$((SECONDS + seconds))

without() { # NAME WHY
  rm -f "$out/$1.json"
  echo "$2" >"$out/$1.txt"
}

# measure NAME COMMAND...: the last line of what it says becomes NAME.json.
measure() {
  local name=$1 ended=0 left=$((end - SECONDS))
  rm -f "$out/$name.json" "$out/$name.txt"
  if [ "$left" -lt 1 ]; then
    without "$name" "no time was left of what the job may take"
    return
  fi
  timeout --kill-after=2 "$left" "${@:2}" >"$out/$name.out" 2>"$out/$name.log" || ended=$?
  if [ "$ended" -eq 0 ] && tail -n 1 "$out/$name.out" | grep '^{.*}$' >"$out/$name.json"; then return; fi
  # Its own last words: a script of ours says behind them which line ended it.
  without "$name" "ended with $ended within $left s: $({ grep -v ': ended with [0-9]* by `' "$out/$name.log" || true; } | tail -n 1)"
}

worker=$({ find "$stacks" -path "*/$stack-*/workers/*/reprobench-worker" -printf '%T@ %p\n' 2>/dev/null || true; } | sort -n | tail -n 1 | cut -d ' ' -f 2-)
device=''
[ -z "$worker" ] || device=$(timeout --kill-after=2 60 "$worker" describe 2>/dev/null | grep -o '"sm_[0-9]*"' | head -n 1 | tr -d '"') || true
if [ -z "$device" ]; then
  why="the worker of $stack sees no GPU"
  [ -n "$worker" ] || why="no worker of $stack is installed"
  for name in telemetry_cost cub_reduce python_eager python_compiled; do without "$name" "$why"; done
  exit 0
fi

measure telemetry_cost "$worker" telemetry-cost "$device" --data models/data

nvcc=$(command -v nvcc || find /usr/local/cuda/bin -name nvcc 2>/dev/null) || true
if [ -z "$nvcc" ]; then
  without cub_reduce "no nvcc here"
elif ! timeout --kill-after=2 "$((end - SECONDS > 0 ? end - SECONDS : 1))" \
  "$nvcc" -O3 -std=c++17 -arch="$device" ci/peers/cub_reduce.cu -o "$out/cub_reduce" >"$out/nvcc.log" 2>&1; then
  without cub_reduce "nvcc made no program of ci/peers/cub_reduce.cu: $(tail -n 1 "$out/nvcc.log")"
else
  # The sizes of the probe device_memory.
  measure cub_reduce "$out/cub_reduce" $((256 << 20)) $((512 << 20)) $((1 << 30))
fi

in_python() {
  if [ -z "$python" ]; then
    without "$1" "no Python that has torch was named (--python)"
  else
    measure "$1" ci/compare_torch.sh --stack "$stack" --python "$python" --device "$device" --precision bf16 --pairs 2 \
      --workload mlp/base --workload gpt2/tiny --reprobench "$reprobench" --json - "${@:2}"
  fi
}
in_python python_eager
in_python python_compiled --compile
