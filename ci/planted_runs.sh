#!/usr/bin/env bash
# Does a plain run of two stacks notice each fault that changes what is trained? Plants it in every process of the candidate, alone and
# behind a harmless difference (another release, another instruction set), and asks for a failed cell. A line a question; the last
# line counts them. Exit code 1: a fault that a run lets through, leaves undecided or calls rounding.
#
#   ci/planted_runs.sh [--model NAME]... [--fault KIND]... [--behind nothing|release|isa]... REPROBENCH
#
# Needs torch-2.9.0-cu128 and torch-2.8.0-cu128; `release` needs torch-2.1.0-cu121, too.
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

matrix() { # MODEL SCENE CANDIDATE
  local isa='' excluded='' reference=torch-2.8.0-cu128
  if [ "$2" = isa ]; then
    isa=', cpu_isa: [default, native]'
    excluded="
  - {where: \"stack == $3 and cpu_isa == native\"}
  - {where: \"stack == $reference and cpu_isa == default\"}"
  fi
  cat <<YAML
schema: 1
name: planted
suites: [determinism]
axes: {stack: [$3, $reference], device: [cpu]$isa}
exclude:
  - {where: "workload != $1"}$excluded
reference: {stack: $reference${isa:+, cpu_isa: native}}
YAML
}

asked=0 missed=0 refused=0
for model in "${models[@]}"; do
  for scene in "${scenes[@]}"; do
    candidate=torch-2.9.0-cu128
    [ "$scene" != release ] || candidate=torch-2.1.0-cu121
    matrix "$model" "$scene" "$candidate" >"$work/planted.yaml"
    for fault in none "${faults[@]}"; do
      began=$SECONDS status=0
      inject=(--inject "kind=$fault,step=5,stack=$candidate")
      [ "$fault" != none ] || inject=()
      "$reprobench" --store "$work/store" run --matrix "$work/planted.yaml" --no-report --repeat 2 -j 2 "${inject[@]}" \
        >"$work/out" 2>"$work/log" || status=$?
      answer=$({ grep -h -m 1 '^diagnosis' "$work/log" || grep -h -m 1 '^FAILED' "$work/out" || tail -n 1 "$work/log"; } | tr -s ' ' | cut -c 1-200)
      if grep -qE 'bad_injection' "$work/out"; then
        word=refused refused=$((refused + 1))
      elif [ "$fault" = none ]; then
        asked=$((asked + 1)) word=ok
        # Without a fault the run passes, whatever harmless difference there is.
        [ "$status" -eq 0 ] || { word='FALSE ALARM' missed=$((missed + 1)); }
      else
        asked=$((asked + 1)) word=found
        [ "$status" -eq 1 ] || { word='MISSED' missed=$((missed + 1)); }
        ! grep -q '^diagnosis *rounding' "$work/log" || { word='ROUNDING' missed=$((missed + 1)); }
      fi
      printf '%-11s  %-34s  %3d s  %s\n' "$word" "$model $fault behind $scene" $((SECONDS - began)) "$answer"
    done
  done
done
echo "$asked questions, $missed answered wrongly; $refused faults that a model has no place for"
[ "$missed" -eq 0 ] && [ "$asked" -gt 0 ]
