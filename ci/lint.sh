#!/usr/bin/env bash
# Include directions always; formatting, shell and clang-tidy where their tools are installed. `ci/lint.sh --tidy` adds clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/layers.sh
mapfile -t sources < <(git ls-files '*.cpp' '*.hpp' '*.cu')
if command -v clang-format >/dev/null; then
  clang-format --dry-run --Werror "${sources[@]}"
  echo "lint: formatting is clean"
fi
if command -v shellcheck >/dev/null; then
  shellcheck ci/*.sh .ci/run
  echo "lint: shell scripts are clean"
fi
if [ "${1:-}" = --tidy ]; then
  cmake --preset dev >/dev/null
  mapfile -t coordinator < <(git ls-files 'matrix/*.cpp' ':!*_test.cpp' ':!*_bench.cpp' ':!*_fuzz.cpp')
  clang-tidy -p build-dev --quiet "${coordinator[@]}"
fi
