#!/usr/bin/env bash
# Does anything that only changes the order of summation make `calibrate` or `compare --explain` speak of a defect? Runs one stack
# against itself with every setting of this host that leaves the computation what it is, on every model. A line a question; the last
# line counts them. Exit code 1: a false alarm, a question that stays open, or nobody who would speak.
#
#   ci/false_alarms.sh [--model NAME]... [--setting KNOB=VALUE]... [--seed N]... [--batches N] [--stack NAME] [--no-calibrate] REPROBENCH
#
# Under an emulated class of CPU: ci/cpu_classes.sh --class avx2 ci/false_alarms.sh build-ci/bin/reprobench
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

stack=torch-2.9.0-cu128 batches=16 models=() settings=() seeds=() calibrates=yes
while [ $# -gt 0 ]; do
  case $1 in
    --model) models+=("$2") && shift 2 ;;
    --setting) settings+=("$2") && shift 2 ;;
    --seed) seeds+=("$2") && shift 2 ;;
    --batches) batches=$2 && shift 2 ;;
    --stack) stack=$2 && shift 2 ;;
    --no-calibrate) calibrates=no && shift ;;
    -*) sed -n '/^#   ci/p' "$0" >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ $# -eq 1 ] || { sed -n '/^#   ci/p' "$0" >&2; exit 2; }
reprobench=$(realpath "$1")
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ "${#models[@]}" -gt 0 ] || models=(mlp gpt2 resnet llama clip fusion vlm)
# What a host or a model lacks is refused and counted as such. Other values of these knobs, and other knobs, ask for another computation.
[ "${#settings[@]}" -gt 0 ] || settings=(threads=2 threads=4 cpu_isa=default cpu_isa=avx2 cpu_isa=avx512 onednn=off onednn_isa=sse41
  onednn_isa=avx2 onednn_isa=avx512 mkl_cbwr=compatible mkl_cbwr=avx2 mkl_cbwr=avx512 attention=math attention=flash determinism=default
  determinism=fast gradient_checkpointing=on optimizer_layout=flat flush_denormals=on allocator=mapped)

[ "${#seeds[@]}" -gt 0 ] || seeds=(1)

compared() { # MODEL SETTING SEED
  "$reprobench" --store "$work/store" compare "$stack" "$stack" --model "$1" --steps 10 --knob-a "$2" --knob "seed=$3" --batches "$batches" \
    --fail-on another_computation >"$work/out" 2>"$work/log"
}
calibrated() { # MODEL
  "$reprobench" --store "$work/store" calibrate "$stack" --lockstep --model "$1" --steps 20 --batches "$batches" >"$work/out" 2>"$work/log"
}

# Silence counts only of somebody who would speak: another epsilon of a normalisation is to be called wrong.
"$reprobench" --store "$work/store" selftest --stack "$stack" --fault norm_epsilon --placements 1 --explained 1 --clean 1 --steps 10 \
  --batches 8 >"$work/out" 2>&1 || { cat "$work/out" >&2; echo "false_alarms: a planted defect is not found on this CPU" >&2; exit 1; }

asked=0 alarms=0 undecided=0 refused=0 unrepeated=0
# ask WORDS COMMAND...: 1 is a false alarm, 3 a question that stays open, 2 one that this host or model cannot be asked.
ask() {
  local status began=$SECONDS answer word left=3
  while :; do
    status=0
    "${@:2}" || status=$?
    # With some settings a stack computes by chance (MKL's first call on several threads). That is a finding, and says nothing here.
    grep -qE 'does not repeat itself|took another course than the run' "$work/out" || break
    left=$((left - 1)) unrepeated=$((unrepeated + 1))
    [ "$left" -gt 0 ] || break
  done
  answer=$({ grep -E '^ *(differs|equal|not to be used|correct runs)' "$work/out" || true; } | head -n 1 | tr -s ' ' | cut -c 1-240)
  if [ "$status" -eq 3 ] && grep -q ' unsupported: ' "$work/log"; then status=2; fi
  case $status in
    0) word=ok asked=$((asked + 1)) ;;
    2) word=refused refused=$((refused + 1)) answer=$(tail -n 1 "$work/log" | cut -c 1-160) ;;
    3) word=undecided asked=$((asked + 1)) undecided=$((undecided + 1)) ;;
    *) word='FALSE ALARM' asked=$((asked + 1)) alarms=$((alarms + 1)) ;;
  esac
  printf '%-11s  %-28s  %3d s  %s\n' "$word" "$1" $((SECONDS - began)) "$answer"
}

for model in "${models[@]}"; do
  for seed in "${seeds[@]}"; do
    for setting in "${settings[@]}"; do ask "$model $setting seed $seed" compared "$model" "$setting" "$seed"; done
  done
  [ "$calibrates" = no ] || ask "$model calibrate" calibrated "$model"
done
echo "$asked questions, $alarms false alarms, $undecided undecided; $refused settings that this host or model does not have;" \
  "$unrepeated answers of a stack that did not repeat itself"
[ "$alarms" -eq 0 ] && [ "$undecided" -eq 0 ] && [ "$asked" -gt 0 ]
