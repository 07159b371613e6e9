#!/usr/bin/env bash
# Does a plain run notice each fault that changes what is trained? Plants it in every process of the candidate, alone and behind a
# harmless difference (another release, another instruction set), and asks for a failed cell. A line a question; the last line counts
# them. Exit code 1: a fault that a run lets through, leaves undecided or calls rounding, or no fault that fails.
#
#   ci/planted_runs.sh [--model NAME]... [--fault KIND]... [--behind nothing|release|isa]... REPROBENCH
#
# `isa` needs torch-2.9.0-cu128 alone, `nothing` torch-2.8.0-cu128 too, and `release` that and torch-2.1.0-cu121.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

models=() faults=() scenes=()
while [ $# -gt 0 ]; do
  case $1 in
    --model) models+=("$2") && shift 2 ;;
    --fault) faults+=("$2") && shift 2 ;;
    --behind) scenes+=("$2") && shift 2 ;;
    -*) sed -n '6p' "$0" >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ $# -eq 1 ] || { sed -n '6p' "$0" >&2; exit 2; }
reprobench=$(realpath "$1")
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ "${#models[@]}" -gt 0 ] || models=(mlp gpt2 resnet llama.tiny clip)
[ "${#scenes[@]}" -gt 0 ] || scenes=(nothing release isa)
# What a training step can be given; a model that lacks the place says so and is counted as refused.
[ "${#faults[@]}" -gt 0 ] || faults=(skip_update updates_stop update_halved batch_stuck targets_shifted stale_batch wrong_batch
  sample_repeated sample_dropped adam_epsilon tf32 accumulate_16_bit layer_norm_epsilon gelu_scale softmax_scale gelu_constant
  attention_scale cast_inserted gelu_bias norm_epsilon)

# The sides of a scene: what sets the candidate apart, by its axis, and the reference's value on it.
sides() {
  case $1 in
    nothing) echo stack torch-2.9.0-cu128 torch-2.8.0-cu128 ;;
    release) echo stack torch-2.1.0-cu121 torch-2.8.0-cu128 ;;
    isa) echo cpu_isa default native ;;
    *) echo "planted_runs: behind $1? one of nothing, release, isa" >&2 && return 2 ;;
  esac
}

matrix() { # MODEL AXIS CANDIDATE REFERENCE
  local stacks=torch-2.9.0-cu128 isa=native
  [ "$2" != stack ] || stacks="$3, $4"
  [ "$2" != cpu_isa ] || isa="$3, $4"
  cat <<YAML
schema: 1
name: planted
suites: [determinism]
axes: {stack: [$stacks], device: [cpu], cpu_isa: [$isa]}
exclude:
  - {where: "workload != $1"}
reference: {$2: $4}
YAML
}

asked=0 missed=0 refused=0
for model in "${models[@]}"; do
  for scene in "${scenes[@]}"; do
    read -r axis candidate reference < <(sides "$scene") || exit 2
    matrix "$model" "$axis" "$candidate" "$reference" >"$work/planted.yaml"
    for fault in none "${faults[@]}"; do
      began=$SECONDS status=0
      # In both repeats: a candidate that repeats itself, and that nothing but its reference tells is wrong.
      inject=(--inject "kind=$fault,step=5,repeat=0,$axis=$candidate" --inject "kind=$fault,step=5,repeat=1,$axis=$candidate")
      [ "$fault" != none ] || inject=()
      "$reprobench" --store "$work/store" run --matrix "$work/planted.yaml" --no-report --repeat 2 -j 2 "${inject[@]}" \
        >"$work/out" 2>"$work/log" || status=$?
      case $status in 0 | 1 | 3) ;; *) cat "$work/log" >&2 && exit "$status" ;; esac
      answer=$({ grep -h -m 1 '^diagnosis' "$work/log" || grep -h -m 1 '^FAILED' "$work/out" || tail -n 1 "$work/log"; } | tr -s ' ' | cut -c 1-200)
      if grep -qE 'bad_injection' "$work/out"; then
        word=refused refused=$((refused + 1))
      elif [ "$fault" = none ]; then
        asked=$((asked + 1)) word=ok
        # Without a fault the run passes, whatever harmless difference there is.
        [ "$status" -eq 0 ] || { word='FALSE ALARM' missed=$((missed + 1)); }
      else
        asked=$((asked + 1)) word=found
        [ "$status" -eq 1 ] || word=MISSED
        grep -qE '^diagnosis +(defect|another computation)' "$work/log" || word=MISSED
        ! grep -qE '^diagnosis +rounding' "$work/log" || word=ROUNDING
        [ "$word" = found ] || missed=$((missed + 1))
      fi
      printf '%-11s  %-34s  %3d s  %s\n' "$word" "$model $fault behind $scene" $((SECONDS - began)) "$answer"
    done
  done
done
echo "$asked questions, $missed answered wrongly; $refused faults that a model has no place for"
[ "$missed" -eq 0 ] && [ "$asked" -gt 0 ]
