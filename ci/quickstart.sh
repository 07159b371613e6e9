#!/usr/bin/env bash
# From a fresh clone to a verdict: packages, build, stacks and their workers, the v2.9 matrix, the report.
#
#   ci/quickstart.sh [OPTIONS OF reprobench run]
# Running it again does only what is missing, and then the matrix.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/packages.sh run
cmake --preset release >/dev/null || { echo "quickstart: cmake could not configure the build (above)" >&2; exit 1; }
cmake --build --preset release --target reprobench reprobench-shepherd
build/bin/reprobench stack install --matrix matrix/v2.9.yaml
# As many cells at a time as there are cores; those whose timings count run alone all the same.
exec build/bin/reprobench run --matrix matrix/v2.9.yaml --jobs "$(nproc)" "$@"
