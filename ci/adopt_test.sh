#!/usr/bin/env bash
# A PyTorch that somebody else installed, taken as a stack: a Python environment with the wheel of a locked stack is adopted, its
# cells give the bits of that stack, and a change of the environment is noticed before anything runs on it.
#
#   ci/adopt_test.sh build-ci/bin/reprobench
set -euo pipefail
cd "$(dirname "$0")/.."

reprobench=$(realpath "$1")
stack=torch-2.9.0-cu128
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
python=$(command -v /usr/bin/python3 || command -v python3)
work=$(mktemp -d)
# At one place, so that a compiler cache knows the worker again.
environment=$PWD/build-ci/adopted
trap 'rm -rf "$work" matrix/stacks/adopted.yaml' EXIT

fail() { echo "adopt: $1" >&2; exit 1; }
field() { "$python" -c 'import json, sys; print(eval(sys.argv[2], {"v": json.load(open(sys.argv[1]))}))' "$1" "$2"; }
newest() { find "$@" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-; }
run() { "$reprobench" --store "$work/store" "$@"; }

run stack install "$stack"
installed=$(dirname "$(newest "$REPROBENCH_STACKS" -maxdepth 2 -path "*/$stack-*/stack.json")")
site=$environment/lib/python3.12/site-packages
rm -rf "$environment"
mkdir -p "$site"
cp -al "$installed/site/." "$site" 2>/dev/null || cp -a "$installed/site/." "$site"
# The headers through a link: from the same files the compiler's cache knows the worker, whose libraries are still the environment's.
rm -r "$site/torch/include"
ln -s "$installed/site/torch/include" "$site/torch/include"

run stack adopt --prefix "$environment" adopted >"$work/adopt.txt" || { cat "$work/adopt.txt" >&2; fail "the environment is not adopted"; }
grep -q 'libcudart.so.12 .*/nvidia/cuda_runtime/lib$' "$work/adopt.txt" || fail "the CUDA runtime it would load is not named"
run stack verify adopted
worker=$(newest "$REPROBENCH_STACKS" -path '*/adopted-*/workers/*/reprobench-worker')
built=$(stat -c %Y "$worker")
start=$EPOCHREALTIME
run stack adopt --libtorch "$site/torch" adopted >/dev/null
seconds=$("$python" -c "print($EPOCHREALTIME - $start)")
[ "$(stat -c %Y "$worker")" = "$built" ] || fail "the same environment got another worker"
"$python" -c "exit($seconds > 5)" || fail "adopting it again took $seconds s"

cat >"$work/matrix.yaml" <<YAML
schema: 1
name: adopted
suites: [smoke, determinism]
axes:
  stack: [adopted, $stack]
  device: [cpu]
exclude:
  - {workload: gpt2}
reference: {stack: $stack}
required:
  - {stack: adopted}
YAML
run run --matrix "$work/matrix.yaml" --out "$work/run" --no-report
[ "$(field "$work/run/verdict.json" 'v["word"]')" = passed ] || fail "its cells do not pass"
chains='sorted({c["slug"].replace("adopted", "S").replace("'$stack'", "S") + c["chain"] for c in v["cells"]}).__len__() * 2 - len(v["cells"])'
[ "$(field "$work/run/verdict.json" "$chains")" = 0 ] || fail "its bits are not those of $stack"

# Another library under the same name: not the linked file itself, which is the installed stack's too.
c10=$site/torch/lib/libc10.so
"$python" - "$c10" "$work/libc10.so" <<'PYTHON'
import pathlib, sys
library = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
library[library.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16] ^= 255  # its build id
pathlib.Path(sys.argv[2]).write_bytes(library)
PYTHON
rm "$c10"
cp "$work/libc10.so" "$c10"
status=0
run stack verify adopted >"$work/verify.txt" || status=$?
[ "$status" -eq 1 ] || fail "verify ends with $status after a library was changed"
grep -q 'libc10.so is another one now' "$work/verify.txt" || fail "verify does not name the library: $(cat "$work/verify.txt")"
status=0
run run --matrix "$work/matrix.yaml" --out "$work/changed" --no-report --stack adopted >/dev/null || status=$?
[ "$status" -eq 3 ] || fail "a run on a changed environment ends with $status"
rm "$c10"
status=0
run stack adopt --prefix "$environment" adopted >/dev/null 2>"$work/broken.txt" || status=$?
[ "$status" -eq 5 ] || fail "an environment without libc10.so ends with $status"
grep -Eq 'libc10.so (is nowhere|would be taken from another PyTorch)' "$work/broken.txt" || fail "the missing libc10.so is not named"

echo "adopt: an environment with the wheel of $stack gives its bits, in $seconds s without the build; a change of it is noticed"
