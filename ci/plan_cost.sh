#!/usr/bin/env bash
# What a plan of 100,000 cells costs through the command itself: seconds and peak memory, as a table, as JSON, and of
# `run --dry-run`; then 20,000 rules of `exclude` over an axis of 20,000 values. The workers of installed stacks are asked
# for memory, so it says which of the matrix's stacks are installed: REPROBENCH_STACKS, or those of the default store.
# The first plan asks them, and has no goal; what follows finds their answers kept. Fails where a goal of ci/README.md's
# table is missed.
#
#   ci/plan_cost.sh [--cells N] [REPROBENCH]      default: build/bin/reprobench
#
# With --cells the axes are shorter, and so is what it shows.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

cells=100000
if [ "${1:-}" = --cells ] && [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then cells=$2 && shift 2; fi
[[ $# -le 1 && ${1:-} != -* ]] || { echo "usage: ci/plan_cost.sh [--cells N] [REPROBENCH]" >&2; exit 2; }
reprobench=$(realpath "${1:-build/bin/reprobench}")
stacks=(torch-2.9.0-cu128 torch-2.8.0-cu128 torch-2.1.0-cu121 torch-2.15.0-cu132 debian-torch-1.13.1)
values=$((cells / 5)) # of the axis with a rule a value
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

installed=$("$reprobench" stack list | awk '$2 == "installed" {print $1}' |
  grep -Fx -f <(printf '%s\n' "${stacks[@]}") || true)
echo "installed of ${#stacks[@]} stacks: $(wc -w <<<"$installed") (${installed//$'\n'/, })"

# workloads of `smoke` x 5 stacks x 2 devices x 2 precisions x 2 thread counts x seeds, as many as fit the limit
workloads=$(grep -c "^  - {model:" suites/definitions/smoke.yaml)
cat >"$work/cells.yaml" <<MATRIX
schema: 1
name: plan-cost
suites: [smoke]
axes:
  stack: [$(IFS=, && echo "${stacks[*]}")]
  device: [cpu, sm_90]
  precision: [fp32, bf16]
  threads: [1, 2]
  seed: [$(seq -s ', ' $((cells / (workloads * 40))))]
reference: {stack: torch-2.8.0-cu128}
required: [{device: cpu}]
thresholds:
  throughput.step_time: {max_regression: 5%, vs: reference}
MATRIX

# every seed but the last is excluded, each by a rule of its own
{
  printf 'schema: 1\nname: plan-cost\nsuites: [device_smoke]\naxes:\n  stack: [torch-2.8.0-cu128]\n  seed: [%s]\nexclude:\n' "$(seq -s ', ' "$values")"
  seq -f '  - {seed: %.0f}' $((values - 1))
} >"$work/excludes.yaml"

missed=0
# cost NAME SECONDS MB ARGUMENT...: the goals of one command
cost() {
  local name=$1 goal_s=$2 goal_mb=$3 seconds user_s system_s kilobytes
  /usr/bin/time -f '%e %U %S %M' -o "$work/cost" "$reprobench" "${@:4}" >"$work/out"
  read -r seconds user_s system_s kilobytes <"$work/cost"
  awk -v name="$name" -v s="$seconds" -v cpu_s="$user_s" -v system_s="$system_s" -v mb="$((kilobytes / 1000))" \
    -v goal_s="$goal_s" -v goal_mb="$goal_mb" 'BEGIN {
    missed = goal_s != "inf" && (s > goal_s || mb > goal_mb)
    printf "%-28s %5.2f s, %5.2f of CPU (goal %s)  %4d MB (goal %s)%s\n", name, s, cpu_s + system_s, goal_s, mb, goal_mb,
      missed ? "  MISSED" : ""
    exit missed }' || missed=1
}
cost "$cells cells, first" inf inf plan --matrix "$work/cells.yaml"
cost "$cells cells, table" 2 300 plan --matrix "$work/cells.yaml"
cost "$cells cells, --json" 2 300 plan --matrix "$work/cells.yaml" --json
cost "$cells cells, run --dry-run" 2 300 run --matrix "$work/cells.yaml" --dry-run
cost "$values excludes" 2 300 plan --matrix "$work/excludes.yaml"
exit "$missed"
