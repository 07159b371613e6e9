#!/usr/bin/env bash
# Includes go one way; this table is where that is written down. Each layer may include itself and the layers named here;
# anything else is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

allowed() {
  case "$1" in
    kernels) echo "kernels" ;;
    models) echo "models kernels matrix/contract" ;;
    matrix/base) echo "matrix/base" ;;
    matrix/contract) echo "matrix/base matrix/contract" ;;
    matrix/orders) echo "matrix/orders matrix/base matrix/contract kernels" ;;
    matrix/spec) echo "matrix/spec matrix/base matrix/contract" ;;
    matrix/host) echo "matrix/host matrix/base matrix/contract" ;;
    matrix/plan) echo "matrix/plan matrix/base matrix/contract matrix/spec" ;;
    matrix/lint) echo "matrix/lint matrix/base matrix/contract matrix/spec matrix/plan" ;;
    matrix/record) echo "matrix/record matrix/base matrix/contract matrix/plan kernels" ;;
    matrix/evidence) echo "matrix/evidence matrix/base matrix/contract matrix/plan matrix/record kernels" ;;
    matrix/stats) echo "matrix/stats" ;;
    matrix/exec) echo "matrix/exec matrix/base matrix/contract matrix/host matrix/plan matrix/record matrix/evidence matrix/stats kernels" ;;
    matrix/provision) echo "matrix/provision matrix/base matrix/contract matrix/spec matrix/record matrix/exec" ;;
    matrix/image) echo "matrix/image matrix/base matrix/contract matrix/spec matrix/plan matrix/provision" ;;
    matrix/numerics) echo "matrix/numerics matrix/base matrix/contract matrix/orders matrix/record matrix/evidence matrix/stats kernels" ;;
    matrix/verdict) echo "matrix/verdict matrix/base matrix/contract matrix/orders matrix/spec matrix/record matrix/evidence matrix/stats matrix/numerics kernels" ;;
    matrix/inquiry) echo "matrix/inquiry matrix/base matrix/contract matrix/orders matrix/spec matrix/plan matrix/record matrix/evidence matrix/stats matrix/numerics matrix/exec matrix/verdict kernels" ;;
    matrix/cli) echo "matrix/cli matrix/base matrix/contract matrix/orders matrix/host matrix/spec matrix/plan matrix/lint matrix/record matrix/evidence matrix/stats matrix/numerics matrix/exec matrix/provision matrix/image matrix/verdict matrix/inquiry kernels" ;;
    suites/worker) echo "suites/worker matrix/base matrix/contract matrix/orders models kernels" ;;
    suites/fake_nvml) echo "suites/fake_nvml matrix/host" ;;
    suites/fake_worker) echo "suites/fake_worker matrix/base matrix/contract matrix/orders kernels" ;;
    *) return 1 ;;
  esac
}

# Sets `layer` to the layer a path belongs to: two components under matrix/ and suites/, one elsewhere.
layer_of() {
  layer=${1%%/*}
  case "$1" in
    matrix/*/* | suites/*/*) local rest=${1#*/} && layer+=/${rest%%/*} ;;
  esac
}

# No process is started a line: there are thousands.
violations=0
declare -A names_of
while IFS=: read -r file line include; do
  target=${include#*\"} target=${target%%\"*}
  [[ "$target" == ci/*.hpp ]] && continue  # what tests share
  layer_of "$file" && from=$layer
  layer_of "$target" && to=$layer
  [ -n "${names_of[$from]+known}" ] || names_of[$from]=$(allowed "$from" || true)
  if [ -z "${names_of[$from]}" ]; then
    echo "$file: layer $from has no row in ci/layers.sh" >&2
    violations=$((violations + 1))
  elif [[ " ${names_of[$from]} " != *" $to "* ]]; then
    echo "$file:$line: layer $from may not include $to ($target)" >&2
    violations=$((violations + 1))
  fi
done < <(grep -nE '^#include "' -r matrix models kernels suites --include='*.cpp' --include='*.hpp' --include='*.cu')

# The coordinator never sees torch or CUDA.
if grep -nE '#include <(torch|ATen|c10|caffe2|cuda|nccl|cudnn)' -r matrix --include='*.cpp' --include='*.hpp'; then
  violations=$((violations + 1))
fi
# Torch headers only in .cpp files: device code is compiled without any, by the stack's NVRTC.
if grep -nE '#include <(torch|ATen|c10)/' -r suites models kernels --include='*.hpp' --include='*.cu'; then
  violations=$((violations + 1))
fi
# Nor does the thread sanitizer pass over a layer of the coordinator that has threads.
for layer in matrix/*/; do
  if grep -qE '#include <(thread|mutex|atomic|future|condition_variable|stop_token|barrier|latch|semaphore|pthread.h)>' -r "$layer" \
    --include='*.cpp' --include='*.hpp' --exclude='*_test.cpp' && ! grep -q '\bTHREADS\b' "$layer/CMakeLists.txt"; then
    echo "${layer%/}: has threads, and its CMakeLists.txt does not say THREADS" >&2
    violations=$((violations + 1))
  fi
done
[ "$violations" -eq 0 ] || { echo "layers: $violations violation(s)" >&2; exit 1; }
echo "layers: includes go one way"
