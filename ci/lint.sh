#!/usr/bin/env bash
# Include directions, pages, formatting, shell scripts and generated Dockerfiles; `ci/lint.sh --tidy` adds clang-tidy. `ci/packages.sh test` installs the tools.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

for tool in clang-format clang-tidy shellcheck; do
  command -v "$tool" >/dev/null || { echo "lint: $tool is missing; run ci/packages.sh test" >&2; exit 1; }
done
ci/layers.sh
python3 ci/pages_check.py
# A knob is named by its member of Settings (matrix/contract/knob.hpp), so that its row is the only place with its text.
if git grep -nE 'knobs(_resolved)?(\.(at|find|count|contains|erase)\(|\[)"' -- 'matrix/*.[ch]pp' 'suites/*.[ch]pp' 'models/*.[ch]pp' ':!*_test.cpp' ':!*_fixture.hpp' ':!suites/worker/ranks/shared_training.hpp' ':!suites/worker/ranks/rank_checkpoints.hpp'; then
  echo "lint: a knob is looked up by its text (above)" >&2
  exit 1
fi
echo "lint: knobs are named by their members of Settings"
mapfile -t sources < <(git ls-files '*.cpp' '*.hpp' '*.cu')
clang-format --dry-run --Werror "${sources[@]}"
echo "lint: formatting is clean"
shellcheck ci/*.sh docker/*.sh .ci/run
echo "lint: shell scripts are clean"
docker/generate.sh --check
echo "lint: Dockerfiles are those of the stacks"
ci/examples_test.sh --rows
echo "lint: the rows of ci/examples find their places"
if [ "${1:-}" = --tidy ]; then
  cmake --preset dev >/dev/null
  # Not by excluding pathspecs: git 2.39 drops every file of a list like this one.
  mapfile -t coordinator < <(git ls-files 'matrix/*.cpp' | grep -vE '(_test|_bench|_fuzz)\.cpp$')
  clang-tidy -p build-dev --quiet "${coordinator[@]}"
fi
