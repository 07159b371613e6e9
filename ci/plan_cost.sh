#!/usr/bin/env bash
# What a plan of 100,000 cells costs through the command itself: seconds and peak memory, as a table, as JSON, and of
# `run --dry-run`; then 20,000 rules of `exclude` over an axis of 20,000 values. Fails where a goal of ci/README.md's table
# is missed.
#
#   ci/plan_cost.sh [REPROBENCH]      default: build/bin/reprobench
set -euo pipefail
cd "$(dirname "$0")/.."

reprobench=$(realpath "${1:-build/bin/reprobench}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# workloads of `smoke` x 5 stacks x 2 devices x 2 precisions x 2 thread counts x seeds, as many as fit the limit
workloads=$(grep -c "^  - {model:" suites/definitions/smoke.yaml)
cat >"$work/cells.yaml" <<MATRIX
schema: 1
name: plan-cost
suites: [smoke]
axes:
  stack: [torch-2.9.0-cu128, torch-2.8.0-cu128, torch-2.1.0-cu121, torch-2.15.0-cu132, debian-torch-1.13.1]
  device: [cpu, sm_90]
  precision: [fp32, bf16]
  threads: [1, 2]
  seed: [$(seq -s ', ' $((100000 / (workloads * 40))))]
reference: {stack: torch-2.8.0-cu128}
required: [{device: cpu}]
thresholds:
  throughput.step_time: {max_regression: 5%, vs: reference}
MATRIX

# every seed but the last is excluded, each by a rule of its own
{
  printf 'schema: 1\nname: plan-cost\nsuites: [device_smoke]\naxes:\n  stack: [torch-2.8.0-cu128]\n  seed: [%s]\nexclude:\n' "$(seq -s ', ' 20000)"
  seq -f '  - {seed: %.0f}' 19999
} >"$work/excludes.yaml"

missed=0
# cost NAME SECONDS MB ARGUMENT...: the goals of one command
cost() {
  local name=$1 goal_s=$2 goal_mb=$3 seconds user_s system_s kilobytes
  /usr/bin/time -f '%e %U %S %M' -o "$work/cost" "$reprobench" "${@:4}" >"$work/out"
  read -r seconds user_s system_s kilobytes <"$work/cost"
  awk -v name="$name" -v s="$seconds" -v cpu_s="$user_s" -v system_s="$system_s" -v mb="$((kilobytes / 1000))" \
    -v goal_s="$goal_s" -v goal_mb="$goal_mb" 'BEGIN {
    missed = s > goal_s || mb > goal_mb
    printf "%-28s %5.2f s, %5.2f of CPU (goal %s)  %4d MB (goal %s)%s\n", name, s, cpu_s + system_s, goal_s, mb, goal_mb,
      missed ? "  MISSED" : ""
    exit missed }' || missed=1
}
cost "100,000 cells, table" 2 300 plan --matrix "$work/cells.yaml"
cost "100,000 cells, --json" 3 300 plan --matrix "$work/cells.yaml" --json
cost "100,000 cells, run --dry-run" 2 300 run --matrix "$work/cells.yaml" --dry-run
cost "20,000 excludes" 2 300 plan --matrix "$work/excludes.yaml"
exit "$missed"
