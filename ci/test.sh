#!/usr/bin/env bash
# Everything the tests need, then all tests. The last line is `N passed, N failed, N skipped`.
#
#   ci/test.sh            packages, lint, unit tests, reports, end to end on the fake worker, sanitizers, one real stack
#   ci/test.sh --quick    without sanitizers and without a real stack
set -euo pipefail
cd "$(dirname "$0")/.."

quick=no
[ "${1:-}" = --quick ] && quick=yes

passed=0
failed=0
skipped=0
failures=()

# step NAME COMMAND...: one line when it passes, all of its output when it fails.
step() {
  local name=$1 log start
  shift
  log=$(mktemp)
  start=$SECONDS
  if "$@" >"$log" 2>&1; then
    count "$log" 1 0
    echo "ok      $name  $((SECONDS - start)) s"
  else
    count "$log" 0 1
    failures+=("$name")
    echo "FAILED  $name  $((SECONDS - start)) s"
    tail -n 100 "$log"
  fi
  rm -f "$log"
}

# Adds up what a runner's closing lines say: Catch2, unittest. A step without such a line counts as one.
count() {
  local log=$1 cases failed_cases
  cases=$(sed -nE 's/^All tests passed \([0-9]+ assertions? in ([0-9]+) test cases?\).*/\1/p; s/^test cases: +([0-9]+) \|.*/\1/p; s/^Ran ([0-9]+) tests? in .*/\1/p' "$log" | paste -sd+ | bc)
  failed_cases=$(sed -nE 's/^test cases:.* ([0-9]+) failed.*/\1/p; s/^FAILED \(.*(failures|errors)=([0-9]+).*/\2/p' "$log" | paste -sd+ | bc)
  skipped=$((skipped + $(sed -nE 's/^OK \(skipped=([0-9]+)\)/\1/p' "$log" | paste -sd+ | bc | grep . || echo 0)))
  if [ -z "$cases" ]; then
    passed=$((passed + $2))
    failed=$((failed + $3))
    return
  fi
  # A runner that died counts as a failure even if every case it got to passed.
  if [ "$3" -eq 1 ] && [ "${failed_cases:-0}" -eq 0 ]; then failed_cases=1; fi
  passed=$((passed + cases - ${failed_cases:-0}))
  failed=$((failed + ${failed_cases:-0}))
}

build() { cmake --preset "$1" && cmake --build --preset "$1"; }

python=$(command -v /usr/bin/python3 || command -v python3)
unit_tests=(contract spec plan stats record verdict kernels models provision exec cli)

ci/packages.sh test
step "lint" ci/lint.sh
step "build" build ci
for name in "${unit_tests[@]}"; do
  if [ -x "build-ci/bin/${name}_test" ]; then step "$name" "build-ci/bin/${name}_test"; fi
done
step "reports" env PYTHONDONTWRITEBYTECODE=1 "$python" -m unittest discover -s reports/tests
step "documents against their schemas" ci/validate_documents.sh build-ci/bin/reprobench

if [ "$quick" = no ]; then
  step "build with address and undefined-behaviour sanitizers" build asan
  for name in "${unit_tests[@]}"; do
    if [ -x "build-asan/bin/${name}_test" ]; then step "$name, sanitized" "build-asan/bin/${name}_test"; fi
  done
  step "one real stack, end to end" ci/real_stack_test.sh build-ci/bin/reprobench
fi

for name in "${failures[@]}"; do echo "failed: $name"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
