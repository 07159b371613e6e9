#!/usr/bin/env bash
# Everything the tests need, then all tests. The last line is `N passed, N failed, N skipped`.
#
#   ci/test.sh            packages, lint, reports, unit tests and end to end on the fake worker under sanitizers, one real stack
#   ci/test.sh --quick    without sanitizers and without a real stack
set -euo pipefail
cd "$(dirname "$0")/.."

quick=no
[ "${1:-}" = --quick ] && quick=yes

passed=0
failed=0
skipped=0
failures=()
cores=$(nproc)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# report NAME LOG: one line when it passed, all of its output when it failed.
report() {
  local name=$1 log=$2 status seconds
  read -r status seconds <"$log.end"
  if [ "$status" -eq 0 ]; then
    count "$log" 1 0
    echo "ok      $name  $seconds s"
  else
    count "$log" 0 1
    failures+=("$name")
    echo "FAILED  $name  $seconds s"
    tail -n 200 "$log"
  fi
}

# timed LOG COMMAND...: runs it into LOG and leaves `STATUS SECONDS` in LOG.end.
timed() {
  local log=$1 start=$SECONDS status=0
  shift
  "$@" >"$log" 2>&1 || status=$?
  echo "$status $((SECONDS - start))" >"$log.end"
}

# step NAME COMMAND...: alone on the machine, for what takes all cores or depends on time.
step() {
  local log
  log=$(mktemp -p "$logs")
  timed "$log" "${@:2}"
  report "$1" "$log"
}

# beside NAME COMMAND...: together with the other steps of its group, as many at a time as there are cores. A group ends
# with `together`, which reports its steps in the order they were named. A step that only keeps cores busy is `patient`, so that
# one that waits for processes and has deadlines for them gets a core when it wants one.
group=()
beside() {
  local log
  log=$(mktemp -p "$logs")
  while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do wait -n || true; done
  timed "$log" "${@:2}" &
  group+=("$1" "$log")
}
together() {
  wait
  while [ "${#group[@]}" -gt 0 ]; do
    report "${group[0]}" "${group[1]}"
    group=("${group[@]:2}")
  done
}

patient() {
  renice -n 10 -p "$BASHPID" >/dev/null
  "$@"
}

# Adds up what a runner's closing lines say: Catch2, unittest. A step without such a line counts as one case.
count() {
  local log=$1 step_passed=$2 step_failed=$3 cases bad skips
  read -r cases bad skips < <(awk '
    match($0, /^All tests passed \(.* in [0-9]+ test case/) { split($0, word, " in "); cases += word[2] + 0 }
    /^test cases: / { cases += $3; for (i = 4; i <= NF; ++i) if ($i == "failed") bad += $(i - 1) }
    /^Ran [0-9]+ tests? in / { cases += $2 }
    /^(OK|FAILED) \(/ {
      gsub(/[(),]/, " ")
      for (i = 2; i <= NF; ++i) {
        split($i, pair, "=")
        if (pair[1] == "skipped") skips += pair[2]
        if (pair[1] == "failures" || pair[1] == "errors") bad += pair[2]
      }
    }
    END { print cases + 0, bad + 0, skips + 0 }' "$log")
  if [ "$cases" -eq 0 ]; then
    passed=$((passed + step_passed))
    failed=$((failed + step_failed))
    return
  fi
  # A runner that died counts as a failure even if every case it got to passed.
  if [ "$step_failed" -eq 1 ] && [ "$bad" -eq 0 ]; then bad=1 cases=$((cases + 1)); fi
  passed=$((passed + cases - bad - skips))
  failed=$((failed + bad))
  skipped=$((skipped + skips))
}

# build PRESET [BUILD_PRESET]
build() { cmake --preset "$1" && cmake --build --preset "${2:-$1}"; }

python=$(command -v /usr/bin/python3 || command -v python3)
# unit_tests PRESET: every test program of that preset; one that was not built fails. What each said at its end is counted.
unit_tests() {
  local status=0 said=$logs/$1-tests.xml
  # One more than there are cores: the longest wait for processes.
  ctest --preset "$1" --parallel $((cores + 1)) --output-junit "$said" --test-output-size-passed 1000000 \
    --test-output-size-failed 10000000 >"$said.log" 2>&1 || status=$?
  cat "$said"
  sed 's/^/  /' "$said.log"
  return "$status"
}

ci/packages.sh test
step "lint" ci/lint.sh
if [ "$quick" = yes ]; then
  step "build" build ci
else
  # From paths that a copy of the tree has, too: ci/examples_test.sh finds it in the compiler's cache.
  CCACHE_BASEDIR=$PWD step "optimised build" build ci optimised
fi
# Without the public package its tests are skipped, and say so.
"$python" -m pip install --quiet --root-user-action=ignore --no-deps --require-hashes --upgrade --target build-ci/python -r ci/test-requirements.txt ||
  echo "test: the Python package safetensors could not be installed" >&2
export PYTHONPATH=$PWD/build-ci/python
beside "reports" env PYTHONDONTWRITEBYTECODE=1 "$python" -m unittest discover -s reports/tests
beside "documents against their schemas" ci/validate_documents.sh build-ci/bin/reprobench
beside "kernels for every architecture" ci/kernel_test.sh build-ci
if [ "$quick" = no ]; then beside "tests of the optimised build" unit_tests optimised; fi
together

if [ "$quick" = yes ]; then
  step "unit tests" unit_tests ci
else
  step "build with address and undefined-behaviour sanitizers" build asan
  step "unit tests, sanitized" unit_tests asan
  beside "one real stack, end to end" ci/real_stack_test.sh build-ci/bin/reprobench
  beside "faults planted on that stack" patient ci/selftest_test.sh build-ci/bin/reprobench
  beside "fuzzed parsers" patient ci/fuzz.sh build-asan 20 1
  beside "build with the thread sanitizer" patient build tsan
  together
  step "launching, telemetry and loading under the thread sanitizer" unit_tests tsan
  beside "the worker on that stack" ci/worker_test.sh build-ci/bin/reprobench
  beside "a PyTorch that is there, adopted" ci/adopt_test.sh build-ci/bin/reprobench
  beside "a runner's image" ci/image_test.sh ci
  together
  beside "one of everything, added" ci/examples_test.sh
  beside "the worker with CUDA" ci/cuda_worker_test.sh build-ci/bin/reprobench
  together
fi

for name in "${failures[@]}"; do echo "failed: $name"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
