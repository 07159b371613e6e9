#!/usr/bin/env bash
# The main job on one real stack: install, train, judge; a weight moved by one unit in the last place must be found and named, and
# without it the same cell must be green again. The same of collectives and trainings on two ranks, of a training that is
# stopped and gone on with, and of one that learns too little or too fast.
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

cat >"$work/matrix.yaml" <<YAML
schema: 1
name: real-stack
suites: [smoke, determinism]
axes:
  stack: [$stack]
  device: [cpu]
  precision: [fp32, bf16]
exclude:
  - {where: "workload != mlp and precision == bf16"}
  # The runs below are about two workloads; that the others train is asked once a run.
  - {where: "suite == determinism and workload not in (mlp, gpt2)"}
reference: {stack: $stack}
YAML

run() { "$reprobench" --store "$work/store" run --matrix "$work/matrix.yaml" --out "$1" "${@:2}"; }
expect() { # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] || { echo "real stack: $1 is \`$3\`, expected \`$2\`" >&2; exit 1; }
}
field() { "$python" -c 'import json, sys; print(eval(sys.argv[2], {"v": json.load(open(sys.argv[1]))}))' "$1/verdict.json" "$2"; }

"$reprobench" --store "$work/store" stack install "$stack"
"$reprobench" --store "$work/store" stack verify "$stack"

run "$work/clean"
expect "the clean run's verdict" passed "$(field "$work/clean" 'v["word"]')"

status=0
run "$work/planted" --inject "kind=weight_ulp,step=20,tensor=fc1.weight,element=4711,repeat=1,precision=fp32,suite=determinism,workload=mlp" || status=$?
expect "the exit code with a planted fault" 1 "$status"
expect "the number of cells that fail" 1 "$(field "$work/planted" 'v["totals"]["failed"]')"
divergence='[k["divergence"] for c in v["cells"] for k in c["checks"] if k["status"] == "failed" and k["divergence"]][0]'
expect "the step that was named" 20 "$(field "$work/planted" "${divergence}[\"step\"]")"
expect "the tensor that was named" fc1.weight "$(field "$work/planted" "${divergence}[\"tensor\"]")"

# A fault in every repeat alike is no difference between them: the CPU adds the scattered shares in turn. On a GPU the same
# faults are the negative control of ci/gpu.sh.
scattered=()
for repeat in 0 1 2; do
  scattered+=(--inject "kind=atomic_add,repeat=$repeat,step=2,tensor=fc1.weight,element=0,precision=fp32,suite=determinism,workload=mlp")
done
status=0
run "$work/scattered" "${scattered[@]}" || status=$?
expect "the exit code of a drill that nothing notices" 3 "$status"
expect "the cells that fail where three processes add in the same order" 0 "$(field "$work/scattered" 'v["totals"]["failed"]')"
expect "the cells that pass there" "$(field "$work/clean" 'v["totals"]["passed"]')" "$(field "$work/scattered" 'v["totals"]["passed"]')"

run "$work/again"
expect "the verdict without the fault" passed "$(field "$work/again" 'v["word"]')"
same='[(c["cell_id"], c["chain"]) for c in v["cells"]]'
expect "cell ids and digests of two clean runs" "$(field "$work/clean" "$same")" "$(field "$work/again" "$same")"
mkdir "$work/documents" "$work/overflow-documents" "$work/stretch-documents"
"$reprobench" --store "$work/store" compare "$work/again" "$work/clean" --json >"$work/documents/comparisons.json"

"$reprobench" --store "$work/store" calibrate "$stack" --model mlp --steps 20 --members 2 --json >"$work/documents/envelope.json"
# Other threads and vector instructions are correct: what they make of one step is allowed from then on, and said.
"$reprobench" --store "$work/store" calibrate "$stack" --lockstep --model mlp --steps 20 --batches 16 --json >"$work/documents/lockstep_bounds.json"
bounds() { "$python" -c 'import json, sys; print(eval(sys.argv[2], {"v": json.load(open(sys.argv[1]))}))' "$work/documents/lockstep_bounds.json" "$1"; }
expect "whether correct runs of a stack with other bits are learned from" True \
  "$(bounds 'v["refused"] == "" and sum(p["differing"] for p in v["pairs"]) > 0')"
status=0
"$reprobench" --store "$work/store" compare "$stack" "$stack" --model mlp --steps 20 --knob-a threads=2 --explain --batches 8 \
  --trajectory --members 2 --seeds 2 --keep --json >"$work/documents/comparison.json" || status=$?
expect "the exit code of a comparison of thread counts" 1 "$status"
compared() { "$python" -c 'import json, sys; print(eval(sys.argv[2], {"v": json.load(open(sys.argv[1]))}))' "$work/documents/comparison.json" "$1"; }
expect "the judgement of another order of summation by fp64" rounding "$(compared 'v["explanation"]["lockstep"]["word"]')"
expect "what the bound of pooled errors comes from" "\`calibrate --lockstep\` of $stack by itself" "$(compared 'v["explanation"]["lockstep"]["legitimate_ratio_from"]')"
expect "the judgement of its trajectory" within "$(compared 'v["trajectory"]["word"]')"
expect "the operator that sums in another order" True "$(compared '"mm" in v["explanation"]["operator"]["measured"]["name"]')"

# The sides take different operators: each one's stretch of calls is named, and in fp64 the two make the same.
status=0
"$reprobench" --store "$work/store" compare "$stack" "$stack" --model gpt2 --steps 1 --knob-a attention=flash --knob-b attention=written_out \
  --explain --batches 2 --json >"$work/stretch-documents/comparison.json" || status=$?
expect "the exit code of fused against written-out attention" 1 "$status"
stretch() { "$python" -c 'import json, sys; e = json.load(open(sys.argv[1]))["explanation"]; print(eval(sys.argv[2]))' "$work/stretch-documents/comparison.json" "$1"; }
expect "the calls of the fused side" "aten::scaled_dot_product_attention" "$(stretch '" ".join(c["name"] for c in e["region"]["measured"]["calls"])')"
expect "the calls of the other side" "aten::transpose aten::matmul aten::mul aten::masked_fill aten::softmax aten::matmul" \
  "$(stretch '" ".join(c["name"] for c in e["region"]["expected"]["calls"])')"
expect "the two in fp64" True "$(stretch 'e["operator_budget"]["forms_apart_rel"] < 1e-14 < 1e-8 < e["operator_budget"]["distance_rel"]')"

# A NaN out of finite inputs: the operator that made it is named.
status=0
"$reprobench" --store "$work/store" run --matrix "$work/matrix.yaml" --out "$work/overflow" --no-report \
  --inject "kind=weight_huge,step=3,tensor=h.0.ln_1.weight,element=5,precision=fp32,suite=determinism,workload=gpt2" >/dev/null || status=$?
expect "the exit code with an overflow" 1 "$status"
cell=$(field "$work/overflow" '[c["cell_id"] for c in v["cells"] if c["outcome"] == "failed"][0]')
"$reprobench" --store "$work/store" compare "$work/overflow:$cell" "$work/clean:$cell" --explain --json >"$work/overflow-documents/comparison.json" || true
origin=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["non_finite"]["sentence"])' "$work/overflow-documents/comparison.json")
case $origin in *"out of finite inputs: input 0 in ["*) ;; *) echo "real stack: the overflow's origin is \`$origin\`" >&2; exit 1 ;; esac

# Two ranks: collectives hold, and a fault in one of them turns the cell red in the words of that fault.
cat >"$work/ranks.yaml" <<YAML
schema: 1
name: ranks
suites: [comm]
axes: {stack: [$stack], device: [cpu]}
repeat: 2
limits: {heartbeat_gap: 8s, grace: 1s}
YAML
ranks() { "$reprobench" --store "$work/store" run --matrix "$work/ranks.yaml" --out "$1" --no-report "${@:2}" >/dev/null; }
in_rank_1() { # KIND OPERATION EXPECTED_WORD PART_OF_THE_SENTENCE
  local status=0 sentence
  ranks "$work/ranks-$1" --inject "kind=$1,step=3,tensor=$2,element=5,rank=1" || status=$?
  expect "the exit code with $1 in a rank" 1 "$status"
  expect "the reason of $1" "$3" "$(field "$work/ranks-$1" 'v["cells"][0]["reason"]')"
  sentence=$(field "$work/ranks-$1" 'v["cells"][0]["sentence"]')
  case $sentence in *"$4"*) ;; *) echo "real stack: with $1 the cell says \`$sentence\`, not \`$4\`" >&2; exit 1 ;; esac
}
ranks "$work/ranks-clean"
expect "the verdict on two ranks" passed "$(field "$work/ranks-clean" 'v["word"]')"
expect "the dimension that was checked" passed "$(field "$work/ranks-clean" '[d["word"] for d in v["dimensions"] if d["dimension"] == "communication"][0]')"
in_rank_1 result_wrong all_gather comm.wrong_results "first all_gather of 8B on rank 1: in call 3 element 1 is "
in_rank_1 result_bit all_reduce comm.call_mismatches "on rank 1: 1 calls with other bits than the first"
in_rank_1 operation_slow broadcast comm.latency_p50 "rank 1 comes last, 10"
in_rank_1 rank_killed all_reduce crash "rank 1: SIGKILL that reprobench did not send"
in_rank_1 rank_stopped all_reduce hang "rank 1: rank 0 waited for it: call "
in_rank_1 collective_skipped all_reduce worker_error "does call "

# Two ranks train what one rank trains alone; a rank that does not is named, by its own tensor or by what it sent.
cat >"$work/parallel.yaml" <<YAML
schema: 1
name: parallel
suites: [parallel]
axes: {stack: [$stack], device: [cpu], world_size: [1, 2], accumulate: [2, 1], zero_stage: [0, 2]}
zip: [[world_size, accumulate]]
exclude: [{where: "workload != mlp or (world_size == 1 and zero_stage != 0)"}]
YAML
layouts() { "$reprobench" --store "$work/store" run --matrix "$work/parallel.yaml" --out "$1" --no-report "${@:2}" >/dev/null; }
failed='[k["sentence"] for c in v["cells"] for k in c["checks"] if k["metric"] == sys.argv[2] and k["status"] == "failed"]'
said() { "$python" -c "import json, sys; v = json.load(open(sys.argv[1])); print(*$failed)" "$1/verdict.json" "$2"; }
expect_said() { # WHAT FOLDER METRIC PART_OF_THE_SENTENCE
  local words
  words=$(said "$2" "$3")
  case $words in *"$4"*) ;; *) echo "real stack: with $1 $3 says \`$words\`, not \`$4\`" >&2; exit 1 ;; esac
}
layouts "$work/layouts"
expect "the verdict on layouts" passed "$(field "$work/layouts" 'v["word"]')"
expect "the checks between ranks and layouts" 4 "$(field "$work/layouts" 'sum(k["metric"] in ("numerics.rank_mismatches", "numerics.layout_mismatches") and k["status"] == "passed" for c in v["cells"] for k in c["checks"])')"
in_training() { # KIND METRIC PART_OF_THE_SENTENCE [ZERO_STAGE]
  local status=0
  layouts "$work/layouts-$1" --inject "kind=$1,step=4,tensor=fc1.weight,element=60000,rank=1,world_size=2,zero_stage=${4:-0}" || status=$?
  expect "the exit code with $1 in a training rank" 1 "$status"
  expect_said "$1" "$work/layouts-$1" "$2" "$3"
}
in_training weight_ulp numerics.rank_mismatches "rank 1 differs from rank 0 in 17 of 20 steps and the state after them; first at step 4 in fc1.weight (parameter)"
in_training wrong_batch numerics.layout_mismatches "first on rank 1; first at step 4 in input#1 (input)"
# A shard of the optimizer's state, which no other rank has: both hold some of this tensor.
in_training moment_ulp numerics.layout_mismatches "first in what ranks 0, 1 hold of it together; first at step 4 in fc1.weight.exp_avg (optimizer_state)" 2

# The same micro-batches on replicas of one process; one that is left behind is named, and one that is left out of a sum is seen.
cat >"$work/replicas.yaml" <<YAML
schema: 1
name: replicas
suites: [parallel]
axes: {stack: [$stack], device: [cpu], replicas: [1, 2], accumulate: [2, 1]}
zip: [[replicas, accumulate]]
exclude: [{where: "workload != mlp"}]
YAML
replicas() { "$reprobench" --store "$work/store" run --matrix "$work/replicas.yaml" --out "$1" --no-report "${@:2}" >/dev/null; }
replicas "$work/replicas"
expect "the verdict on replicas" passed "$(field "$work/replicas" 'v["word"]')"
expect "the checks of replicas" 2 "$(field "$work/replicas" 'sum(k["metric"] in ("numerics.replica_mismatches", "numerics.layout_mismatches") and k["status"] == "passed" for c in v["cells"] for k in c["checks"])')"
in_replica() { # KIND METRIC PART_OF_THE_SENTENCE
  local status=0
  replicas "$work/replicas-$1" --inject "kind=$1,step=4,replicas=2" || status=$?
  expect "the exit code with $1" 1 "$status"
  expect_said "$1" "$work/replicas-$1" "$2" "$3"
}
in_replica replica_stale numerics.replica_mismatches "replica 1 begins 1 of 20 steps with other weights than replica 0; first at step 5 in fc1.weight@1 (parameter)"
in_replica replica_gradient_lost numerics.layout_mismatches "first at step 4 in fc1.weight (parameter_gradient)"

# Stopped and gone on with in another process, a training has the bits of one that never was; what is not put back is named.
cat >"$work/resume.yaml" <<YAML
schema: 1
name: resume
suites: [resume]
axes: {stack: [$stack], device: [cpu]}
exclude: [{where: "workload not in (mlp, resnet)"}]
YAML
resume() { "$reprobench" --store "$work/store" run --matrix "$work/resume.yaml" --out "$1" --no-report "${@:2}" >/dev/null; }
resume "$work/resume"
expect "the verdict on going on" passed "$(field "$work/resume" 'v["word"]')"
expect "the checks of going on" 2 "$(field "$work/resume" 'sum("steps in two processes have the bits of" in k["sentence"] for c in v["cells"] for k in c["checks"])')"
going_on() { # KIND WORKLOAD STEP PART_OF_THE_SENTENCE
  local status=0
  resume "$work/resume-$1" --workload "$2" --inject "kind=$1,step=$3" || status=$?
  expect "the exit code with $1" 1 "$status"
  expect_said "$1" "$work/resume-$1" numerics.resume_mismatches "$4"
}
going_on resume_from_step_0 mlp 9 "first at step 9 in input (input)"
going_on resume_without_optimizer_state mlp 9 "first at step 9 in fc1.weight.exp_avg (optimizer_state)"
going_on resume_without_data_position mlp 9 "first at step 9 in input (input)"
going_on resume_without_buffers resnet 5 "first at step 5 in bn1.running_mean (buffer)"

# A training learns, from two seeds, or leaves the band that its loss has to end in: on either side.
cat >"$work/learning.yaml" <<YAML
schema: 1
name: learning
suites: [convergence]
axes: {stack: [$stack], device: [cpu], seed: [1, 2]}
exclude: [{where: "workload != mlp"}]
YAML
learning() { "$reprobench" --store "$work/store" run --matrix "$work/learning.yaml" --out "$1" --no-report "${@:2}" >/dev/null; }
learning "$work/learning"
expect "the verdict on learning" passed "$(field "$work/learning" 'v["word"]')"
expect "the seeds that train what no other does" 2 "$(field "$work/learning" 'sum(k["metric"] == "numerics.alike_seeds" and k["status"] == "passed" for c in v["cells"] for k in c["checks"])')"
not_learning() { # KIND SIDE
  local status=0
  learning "$work/learning-$1" --inject "kind=$1,step=1,tensor=fc1.weight,element=0,seed=2" || status=$?
  expect "the exit code with $1" 1 "$status"
  expect "the cells that fail with $1" 1 "$(field "$work/learning-$1" 'v["totals"]["failed"]')"
  expect_said "$1" "$work/learning-$1" numerics.end_loss " loss is $2 "
}
not_learning updates_stop above
not_learning update_halved above
not_learning targets_shifted above
not_learning batch_stuck below

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
for documents in "$work/documents" "$work/overflow-documents" "$work/stretch-documents"; do
  PYTHONDONTWRITEBYTECODE=1 "$python" reports/tests/validate_documents.py "$documents"
done

echo "real stack: $stack trains, repeats, a planted ulp is found, and so is every fault of a rank and of going on"
