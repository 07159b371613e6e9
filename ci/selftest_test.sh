#!/usr/bin/env bash
# Faults planted on one real stack, each on the first workload that can have it: all are found, placed, and called what they are, and
# clean runs are left alone. The document about it is as its schema says.
#
#   ci/selftest_test.sh build-ci/bin/reprobench
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

"$reprobench" --store "$work/store" stack install "$stack"
mkdir "$work/documents"
status=0
"$reprobench" --store "$work/store" selftest --stack "$stack" --once --placements 1 --clean 2 --batches 8 --json \
  >"$work/documents/selftest.json" || status=$?
PYTHONDONTWRITEBYTECODE=1 REPROBENCH_SCHEMAS=$(dirname "$reprobench")/../schema "$python" reports/tests/validate_documents.py "$work/documents"
"$python" -c 'import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
rows.sort(key=lambda row: row["problem"] != "")  # what failed is read last
for row in rows: print(row["workload"], row["fault"], row["problem"] or "ok")
planted = {row["fault"] for row in rows} - {"nothing"}
if not {"weight_ulp", "attention_fused", "adam_written_out"} <= planted: sys.exit("selftest: rows are missing")
' "$work/documents/selftest.json"
[ "$status" -eq 0 ]
