#!/usr/bin/env bash
# The worker with CUDA, on a machine that needs no GPU: compiled and linked against the whole of one stack, NCCL too, its parts
# compiled against the headers of an older CUDA, neither with a header of another CUDA that this machine may have, its tests
# run, and a cell for a GPU that is not there refused by name.
#
#   ci/cuda_worker_test.sh build-ci/bin/reprobench
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

reprobench=$(realpath "$1")
stack=torch-2.11.0-cu130
older=torch-2.9.0-cu128
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
python=$(command -v /usr/bin/python3 || command -v python3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "cuda worker: $1" >&2; exit 1; }
# Of several installations, by earlier locks or of earlier sources, the last is the one just asked for.
newest() { find "$@" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-; }
folder_of() { newest "$REPROBENCH_STACKS" -maxdepth 1 -type d -name "$1-*"; }
configure() { # STACK BUILD FOLDER-OF-FURTHER-LIBRARIES...
  local site build=$2 include libraries
  site=$(folder_of "$1")/site
  include="$site/torch/include;$site/torch/include/torch/csrc/api/include"
  libraries=$site/torch/lib
  for library in "$site"/nvidia/* "${@:3}"; do
    [ -d "$library/include" ] && include="$include;$library/include"
    [ -d "$library/lib" ] && libraries="$libraries;$library/lib"
  done
  cmake -S suites/worker -B "$build" -G Ninja -DREPROBENCH_WITH_CUDA=ON -DREPROBENCH_BUILD_TESTS=ON \
    "-DREPROBENCH_TORCH_INCLUDE_DIRS=$include" "-DREPROBENCH_TORCH_LIBRARY_DIRS=$libraries" >/dev/null
  grep -q -e -DREPROBENCH_HAS_NCCL "$build/build.ninja" || fail "$1 is compiled without NCCL, so its process group is not"
}

"$reprobench" stack install "$stack" --with-gpu >/dev/null
configure "$stack" "build-ci/worker-$stack"
cmake --build "build-ci/worker-$stack" --target backend_test
ci/foreign_headers.sh "build-ci/worker-$stack" "$(folder_of "$stack")"
"build-ci/worker-$stack/bin/backend_test"

# Of the older stack's GPU part the headers of runtime, compiler, CCCL and NCCL are enough; a lock file is a list of pip
# requirements. What calls NCCL is compiled where its library is too, which comes with its headers.
"$reprobench" stack install "$older" >/dev/null
headers=build-ci/headers/$older
if [ ! -e "$headers/complete" ] || [ ! -d "$headers/nvidia/nccl" ]; then
  rm -rf "$headers"
  mkdir -p "$headers"
  grep -E '^nvidia-(cuda-(runtime|nvcc|cccl)|nccl)-cu12==' "matrix/stacks/$older.lock" >"$headers/requirements.txt"
  "$python" -m pip download --quiet --require-hashes --no-deps --dest "$headers" --requirement "$headers/requirements.txt"
  for wheel in "$headers"/*.whl; do "$python" -m zipfile -e "$wheel" "$headers"; done
  rm -r "$headers"/*.whl "$headers"/nvidia/cuda_nvcc/{bin,nvvm}
  touch "$headers/complete"
fi
configure "$older" "build-ci/worker-$older-cuda" "$PWD/$headers"/nvidia/*
cmake --build "build-ci/worker-$older-cuda" --target worker_backend
ci/foreign_headers.sh "build-ci/worker-$older-cuda" "$(folder_of "$older")" "$headers"

worker=$(newest "$(folder_of "$stack")/workers" -name reprobench-worker)
"$worker" describe >"$work/describe.json"
field() { "$python" -c 'import json, sys; print(eval(sys.argv[2], {"v": json.load(open(sys.argv[1]))}))' "$1" "$2"; }
loaded=$(field "$work/describe.json" '[c["loaded"] for c in v["fingerprint"]["components"] if c["name"] in ("cuda", "cudnn", "nccl")]')
[ "$loaded" = "['13.0', '9.19.0', '2.28.9']" ] || fail "it loaded CUDA, cuDNN and NCCL $loaded"
if [ "$(field "$work/describe.json" 'v["gpus"]')" != "[]" ]; then
  "build-ci/worker-$stack/bin/backend_test" "[gpu]~[nccl]"
  "build-ci/worker-$stack/bin/backend_test" "[nccl]"
  echo "cuda worker: a GPU is here; ci/gpu.sh goes on"
  exit 0
fi

cat >"$work/request.json" <<JSON
$("$python" - "$work/describe.json" <<'PYTHON'
import json, sys
knobs = {k["name"]: k["values"][0] for k in json.load(open(sys.argv[1]))["knobs"] if k["values"]}
knobs |= {"seed": "1", "threads": "1"}
print(json.dumps({"schema": "reprobench/request", "version": {"major": 2, "minor": 0}, "rank": 0, "cell_id": "0123456789ab",
                  "nonce": "0123456789abcdef", "repeat": 0, "attempt": 0, "suite": "smoke", "stack": "s", "device": "sm_90",
                  "workload": {"model": "mlp", "preset": "small", "steps": 2, "batch_size": 32}, "world_size": 1,
                  "knobs": knobs, "trace": "step", "poison_allocator": False, "inject": None}))
PYTHON
)
JSON
status=0
"$worker" run "$work/request.json" --data models/data || status=$?
[ "$status" -eq 1 ] || fail "a cell for a GPU that is not there ended with $status"
cause=$(field "$work/result.json" 'v["failure"]["cause"]')
case $cause in no_driver | no_device | driver_too_old) ;; *) fail "the cause was $cause" ;; esac
sed -i 's/"sm_90"/"cpu"/' "$work/request.json"
"$worker" run "$work/request.json" --data models/data || fail "a worker with CUDA does not train on the CPU"
echo "cuda worker: builds against $stack and against the headers of $older; without a GPU it says $cause"
