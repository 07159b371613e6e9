#!/usr/bin/env bash
# The main job on one real stack: install, train, judge; a weight moved by one unit in the last place must be found and named, and
# without it the same cell must be green again. The same of collectives and trainings on two ranks, of a training that is
# stopped and resumed, and of one that learns too little or too fast.
#
#   ci/real_stack_test.sh build-ci/bin/reprobench
# $REPROBENCH_STACKS keeps the installed stack between runs; otherwise it lies in the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

reprobench=$(realpath "$1")
stack=torch-2.9.0-cu128
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
python=$(command -v /usr/bin/python3 || command -v python3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# matrix NAME SUITES RULE...: the trainings of these suites but those that a rule excludes. Without a fault they have the seeds 1 and 2;
# every fault has a cell of its own, most by its seed.
matrix() {
  {
    cat <<YAML
schema: 1
name: $1
suites: [$2]
axes:
  stack: [$stack]
  device: [cpu]
  precision: [fp32, bf16]
  seed: [1, 2, 3, 4, 5, 6]
  world_size: [1, 2]
  replicas: [1, 2]
  accumulate: [1, 2]
  zero_stage: [0, 2]
reference: {stack: $stack}
exclude:
YAML
    printf '  - {where: "%s"}\n' "${@:3}"
  } >"$work/$1.yaml"
}
# Two micro-batches of one rank, or one each of two ranks, which may share out states, or of two replicas.
several="world_size == 2 or replicas == 2 or accumulate == 2 or zero_stage == 2"
in_layouts=("suite == resume and workload not in (mlp, resnet)" "suite in (parallel, convergence) and workload != mlp"
  "suite != parallel and ($several)" "world_size == 2 and replicas == 2" "accumulate == 2 and (world_size == 2 or replicas == 2)"
  "suite == parallel and accumulate == 1 and world_size == 1 and replicas == 1" "zero_stage == 2 and world_size == 1"
  "suite == parallel and seed in (2, 5, 6)"
  "suite == resume and (seed in (2, 6) or (workload == resnet and seed in (4, 5)))")

# Do ranks get the right result of every call? Timed, so one cell after the other.
cat >"$work/ranks.yaml" <<YAML
schema: 1
name: ranks
suites: [comm]
axes: {stack: [$stack], device: [cpu], seed: [1, 2, 3, 4, 5, 6, 7]}
repeat: 2
limits: {heartbeat_gap: 8s, grace: 1s}
thresholds: {comm.latency_ratio: [{gate: record_only}]} # there is no reference
YAML

# run MATRIX FOLDER OPTION...
run() { "$reprobench" --store "$work/store" run --matrix "$work/$1.yaml" --out "$work/$2" --jobs 2 "${@:3}"; }
# ends STATUS WHAT COMMAND...
ends() {
  local status=0
  "${@:3}" || status=$?
  expect "the exit code of $2" "$1" "$status"
}
expect() { # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] || { echo "real stack: $1 is \`$3\`, expected \`$2\`" >&2; exit 1; }
}
expect_part() { # WHAT PART ACTUAL
  case $3 in *"$2"*) ;; *) echo "real stack: $1 is \`$3\`, not with \`$2\`" >&2; exit 1 ;; esac
}
# in_json FILE EXPRESSION [KIND]: `v` is the document; planted() are the cells of a verdict that a fault was planted in, of that kind.
in_json() {
  "$python" - "$work/$1" "$2" "${3:-}" <<'PYTHON'
import json, sys
v, kind = json.load(open(sys.argv[1])), sys.argv[3]
def planted(): return [c for c in v["cells"] if any(a["injected"] and kind in a["injected"] for a in c["attempts"])]
print(eval(sys.argv[2]))
PYTHON
}
field() { in_json "$1/verdict.json" "${@:2}"; } # FOLDER EXPRESSION [KIND]

# Jobs beside each other: what each said is shown when all are over, and one that failed ends the script. They begin outside of any
# condition, in which bash would go on behind a command that failed.
jobs_begun=()
beside() { # FUNCTION
  "$1" >"$work/$1.log" 2>&1 &
  jobs_begun+=("$1" "$!")
}
together() {
  local index status failed=0
  for ((index = 0; index < ${#jobs_begun[@]}; index += 2)); do
    status=0
    wait "${jobs_begun[index + 1]}" || status=$?
    cat "$work/${jobs_begun[index]}.log"
    if [ "$status" -ne 0 ]; then
      echo "real stack: ${jobs_begun[index]} ended with $status" >&2
      failed=1
    fi
  done
  [ "$failed" -eq 0 ] || exit 1
}

# Faults, and what is then said of the cell that has them.
faults=() wanted=()
plant() { # KIND SELECTORS REASON PART_OF_THE_SENTENCE
  faults+=(--inject "kind=$1,$2")
  wanted+=("$1" "$3" "$4")
}
# The planted cells fail in the words of their faults, each of them, and no other cell.
expect_planted() { # FOLDER
  local index
  for ((index = 0; index < ${#wanted[@]}; index += 3)); do
    expect_part "what is said of ${wanted[index]} and ${wanted[index + 1]}" "${wanted[index + 2]}" \
      "$(field "$1" "[c['sentence'] for c in planted() if c['reason'] == '${wanted[index + 1]}']" "${wanted[index]}")"
  done
  expect "the planted cells of $1" "$((${#wanted[@]} / 3))" "$(field "$1" 'len(planted())')"
  expect "the cells of $1 that failed" "$(field "$1" 'sorted(c["cell_id"] for c in planted())')" \
    "$(field "$1" 'sorted(c["cell_id"] for c in v["cells"] if c["outcome"] == "failed")')"
  expect "the cells of $1 that neither failed nor passed" "[]" \
    "$(field "$1" '[c["slug"] for c in v["cells"] if c["outcome"] not in ("failed", "passed") and c["reason"] != "deselected"]')"
}
# A weight moved by one unit in the last place, and a NaN out of finite inputs.
in_training=precision=fp32,suite=determinism
plant weight_ulp "step=20,tensor=fc1.weight,element=4711,repeat=1,workload=mlp,$in_training" numerics.repeat_mismatches "first at step 20 in fc1.weight (parameter)"
plant weight_huge "step=3,tensor=h.0.ln_1.weight,element=5,workload=gpt2,$in_training" worker_error "non_finite_loss at step 3"
# Two ranks train what one rank trains alone; a rank that does not is named, by its own tensor or by what it sent.
in_rank=step=4,tensor=fc1.weight,element=60000,rank=1,suite=parallel,world_size=2
plant weight_ulp "$in_rank,zero_stage=0,seed=3" numerics.rank_mismatches \
  "rank 1 differs from rank 0 in 17 of 20 steps and the state after them; first at step 4 in fc1.weight (parameter)"
plant wrong_batch "$in_rank,zero_stage=0,seed=4" numerics.layout_mismatches "first on rank 1; first at step 4 in input#1 (input)"
# A shard of the optimizer's state, which no other rank has: both hold some of this tensor.
plant moment_ulp "$in_rank,zero_stage=2,seed=3" numerics.layout_mismatches \
  "first in what ranks 0, 1 hold of it together; first at step 4 in fc1.weight.exp_avg (optimizer_state)"
# The same micro-batches on replicas of one process; one that is left behind is named, and one that is left out of a sum is seen.
plant replica_stale step=4,replicas=2,seed=3 numerics.replica_mismatches \
  "replica 1 begins 1 of 20 steps with other weights than replica 0; first at step 5 in fc1.weight@1 (parameter)"
plant replica_gradient_lost step=4,replicas=2,seed=4 numerics.layout_mismatches "first at step 4 in fc1.weight (parameter_gradient)"
# Stopped and resumed in another process, a training has the bits of one that never was; what is not put back is named.
resumed=numerics.resume_mismatches
plant resume_from_step_0 step=9,suite=resume,workload=mlp,seed=3 $resumed "first at step 9 in input (input)"
plant resume_without_optimizer_state step=9,suite=resume,workload=mlp,seed=4 $resumed "first at step 9 in fc1.weight.exp_avg (optimizer_state)"
plant resume_without_data_position step=9,suite=resume,workload=mlp,seed=5 $resumed "first at step 9 in input (input)"
plant resume_without_buffers step=5,suite=resume,workload=resnet,seed=3 $resumed "first at step 5 in bn1.running_mean (buffer)"
# A training learns, or leaves the band that its loss has to end in: on either side.
in_weight=step=1,tensor=fc1.weight,element=0,suite=convergence
plant updates_stop "$in_weight,seed=3" numerics.end_loss " loss is above "
plant update_halved "$in_weight,seed=4" numerics.end_loss " loss is above "
plant targets_shifted "$in_weight,seed=5" numerics.end_loss " loss is above "
plant batch_stuck "$in_weight,seed=6" numerics.end_loss " loss is below "

# Without a fault all is green, and the checks that the faults are for have been made.
check_clean() {
  passed_checks() { field layouts 'sum(k["metric"].removeprefix("numerics.") in ('"$1"',) and k["status"] == "passed" for c in v["cells"] for k in c["checks"])'; }
  expect "the clean run's verdict" passed "$(field clean 'v["word"]')"
  expect "the verdict on layouts, going on and learning" passed "$(field layouts 'v["word"]')"
  expect "the checks between ranks, replicas and layouts" 6 "$(passed_checks '"rank_mismatches", "replica_mismatches", "layout_mismatches"')"
  expect "the checks of going on" 2 "$(field layouts 'sum("steps in two processes have the bits of" in k["sentence"] for c in v["cells"] for k in c["checks"])')"
  expect "the seeds that train what no other does" 2 "$(passed_checks '"alike_seeds"')"
}

check_planted() {
  local divergence='[(k["divergence"]["step"], k["divergence"]["tensor"]) for c in planted() if c["coordinates"]["suite"] == "determinism" for k in c["checks"] if k["status"] == "failed" and k["divergence"]]'
  expect_planted planted
  expect "the step and tensor that were named" "[(20, 'fc1.weight')]" "$(field planted "$divergence" weight_ulp)"
}

# A fault in every repeat alike is no difference between them: the CPU adds the scattered shares in turn. On a GPU the same
# faults are the negative control of ci/gpu.sh. Then the clean run once more, as that of a matrix which nobody vouches for.
unnoticed_and_again() {
  local repeat scattered=() same='{c["cell_id"]: c["chain"] for c in v["cells"]}'
  for repeat in 0 1 2; do
    scattered+=(--inject "kind=atomic_add,repeat=$repeat,step=2,tensor=fc1.weight,element=0")
  done
  ends 3 "a drill that nothing notices" run clean scattered --no-report --filter "suite == determinism and workload == mlp and precision == fp32" "${scattered[@]}"
  expect "the outcomes where three processes add in the same order" "['passed']" "$(field scattered '[c["outcome"] for c in v["cells"] if c["reason"] != "deselected"]')"
  expect "the processes that added so" 3 "$(field scattered 'sum("atomic_add" in a["injected"] for c in v["cells"] for a in c["attempts"])')"

  run clean again --no-report --untrusted
  expect "the verdict without the fault" passed "$(field again 'v["word"]')"
  expect "cell ids and digests of two clean runs" "$(field clean "$same")" "$(field again "$same")"
  "$reprobench" --store "$work/store" compare "$work/again" "$work/clean" --json >"$work/documents/comparisons.json"
}

comparisons() {
  local cell
  "$reprobench" --store "$work/store" calibrate "$stack" --model mlp --steps 20 --members 2 --json >"$work/documents/envelope.json"
  # Other threads and vector instructions are correct: what they make of one step is allowed from then on, and said.
  "$reprobench" --store "$work/store" calibrate "$stack" --lockstep --model mlp --steps 20 --batches 16 --json >"$work/documents/lockstep_bounds.json"
  expect "whether correct runs of a stack with other bits are learned from" True \
    "$(in_json documents/lockstep_bounds.json 'v["refused"] == "" and sum(p["differing"] for p in v["pairs"]) > 0')"
  # Which of these makes other bits is the CPU's and its libraries' affair; that one does is asked.
  local setting status
  for setting in threads=2 cpu_isa=default onednn=off mkl_cbwr=compatible; do
    status=0
    "$reprobench" --store "$work/store" compare "$stack" "$stack" --model mlp --steps 20 --knob-a "$setting" \
      --explain --batches 8 --trajectory --members 2 --seeds 2 --keep --json >"$work/documents/comparison.json" || status=$?
    [ "$status" -eq 0 ] || break
  done
  expect "the exit code of a comparison with $setting" 1 "$status"
  compared() { in_json documents/comparison.json "$1"; }
  expect "the judgement of another order of summation by fp64" rounding "$(compared 'v["explanation"]["lockstep"]["word"]')"
  expect "what the bound of pooled errors comes from" "\`calibrate --lockstep\` of $stack by itself" "$(compared 'v["explanation"]["lockstep"]["legitimate_ratio_from"]')"
  expect "the judgement of its trajectory" within "$(compared 'v["trajectory"]["word"]')"
  expect "the operator that sums in another order" True "$(compared 'v["explanation"]["operator"]["measured"]["name"].startswith("aten::")')"

  # The NaN out of finite inputs: the operator that made it is named.
  cell=$(field planted 'planted()[0]["cell_id"]' weight_huge)
  "$reprobench" --store "$work/store" compare "$work/planted:$cell" "$work/clean:$cell" --explain --json >"$work/overflow-documents/comparison.json" || true
  expect_part "the overflow's origin" "out of finite inputs: input 0 in [" "$(in_json overflow-documents/comparison.json 'v["non_finite"]["sentence"]')"
}

# The sides take different operators: each one's subgraph of calls is named, and in fp64 the two make the same.
operators() {
  ends 1 "fused against written-out attention" "$reprobench" --store "$work/store" compare "$stack" "$stack" --model gpt2 --steps 1 \
    --knob-a attention=flash --knob-b attention=written_out --explain --batches 2 --json >"$work/subgraph-documents/comparison.json"
  subgraph() { in_json subgraph-documents/comparison.json "$1"; }
  expect "the calls of the fused side" "aten::scaled_dot_product_attention" \
    "$(subgraph '" ".join(c["name"] for c in v["explanation"]["region"]["measured"]["calls"])')"
  expect "the calls of the other side" "aten::transpose aten::matmul aten::mul aten::masked_fill aten::softmax aten::matmul" \
    "$(subgraph '" ".join(c["name"] for c in v["explanation"]["region"]["expected"]["calls"])')"
  expect "the two in fp64" True \
    "$(subgraph 'v["explanation"]["operator_budget"]["forms_apart_rel"] < 1e-14 < 1e-8 < v["explanation"]["operator_budget"]["distance_rel"]')"
}

# Two ranks: collectives hold, and a fault in one of them turns its cell red in the words of that fault.
collectives() {
  local faults=() wanted=()
  in_rank_1() { plant "$1" "step=3,tensor=$2,element=5,rank=1,seed=$3" "$4" "$5"; } # KIND OPERATION SEED REASON PART_OF_THE_SENTENCE
  run ranks ranks-clean --no-report --untrusted --filter "seed == 1"
  expect "the verdict on two ranks" passed "$(field ranks-clean 'v["word"]')"
  expect "the dimension that was checked" passed "$(field ranks-clean '[d["word"] for d in v["dimensions"] if d["dimension"] == "communication"][0]')"
  in_rank_1 result_wrong all_gather 2 comm.wrong_results "first all_gather of 8B on rank 1: in call 3 element 1 is "
  in_rank_1 result_bit all_reduce 3 comm.call_mismatches "on rank 1: 1 calls with other bits than the first"
  in_rank_1 operation_slow broadcast 4 comm.latency_p50 "rank 1 comes last, 10"
  in_rank_1 rank_killed all_reduce 5 crash "rank 1: SIGKILL that reprobench did not send"
  in_rank_1 rank_stopped all_reduce 6 hang "rank 1: rank 0 waited for it: call "
  in_rank_1 collective_skipped all_reduce 7 worker_error "does call "
  ends 1 "faults in a rank" run ranks ranks-planted --no-report --filter "seed != 1" "${faults[@]}"
  expect_planted ranks-planted
}

"$reprobench" --store "$work/store" stack install "$stack"
"$reprobench" --store "$work/store" stack verify "$stack"
mkdir "$work/documents" "$work/overflow-documents" "$work/subgraph-documents"

# Past `smoke` the runs are about two workloads or one; that the others train is asked once a run.
matrix clean "smoke, determinism" "seed != 1" "$several" "precision == bf16 and workload != mlp" \
  "suite == determinism and workload not in (mlp, gpt2)"
matrix layouts "parallel, resume, convergence" "precision == bf16" "seed not in (1, 2)" "${in_layouts[@]}"
matrix planted "determinism, parallel, resume, convergence" "suite != determinism and seed in (1, 2)" \
  "suite == determinism and (seed != 1 or workload not in (mlp, gpt2))" \
  "precision == bf16 and (workload != mlp or suite != determinism)" "${in_layouts[@]}"

run clean clean
run layouts layouts --no-report
check_clean
ends 1 "planted faults" run planted planted "${faults[@]}"
check_planted
beside comparisons
beside operators
beside collectives
beside unnoticed_and_again
together

# The public package reads the states that a worker wrote, where it is installed.
"$python" - "$work/store" <<'PYTHON'
import pathlib, sys
try:
    import safetensors
except ImportError:
    print("the Python package safetensors is not installed: states are not read by it")
    sys.exit(0)
states = sorted(pathlib.Path(sys.argv[1], "replays").rglob("state-*.safetensors"))
tensors = dict(safetensors.deserialize(states[0].read_bytes()))
assert list(tensors["fc1.weight"]["shape"]) == [128, 784], sorted(tensors)
PYTHON
for documents in "$work/documents" "$work/overflow-documents" "$work/subgraph-documents"; do
  PYTHONDONTWRITEBYTECODE=1 REPROBENCH_SCHEMAS=$(dirname "$reprobench")/../schema "$python" reports/tests/validate_documents.py "$documents"
done

echo "real stack: $stack trains, repeats, a planted ulp is found, and so is every fault of a rank and of going on"
