#!/usr/bin/env bash
# Everything the tests need, then the tests. The last line is `N passed, N failed, N skipped`.
#
#   ci/test.sh            what every change passes: lint, reports, unit tests, most of them under sanitizers, real stacks, images
#   ci/test.sh --all      and what takes as long again and seldom fails alone: for a job of each night, and before a release
#   ci/test.sh --quick    without sanitizers and without a real stack
#
# ci/README.md has what each step holds, and which of these runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh
. ci/steps.sh

quick=no all=no
case "${1:-}" in
  '') ;;
  --quick) quick=yes ;;
  --all) all=yes ;;
  *)
    echo "test: \`$1\` is no option; there are --all and --quick" >&2
    builtin exit 2 # the trap would speak after it
    ;;
esac

# build PRESET [BUILD_PRESET]: a warning fails it too, as what workers link is compiled without -Werror (ci/cmake/Toolchain.cmake).
build() {
  local log=build-$1/build.log
  cmake --preset "$1" && cmake --build --preset "${2:-$1}" 2>&1 | tee "$log" && ! grep -m 1 ' warning: ' "$log"
}

# unit_tests PRESET: every test program of that preset; one that was not built fails. One more at a time than there are cores: the
# longest wait for processes.
unit_tests() { counted_ctest --preset "$1" --parallel $((cores + 1)); }

ci/cpu_classes.sh --list | sed -n 1p
ci/packages.sh test
begin_steps "$PWD/build-ci/logs"
if [ "$quick" = no ]; then early "wheels fetched" ci/fetch_wheels.sh torch-2.9.0-cu128 torch-2.11.0-cu130+gpu; fi
if [ "$quick" = no ]; then early "root of a runner's image" patient ci/image_test.sh --root; fi
beside "lint" ci/lint.sh
if [ "$quick" = yes ]; then
  beside "build" build ci
else
  # From paths that a copy of the tree has, too: ci/examples_test.sh finds it in the compiler's cache.
  CCACHE_BASEDIR=$PWD beside "optimised build" build ci optimised
fi
together
# Without the public package its tests are skipped, and say so.
"$step_python" -m pip install --quiet --root-user-action=ignore --no-deps --require-hashes --upgrade --target build-ci/python -r ci/test-requirements.txt ||
  echo "test: the Python package safetensors could not be installed" >&2
export PYTHONPATH=$PWD/build-ci/python REPROBENCH_SCHEMAS=$PWD/build-ci/schema
# OpenMP threads that wait would spin, and take cores from the steps beside. Workers of a run have it from the coordinator.
export OMP_WAIT_POLICY=passive
beside "reports" env PYTHONDONTWRITEBYTECODE=1 "$step_python" -m unittest discover -s reports/tests
beside "a GPU runner's job, played" ci/gpu_test.sh
beside "failures can be read" ci/steps_test.sh build-ci
beside "documents against their schemas" ci/validate_documents.sh build-ci/bin/reprobench
beside "kernels for every architecture" ci/kernel_test.sh build-ci
if [ "$quick" = no ]; then
  beside "tests of the optimised build" unit_tests optimised
  if [ "$all" = yes ]; then beside "sources by Clang" patient ci/clang_check.sh build-ci; fi
fi
together

if [ "$quick" = yes ]; then
  step "unit tests" unit_tests ci
else
  sanitized=asan
  if [ "$all" = yes ]; then sanitized=asan-all; fi
  step "build with address and undefined-behaviour sanitizers" build asan "$sanitized"
  # The longest first: a group ends when its last step does.
  beside "unit tests, sanitized" unit_tests "$sanitized"
  # What has no thread is compiled as in the optimised build, and comes from the cache.
  if [ "$all" = yes ]; then CCACHE_BASEDIR=$PWD beside "build with the thread sanitizer" patient build tsan; fi
  arrived "wheels fetched"
  beside "one real stack, end to end" ci/real_stack_test.sh build-ci/bin/reprobench
  beside "faults planted on that stack" patient ci/selftest_test.sh build-ci/bin/reprobench
  beside "fuzzed parsers" patient ci/fuzz.sh build-asan 6 1
  together
  arrived "root of a runner's image"
  beside "tests of the worker, built" ci/worker_test.sh --build build-ci/bin/reprobench
  if [ "$all" = yes ]; then beside "a PyTorch that is there, adopted" ci/adopt_test.sh build-ci/bin/reprobench; fi
  after "tests of the worker, built"
  beside "the worker on that stack" ci/worker_test.sh build-ci/bin/reprobench
  if [ "$all" = yes ]; then
    beside "launching, telemetry and loading under the thread sanitizer" unit_tests tsan
    beside "one of everything, added" ci/examples_test.sh
  fi
  beside "the worker with CUDA" ci/cuda_worker_test.sh build-ci/bin/reprobench
  # A CPU that has nothing wider computes as AVX2 in the other steps; what is left is MKL as on Intel's CPUs.
  if [ "$all" = yes ] || grep -qw avx512f /proc/cpuinfo; then
    beside "what computes, as AVX2 alone" ci/cpu_classes.sh avx2
  fi
  after "the worker with CUDA" # which installed the second stack
  beside "two images compared from inside" ci/qualify_test.sh build-ci/bin/reprobench
  beside "scripts that run by hand" ci/scripts_test.sh build-ci
  beside "a runner's image" ci/image_test.sh ci
  beside "images inspected" ci/inspect_test.sh build-ci/bin/reprobench
  if [ "$all" = yes ]; then beside "what computes, as AVX-512 without bf16" ci/cpu_classes.sh avx512; fi
  together
fi

# Not by `set -e`, whose words would be the last line.
end_steps || builtin exit 1
