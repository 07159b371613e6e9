#!/usr/bin/env bash
# Builds the worker's unit tests against one installed stack and runs them.
#
#   ci/worker_test.sh build-ci/bin/reprobench [STACK]
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

reprobench=$(realpath "$1")
stack=${2:-torch-2.9.0-cu128}
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
build=build-ci/worker-$stack

"$reprobench" stack install "$stack" >/dev/null
folder=$(find "$REPROBENCH_STACKS" -maxdepth 1 -type d -name "$stack-*" -print -quit)
libraries=$folder/site/torch/lib
for part in "$folder"/site/nvidia/*/lib; do libraries="$libraries;$part"; done
abi=1
case $stack in torch-2.1.0-*) abi=0 ;; esac # before 2.3 wheels kept the old C++ ABI

cmake -S suites/worker -B "$build" -G Ninja -DREPROBENCH_BUILD_TESTS=ON \
  "-DREPROBENCH_TORCH_INCLUDE_DIRS=$folder/site/torch/include;$folder/site/torch/include/torch/csrc/api/include" \
  "-DREPROBENCH_TORCH_LIBRARY_DIRS=$libraries" "-DREPROBENCH_CXX11_ABI=$abi" >/dev/null
cmake --build "$build" --target worker_test
"$build/bin/worker_test"
