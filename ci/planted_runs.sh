#!/usr/bin/env bash
# Does a plain run notice what changes the training, and let pass what only rounds otherwise? Plants one change a run, in every process
# of the candidate, alone and behind a harmless difference (another release, another instruction set). A wrong change is to fail a
# cell, with a diagnosis that is not rounding, or to be another workload by its digest. A right one is to pass. A line a question; the
# last line counts them. Exit code 1: a wrong change that a run lets through, leaves undecided or calls rounding, a right one that does
# not pass, or no question at all.
#
#   ci/planted_runs.sh [--model NAME]... [--fault KIND]... [--source NAME]... [--behind nothing|release|isa]... REPROBENCH
#   ci/planted_runs.sh --check      every change of ci/planted_sources still finds its place
#
# Faults are those of `reprobench list faults`. Sources are ci/planted_sources/*.diff: changes to the worker's sources, of which the
# tables of faults know nothing; each needs a build of a minute. A source may name micro-batches of a step (`accumulate:`). With
# neither option all of both are asked (hours). The candidate is torch-2.9.0-cu128. The reference is torch-2.8.0-cu128, which has equal
# bits, and behind a release torch-2.1.0-cu121; of a fault behind `isa` it is the candidate's own stack.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

usage() { sed -n '/^#   ci/p' "$0" >&2 && exit 2; }
models=() faults=() sources=() scenes=()
while [ $# -gt 0 ]; do
  case $1 in
    --model) models+=("$2") && shift 2 ;;
    --fault) faults+=("$2") && shift 2 ;;
    --source) sources+=("$2") && shift 2 ;;
    --behind) scenes+=("$2") && shift 2 ;;
    --check)
      for diff in ci/planted_sources/*.diff; do git apply --check "$diff"; done
      echo "$(find ci/planted_sources -name '*.diff' | wc -l) changes find their places" && exit
      ;;
    -*) usage ;;
    *) break ;;
  esac
done
[ $# -eq 1 ] || usage
reprobench=$(realpath "$1")
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ "${#models[@]}" -gt 0 ] || models=(mlp gpt2 resnet llama.tiny clip)
[ "${#scenes[@]}" -gt 0 ] || scenes=(nothing release isa)
if [ "${#faults[@]}" -eq 0 ] && [ "${#sources[@]}" -eq 0 ]; then
  # What a training step can be given. A model that lacks the place says so and is counted as refused.
  faults=(none skip_update updates_stop update_halved weight_stuck batch_stuck targets_shifted stale_batch wrong_batch sample_repeated
    sample_dropped weight_sign optimizer_momentum adam_epsilon adam_epsilon_unscaled tf32 accumulate_16_bit order_and_decay
    layer_norm_epsilon running_variance_biased running_momentum gelu_scale softmax_scale gelu_constant attention_scale cast_inserted
    gelu_bias norm_epsilon reduction_order gelu_written_out attention_fused adam_written_out)
  for diff in ci/planted_sources/*.diff; do sources+=("$(basename "$diff" .diff)"); done
fi
right_faults=' none reduction_order gelu_written_out attention_fused adam_written_out '

# A parameter of each model, for the faults that sit in one.
parameter_of() {
  case $1 in
    mlp) echo fc1.weight ;;
    gpt2) echo h.1.mlp.c_fc.weight ;;
    resnet) echo conv2.weight ;;
    llama*) echo model.layers.1.mlp.up_proj.weight ;;
    clip) echo text_projection.weight ;;
    *) echo "planted_runs: name a parameter of $1" >&2 && return 2 ;;
  esac
}

# The candidate and what it is held against. A fault is planted in cells that are named, a changed source is that of a whole stack.
readonly candidate=torch-2.9.0-cu128
matrix() { # MODEL SCENE fault|source
  local reference=torch-2.8.0-cu128 isa=native stacks
  case $2 in
    nothing) ;;
    release) reference=torch-2.1.0-cu121 ;;
    isa)
      isa=default
      [ "$3" = source ] || reference=$candidate
      ;;
    *) echo "planted_runs: behind $2? one of nothing, release, isa" >&2 && return 2 ;;
  esac
  stacks=$candidate
  [ "$reference" = "$candidate" ] || stacks+=", $reference"
  cat <<YAML
schema: 1
name: planted
suites: [determinism]
axes: {stack: [$stacks], device: [cpu], cpu_isa: [native, default]$further_axes}
exclude:
  - {where: "workload != $1"}
YAML
  [ "$reference" = "$candidate" ] || cat <<YAML
  - {where: "stack == $candidate and cpu_isa != $isa"}
  - {where: "stack == $reference and cpu_isa != native"}
YAML
  echo "reference: {stack: $reference, cpu_isa: native}"
}

asked=0 wrong=0 refused=0 further_axes=
ask() { # CHANGE MODEL SCENE right|wrong fault|source OPTION...
  local began=$SECONDS status=0 word answer
  matrix "$2" "$3" "$5" >"$work/planted.yaml"
  "$reprobench" --store "$work/store" run --matrix "$work/planted.yaml" --no-report --repeat 2 -j 2 "${@:6}" \
    >"$work/out" 2>"$work/log" || status=$?
  answer=$({ grep -h -m 1 '^diagnosis' "$work/log" || grep -h -m 1 '^FAILED' "$work/out" || tail -n 1 "$work/log"; } | tr -s ' ' | cut -c 1-400)
  if grep -qE 'bad_request' "$work/log"; then
    word=refused refused=$((refused + 1)) answer=$(grep -h -m 1 bad_request "$work/log" | tr -s ' ' | cut -c 1-200)
  elif [ "$status" -ne 0 ] && [ "$status" -ne 1 ] && [ "$status" -ne 3 ]; then
    cat "$work/log" >&2 && exit "$status"
  elif [ "$4" = right ]; then
    word=passes # of the run alone: a drill qualifies nothing
    grep -q ' 2 planned: 2 passed$' "$work/out" || word='FALSE ALARM'
  else
    word=found
    [ "$status" -eq 1 ] || word=MISSED
    # Numbers that are not finite, and weights that do not begin as they should, need no replay to be wrong.
    grep -qE '^diagnosis +(defect|another computation)' "$work/log" || grep -qE 'finite|by_construction' "$work/out" || word=MISSED
    # Another order of samples is another workload by its digest, and two of these are not compared.
    [ "$status" -ne 3 ] || ! grep -qE '^diagnosis +undecided: the workload digests differ' "$work/log" || word=found
    ! grep -qE '^diagnosis +rounding' "$work/log" || word=ROUNDING
  fi
  [ "$word" = refused ] || asked=$((asked + 1))
  case $word in found | passes | refused) ;; *) wrong=$((wrong + 1)) && sed 's/^/    /' "$work/log" "$work/out" ;; esac
  printf '%-11s  %-34s  %3d s  %s\n' "$word" "$2 $1 behind $3" $((SECONDS - began)) "$answer"
  rm -rf "$work/store"
}

for fault in "${faults[@]}"; do
  kind=wrong
  case $right_faults in *" $fault "*) kind=right ;; esac
  for model in "${models[@]}"; do
    where=kind=$fault,step=5
    case $fault in weight_* | adam_written_out | adam_epsilon_unscaled) where+=,element=0,tensor=$(parameter_of "$model") ;; esac
    for scene in "${scenes[@]}"; do
      side=stack=$candidate
      [ "$scene" != isa ] || side=cpu_isa=default
      # In both repeats: a candidate that repeats itself, and that nothing but its reference tells is wrong.
      inject=(--inject "$where,repeat=0,$side" --inject "$where,repeat=1,$side")
      [ "$fault" != none ] || inject=()
      ask "$fault" "$model" "$scene" "$kind" fault "${inject[@]}"
    done
  done
done

# The worker of the changed sources, as $work/worker.
build() { # DIFF
  local folder libraries part
  folder=$(find "$REPROBENCH_STACKS" -maxdepth 1 -type d -name "$candidate-*" -print -quit)
  libraries=$folder/site/torch/lib
  for part in "$folder"/site/nvidia/*/lib; do libraries="$libraries;$part"; done
  if [ ! -d "$work/tree" ]; then
    mkdir "$work/tree"
    git ls-files -z matrix models kernels suites/worker ci/cmake | xargs -0 cp --parents -t "$work/tree"
    CCACHE_BASEDIR=$work/tree cmake -S "$work/tree/suites/worker" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DREPROBENCH_CXX11_ABI=1 \
      "-DREPROBENCH_TORCH_INCLUDE_DIRS=$folder/site/torch/include;$folder/site/torch/include/torch/csrc/api/include" \
      "-DREPROBENCH_TORCH_LIBRARY_DIRS=$libraries" >/dev/null
    printf '#!/bin/sh\nexec %q "$@" --data %q\n' "$work/build/bin/reprobench-worker" "$PWD/models/data" >"$work/worker"
    chmod +x "$work/worker"
  fi
  patch --quiet -d "$work/tree" -p1 <"$1"
  CCACHE_NOHASHDIR=1 cmake --build "$work/build" --target reprobench-worker >"$work/compiled" ||
    { cat "$work/compiled" >&2 && return 1; }
  patch --quiet -R -d "$work/tree" -p1 <"$1"
}

for source in "${sources[@]}"; do
  diff=ci/planted_sources/$source.diff
  read -r kind _ <"$diff"
  build "$diff"
  read -ra suited < <(sed -n 's/^models: //p' "$diff")
  further_axes=$(sed -n 's/^accumulate: \(.*\)$/, accumulate: [\1]/p' "$diff")
  for model in "${suited[@]}"; do
    case " ${models[*]} " in *" $model "* | *" $model".*) ;; *) continue ;; esac
    [ "$model" != llama ] || model=llama.tiny
    for scene in "${scenes[@]}"; do ask "$source" "$model" "$scene" "${kind%:}" source --worker "$candidate=$work/worker"; done
  done
done
echo "$asked questions, $wrong answered wrongly; $refused faults that a model has no place for"
[ "$wrong" -eq 0 ] && [ "$asked" -gt 0 ]
