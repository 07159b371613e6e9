#!/usr/bin/env bash
# From a fresh clone to a verdict: packages, build, the candidate and its reference with their workers, their verdict
# (matrix/smoke.yaml); then the other stacks, the v2.9 matrix, the report.
#
#   ci/quickstart.sh [OPTIONS OF reprobench run]
# Running it again does only what is missing, and then both matrices. The exit code is that of the v2.9 matrix.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

# Only root installs packages beside the compiler: sudo might ask for a password.
[ "$(id -u)" -eq 0 ] && before_build=build || before_build=run
ci/packages.sh "$before_build"
# Over the network while the compiler runs. What fails here is said by `stack install`, which asks again.
mapfile -t first < <(sed -n 's/^  stack: \[\(.*\)\]$/\1/p' matrix/smoke.yaml | tr -d ' ' | tr , '\n')
{ ci/fetch_wheels.sh "${first[@]}" >/dev/null 2>&1 || true; ci/packages.sh run; } &
fetching=$!
cmake --preset release >/dev/null || { echo "quickstart: cmake could not configure the build (above)" >&2; exit 1; }
cmake --build --preset release --target reprobench reprobench-shepherd
wait "$fetching" || true
build/bin/reprobench stack install --matrix matrix/smoke.yaml

# No cell of this matrix is timed, so the other stacks are installed beside it, with what it leaves of the cores.
nice -n 19 build/bin/reprobench stack install --matrix matrix/v2.9.yaml >build/install.log 2>&1 &
installing=$!
build/bin/reprobench run --matrix matrix/smoke.yaml --jobs "$(nproc)" || echo "quickstart: this verdict ends with $?; going on with all stacks" >&2
echo "quickstart: the other stacks are being installed: build/install.log"
wait "$installing" || { tail -n 5 build/install.log >&2; exit 1; }
# As many cells at a time as there are cores; those whose timings count run alone all the same.
exec build/bin/reprobench run --matrix matrix/v2.9.yaml --jobs "$(nproc)" "$@"
