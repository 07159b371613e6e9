#!/usr/bin/env bash
# `qualify` on two images with real PyTorch wheels: a verdict that names both digests, attempts that really ran inside, a bisect that
# says torch, by a call and by a check that failed, the same image on both sides undecided, images that cannot be run refused before anything starts, and no process left
# behind a killed coordinator.
#
#   ci/qualify_test.sh REPROBENCH [CANDIDATE_STACK REFERENCE_STACK]    # both installed in $REPROBENCH_STACKS
#
# The roots are the one of ci/image_test.sh --root, hard links and no copies, with the wheels of a stack as a virtual
# environment. Needs root and buildah, as that script does.
set -euo pipefail
reprobench=$(realpath "$1")
candidate=${2:-torch-2.9.0-cu128} reference=${3:-torch-2.11.0-cu130}
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

stacks=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
unset REPROBENCH_STACKS  # the workers of images are this test's own
cache=$PWD/build-ci/images
mkdir -p "$cache"
work=$cache/qualify  # always the same, for the compiler's cache
rm -rf "$work"
mkdir -m 755 "$work"
base='' coordinator=''
b() { buildah --root "$cache/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
clean_up() {
  if [ -n "$coordinator" ] && kill -9 "$coordinator" 2>/dev/null; then wait "$coordinator" 2>/dev/null || true; fi
  [ -z "$base" ] || b rm "$base" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
fail() { echo "qualify: $1" >&2; exit 1; }

base=$(b from "$(b images --format '{{.Name}}:{{.Tag}}' | grep '/reprobench-base:' | head -n 1)")
empty=$(b mount "$base")

# image STACK NAME: a root with that PyTorch in /opt/venv.
image() {
  local site root=$work/$2
  site=$(find "$stacks" -maxdepth 2 -path "*/$1-*/site" | sort | tail -n 1)
  [ -n "$site" ] || fail "the stack $1 is not installed in $stacks"
  mkdir "$root"
  cp -al "$empty/." "$root"
  mkdir -p "$root/opt/venv/lib/python3.12"
  cp -al "$site" "$root/opt/venv/lib/python3.12/site-packages"
}
image "$candidate" candidate
image "$reference" reference
# Two of another package's cuDNN, which this PyTorch does not load: named, and no reason to stop.
for number in 1 2; do
  mkdir -p "$work/candidate/opt/vendor$number"
  cc -shared -nostdlib -x c /dev/null -Wl,-soname,libcudnn_ops.so.9 -Wl,--build-id=0x0$number -o "$work/candidate/opt/vendor$number/libcudnn_ops.so.9"
done

# qualify NAME CANDIDATE REFERENCE ARGUMENT...: what is said in NAME.out and NAME.err, the exit code in `code`.
qualify() {
  code=0
  "$reprobench" --store "$work/store" qualify --candidate "$2" --reference "$3" "${@:4}" >"$work/$1.out" 2>"$work/$1.err" || code=$?
}
said() { grep -qF -- "$2" "$work/$1.err" "$work/$1.out" || { cat "$work/$1.err" >&2; fail "$1 does not say: $2"; }; }

# Refused before a worker is built: nothing is in the store but the lock.
refused() { # NAME CODE WORDS
  [ "$code" -eq "$2" ] || { cat "$work/$1.err" >&2; fail "$1 ends with $code"; }
  said "$1" "$3"
  [ ! -e "$work/store/stacks" ] || fail "$1 is refused after a worker was begun"
}
qualify none "$empty" "$work/reference"
refused none 1 'it holds no PyTorch'
cp -al "$work/candidate" "$work/two"
cp -al "$work/two/opt/venv" "$work/two/opt/other"
qualify two "$work/reference" "$work/two"
refused two 5 '2 PyTorch are below /'
rm -rf "$work/two"
cp -al "$work/candidate" "$work/foreign"
library=$work/foreign/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so
cp "$library" "$library.new"
printf '\xb7' | dd of="$library.new" bs=1 seek=18 conv=notrunc status=none  # EM_AARCH64
mv "$library.new" "$library"
qualify foreign "$work/reference" "$work/foreign"
refused foreign 5 'is no library for x86-64'
rm -rf "$work/foreign"
echo "qualify: refused after $SECONDS s"

cat >"$work/matrix.yaml" <<'YAML'
schema: 1
name: qualified
suites: [smoke, comm]
axes: {stack: [candidate, reference], device: [cpu]}
exclude:
  - {where: "workload not in (mlp, collectives)"}
reference: {stack: reference}
required: [{stack: candidate}]
thresholds:
  # A machine that tests beside this one: whether it is as fast is asked elsewhere.
  comm.latency_ratio: {max: 200%, vs: reference, gate: record_only}
YAML

# No worker starts where the C library is older than the one it was built with: the first that is built sees that.
libc=$(find "$work/candidate/usr/lib" -name 'libc.so.6' | head -n 1)
mv "$libc" "$work/libc"
sed 's/GLIBC_2\.34/GLIBC_2.0x/g' "$work/libc" >"$libc"
qualify old "$work/candidate" "$work/reference" --matrix "$work/matrix.yaml"
[ "$code" -eq 5 ] || fail "an image with an old C library ends with $code"
said old 'lacks GLIBC_2.34'
mv "$work/libc" "$libc"
echo "qualify: a worker built after $SECONDS s"

# Nothing inside is run but the worker, so an image needs no shell.
rm -f "$work/candidate/usr/bin/sh" "$work/candidate/usr/bin/dash" "$work/candidate/usr/bin/bash"
qualify pair "$work/candidate" "$work/reference" --matrix "$work/matrix.yaml" --out "$work/pair"
[ "$code" -eq 0 ] || { cat "$work/pair.out" "$work/pair.err" >&2; fail "two images end with $code"; }
said pair 'another libcudnn_ops.so.9 than /opt/vendor1/'
python3 - "$work/pair" <<'PYTHON'
import glob, hashlib, json, os, sys
run = sys.argv[1]
def fail(what): sys.exit(f"qualify: {what}")
plan = json.load(open(f"{run}/plan.json"))
verdict = json.load(open(f"{run}/verdict.json"))
digests = {name: image["digest"] for name, image in plan["images"].items()}
expected = f"candidate {digests['candidate']} qualified against reference {digests['reference']} on cpu"
if not verdict["sentence"].startswith(expected): fail(f"the verdict is: {verdict['sentence']}")
for name, image in plan["images"].items():
    document = open(f"{run}/inputs/inspection-{name}.json", "rb").read()
    if hashlib.sha256(document).hexdigest() != image["inspection_sha256"]: fail(f"another inspection of {name} is kept")
results = glob.glob(f"{run}/**/rank-*/result.json", recursive=True)
if len(results) < 8: fail(f"{len(results)} results")
for result in results:
    text = open(result).read()
    if "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so" not in text: fail(f"{result} ran outside")
PYTHON
# What was tested is what is promoted: this image, until its days are over.
"$reprobench" --store "$work/store" attest "$work/pair" --out "$work/attestation.json" || fail "the verdict is not attested"
verify() { "$reprobench" --store "$work/store" verify "$work/attestation.json" "$@" >"$work/verified" 2>&1; }
verify "$work/candidate" --run "$work/pair" --matrix "$work/matrix.yaml" || { cat "$work/verified" >&2; fail "the candidate is not the attested image"; }
ln -s candidate "$work/current"
verify "$work/current" --matrix "$work/matrix.yaml" || { cat "$work/verified" >&2; fail "a link to the candidate is another image"; }
grep -q "until 20.*qualified against" "$work/verified" || fail "verify says only: $(cat "$work/verified")"
for other in "$work/reference" "$work/candidate --at 2100-01-01T00:00:00Z" "$work/candidate --matrix matrix/image.yaml"; do
  code=0
  # shellcheck disable=SC2086  # an image and an option
  verify $other || code=$?
  [ "$code" -eq 1 ] || { cat "$work/verified" >&2; fail "verify of $other ends with $code"; }
done
# What changed a layer norm between the two: torch, alone where no other library of theirs differs. The workers are there already.
norm='native_layer_norm(f32[256, 768], [768], f32[768], f32[768], 1e-5)'
"$reprobench" --store "$work/store" bisect --good "$work/reference" --bad "$work/candidate" --call "$norm" --json >"$work/bisect.json" 2>"$work/bisect.txt" ||
  { cat "$work/bisect.txt" >&2; fail "a bisect of two images gives no answer"; }
blamed=$(python3 -c 'import json, sys; a = json.load(open(sys.argv[1]))["answers"][0]; print(a["word"], sorted(c["component"] for e in a["culprits"] for c in e["components"]))' "$work/bisect.json")
[[ $blamed == "together "*"'torch'"* || $blamed == "found ['torch']" ]] || fail "a bisect of two images says: $blamed"
echo "qualify: $blamed after $SECONDS s"

# What a worker inside had loaded stands beside what was found; of another image the run says nothing.
"$reprobench" --store "$work/store" image inspect "$work/candidate" --run "$work/pair" --json >"$work/loaded.json" ||
  fail "the candidate is refused with what was loaded: $(cat "$work/loaded.json")"
python3 - "$work/loaded.json" <<'PYTHON'
import json, sys
components = {row["component"]: row for row in json.load(open(sys.argv[1]))["components"]}
torch = components["torch"]
if not torch.get("loaded") or not torch["version"].startswith(torch["loaded"]): sys.exit(f"qualify: torch was found and loaded as {torch}")
if "loaded" in components["python"]: sys.exit("qualify: a worker is no Python, and has loaded one")
PYTHON
! "$reprobench" --store "$work/store" image inspect "$empty" --run "$work/pair" >"$work/loaded.json" 2>&1 ||
  fail "a run of other images tells what this one loaded"

# A check that failed between the two, asked again of each: torch, as above.
mkdir -p "$work/checkout"
cp -a --parents matrix suites models kernels ci/cmake "$work/checkout"
cat >"$work/checkout/suites/definitions/one_call.yaml" <<'YAML'
schema: 1
name: one_call
description: The call whose bits another release changed.
workloads: [{probe: operators, preset: base, samples: 1, calls: one_call}]
YAML
cat >"$work/checkout/suites/operators/one_call.yaml" <<YAML
schema: 1
name: one_call
calls:
  - call: "$norm"
YAML
cat >"$work/checkout/matrix/differing.yaml" <<'YAML'
schema: 1
name: differing
suites: [one_call]
axes: {stack: [candidate, reference], device: [cpu]}
reference: {stack: reference}
required: [{stack: candidate}]
thresholds:
  numerics.changed_calls: {max: 0, where: stack == candidate}
YAML
export REPROBENCH_ROOT=$work/checkout  # which has that suite
qualify differing "$work/candidate" "$work/reference" --matrix "$work/checkout/matrix/differing.yaml" --out "$work/differing" --no-report
[ "$code" -eq 1 ] || { cat "$work/differing.err" >&2; fail "two images whose bits differ end with $code"; }
cell=$(python3 -c 'import json, sys; print(next(c["slug"] for c in json.load(open(sys.argv[1]))["cells"] if c["outcome"] == "failed"))' "$work/differing/verdict.json")
"$reprobench" --store "$work/store" bisect --good "$work/reference" --bad "$work/candidate" --run "$work/differing" \
  --check "$cell" numerics.changed_calls --json >"$work/bisect.json" 2>"$work/bisect.txt" ||
  { cat "$work/bisect.txt" >&2; fail "a bisect of a check of two images gives no answer"; }
of_check=$(python3 -c 'import json, sys; a = json.load(open(sys.argv[1]))["answers"][0]; print(a["word"], sorted(c["component"] for e in a["culprits"] for c in e["components"]))' "$work/bisect.json")
unset REPROBENCH_ROOT
[ "$of_check" = "$blamed" ] || fail "a bisect of a call says $blamed, of a check $of_check"
echo "qualify: a check asked again after $SECONDS s"

# One byte of any file, and it is another image.
motd=$work/candidate/etc/issue
cp "$motd" "$work/issue"
tr 'D' 'd' <"$work/issue" >"$motd.new" && mv "$motd.new" "$motd"
code=0
verify "$work/candidate" || code=$?
[ "$code" -eq 1 ] || { cat "$work/verified" >&2; fail "verify of an image with another byte ends with $code"; }
cp "$work/issue" "$motd"
echo "qualify: a verdict and its attestation after $SECONDS s"

# The copy of an image is that image, wherever it lies: nothing can be said of it against itself.
qualify same "$work/candidate" "$work/candidate" --matrix "$work/matrix.yaml" --no-report
[ "$code" -eq 3 ] || { cat "$work/same.out" >&2; fail "an image against itself ends with $code"; }
grep -q 'UNDECIDED' "$work/same.out" || fail "an image against itself is not called undecided"
echo "qualify: itself after $SECONDS s"

# Somebody writes to a root while it runs: which of its bytes ran, nobody knows.
"$reprobench" --store "$work/store" qualify --candidate "$work/candidate" --reference "$work/reference" --matrix "$work/matrix.yaml" \
  --out "$work/written" --no-report >"$work/written.out" 2>"$work/written.err" &
coordinator=$!
for _ in $(seq 600); do ! grep -q '^plan qualified' "$work/written.err" || break; sleep 0.1; done
echo "of another hand" >"$work/candidate/etc/written"
code=0
wait "$coordinator" || code=$?
coordinator=''
rm "$work/candidate/etc/written"
[ "$code" -eq 3 ] || { cat "$work/written.out" "$work/written.err" >&2; fail "a root that was written to while it ran ends with $code"; }
grep -q 'files of candidate were changed' "$work/written/verdict.json" || fail "a verdict says nothing of the files that changed"
echo "qualify: a root that changed after $SECONDS s"

# A killed coordinator leaves nobody inside.
"$reprobench" --store "$work/store" qualify --candidate "$work/candidate" --reference "$work/reference" --matrix "$work/matrix.yaml" \
  --out "$work/killed" >"$work/killed.out" 2>&1 &
coordinator=$!
# Processes of attempts of that run; their environment goes with them.
inside() { grep -lzs "^HOME=$work/killed/" /proc/[0-9]*/environ || true; }
for _ in $(seq 600); do [ -z "$(inside)" ] || break; sleep 0.1; done
[ -n "$(inside)" ] || { cat "$work/killed.out" >&2; fail "no attempt began"; }
kill -9 "$coordinator"
wait "$coordinator" 2>/dev/null || true
for _ in $(seq 100); do [ -n "$(inside)" ] || break; sleep 0.2; done
[ -z "$(inside)" ] || fail "these outlive the coordinator: $(inside)"
echo "qualify: $candidate against $reference inside two images, one image against itself, one that changed, four refused, one coordinator killed; $SECONDS s"
