#!/usr/bin/env bash
# The main job on one real stack: install, train, judge; a weight moved by one unit in the last place must be found and named, and
# without it the same cell must be green again.
#
#   ci/real_stack_test.sh build-ci/bin/reprobench
# $REPROBENCH_STACKS keeps the installed stack between runs; otherwise it lies in the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."

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
  - {workload: gpt2, precision: bf16}
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

run "$work/again"
expect "the verdict without the fault" passed "$(field "$work/again" 'v["word"]')"
same='[(c["cell_id"], c["chain"]) for c in v["cells"]]'
expect "cell ids and digests of two clean runs" "$(field "$work/clean" "$same")" "$(field "$work/again" "$same")"
mkdir "$work/documents"
"$reprobench" --store "$work/store" selftest --stack "$stack" --placements 1 --clean 2 --batches 8 --json >"$work/documents/selftest.json" || {
  "$python" -c 'import json, sys
for row in json.load(open(sys.argv[1]))["rows"]: print(row["workload"], row["fault"], row["problem"] or "ok")' "$work/documents/selftest.json" >&2
  exit 1
}
status=0
"$reprobench" --store "$work/store" compare "$stack" "$stack" --model gpt2 --steps 3 --knob-a threads=2 --explain --json \
  >"$work/documents/comparison.json" || status=$?
case $status in 0 | 1) ;; *) echo "real stack: compare --explain ended with $status" >&2; exit 1 ;; esac
PYTHONDONTWRITEBYTECODE=1 "$python" reports/tests/validate_documents.py "$work/documents"

echo "real stack: $stack trains, repeats, a planted ulp is found, and so is every fault of the selftest"
