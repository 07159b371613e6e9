#!/usr/bin/env bash
# Every document the command line prints and every file of a run directory against the shipped JSON Schemas, and the
# curves of a run against its traces, read by the public package.
#
#   ci/validate_documents.sh build-ci/bin/reprobench
# The runs are made with the fake worker and the fake libnvidia-ml that lie beside the binary.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

reprobench=$(realpath "$1")
fake_worker=$(dirname "$reprobench")/reprobench-fake-worker
python=$(command -v /usr/bin/python3 || command -v python3)
work=$(mktemp -d)
export REPROBENCH_STACKS=$work/stacks # the fake worker stands for stacks that are not installed
trap 'rm -rf "$work"' EXIT

run() {
  "$reprobench" --store "$work/store" run --matrix matrix/smoke.yaml --out "$work/$1" \
    --worker "torch-2.9.0-cu128=$fake_worker --do ok" --worker "torch-2.8.0-cu128=$fake_worker --do ok_other_bits,other_code" || [ $? -eq 1 ]
}
run run
run second
"$reprobench" --store "$work/store" merge "a=$work/run" "b=$work/second" --out "$work/merged" || [ $? -eq 1 ]

# A GPU cell, on a machine that the fake libnvidia-ml plays.
cat >"$work/machine.json" <<'EOF'
{"gpus": [{"uuid": "GPU-a", "name": "NVIDIA H100 80GB HBM3", "sm_clock_mhz": 1980, "clock_events": 4, "temperature_c": 45, "pids": [1]}],
 "commands": [{"at_ms": 50, "gpu": "GPU-a", "xid": 31}]}
EOF
sed 's/device: .*/device: [sm_90]/; /^required/,$d' matrix/smoke.yaml >"$work/gpu.yaml"
REPROBENCH_NVML_LIBRARY=$(dirname "$reprobench")/libreprobench-fake-nvml.so REPROBENCH_FAKE_NVML=$work/machine.json REPROBENCH_LOCK_DIR=$work \
  "$reprobench" --store "$work/store" run --matrix "$work/gpu.yaml" --out "$work/gpu_run" --worker "torch-2.9.0-cu128=$fake_worker --do paced=20" \
  --worker "torch-2.8.0-cu128=$fake_worker --do paced=20" || [ $? -eq 1 ]

# Calls of single operators by two stacks.
"$reprobench" --store "$work/store" run --matrix matrix/operators.yaml --no-report --out "$work/calls" --stack torch-2.9.0-cu128 \
  --stack torch-2.8.0-cu128 --worker "torch-2.9.0-cu128=$fake_worker --do ok" --worker "torch-2.8.0-cu128=$fake_worker --do ok" || [ $? -eq 3 ]

mkdir "$work/documents"
"$reprobench" --store "$work/store" plan --matrix matrix/v2.9.yaml --json >"$work/documents/plan.json"
"$reprobench" --store "$work/store" list metrics --json >"$work/documents/list.json"
"$reprobench" --store "$work/store" describe stack torch-2.9.0-cu128 >"$work/documents/description.json"
"$reprobench" --store "$work/store" stack list --json >"$work/documents/stacks.json"
"$reprobench" --store "$work/store" describe topology --json >"$work/documents/topology.json"
"$reprobench" --store "$work/store" doctor --json >"$work/documents/doctor.json" || [ $? -eq 1 ]
"$reprobench" --store "$work/store" version --json >"$work/documents/version.json"
mkdir -p "$work/root/etc"
echo 'root::1:0:99999:7:::' >"$work/root/etc/shadow"
"$reprobench" --store "$work/store" image inspect "$work/root" --claims docker/claims/pytorch-2.1.0.yaml --json >"$work/documents/inspection.json" || [ $? -eq 1 ]
"$reprobench" --store "$work/store" explain stack "torch=2.9 cuda=11.8 driver=525" --json >"$work/documents/stack_answer.json" || [ $? -eq 1 ]
"$reprobench" lint matrix/lint/testdata/two_devices.json --params 7B --world-size 8 --deepspeed 0.14.2 --json >"$work/documents/lint.json" || [ $? -eq 1 ]
"$reprobench" --store "$work/store" atlas "$work/calls" --json >"$work/documents/atlas.json"
"$reprobench" --store "$work/store" bisect --good torch-2.8.0-cu128 --bad torch-2.9.0-cu128 --call 'relu(f32[4])' --json \
  --worker "torch-2.8.0-cu128=$fake_worker --do bits=1" --worker "torch-2.9.0-cu128=$fake_worker --do bits=2" >"$work/documents/bisect.json"
tail -n +2 "$work"/store/bisects/*.json >"$work/documents/bisect_record.json" # behind its sum
cell=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["cells"][0]["cell_id"])' "$work/run/verdict.json")
"$reprobench" --store "$work/store" explain "$cell" --run "$work/run" --json >"$work/documents/explain.json"
# Cells whose numbers failed a check are never called equal, not to themselves: 3.
compare() {
  local status=0
  "$reprobench" --store "$work/store" compare "$@" --json || status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 1 ] || [ "$status" -eq 3 ]
}
compare "$work/run" "$work/run" >"$work/documents/comparisons.json"
compare "$work/run:$cell" "$work/run:$cell" >"$work/documents/comparison.json"
golden=matrix/contract/testdata
compare "$golden/written_here.safetensors" "$golden/written_by_the_public_package.safetensors" >"$work/documents/snapshot_comparison.json"
"$fake_worker" describe >"$work/documents/capability.json"
REPROBENCH_DOCUMENTS=$work/documents "$(dirname "$reprobench")/cli_test" "[.documents]" >/dev/null

ls "$work"/gpu_run/cells/*/*/telemetry.jsonl >/dev/null
export PYTHONDONTWRITEBYTECODE=1
REPROBENCH_SCHEMAS=$(dirname "$reprobench")/../schema "$python" reports/tests/validate_documents.py "$work/documents" "$work/run" "$work/merged" "$work/gpu_run"
"$python" reports/tests/read_event_files.py "$work/run"
