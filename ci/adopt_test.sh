#!/usr/bin/env bash
# PyTorch that somebody else installed, taken as a stack and judged in one matrix beside stacks that are installed by lock: a virtual
# environment made with pip, and Debian's libtorch. Their cells pass and have the bits of the same version by lock; a change of the
# environment is noticed before anything runs on it. Between two stacks components are exchanged, and a planted one is found.
#
#   ci/adopt_test.sh PROGRAM [STACK [ROOT]]    # PROGRAM: build-ci/bin/reprobench; STACK: torch-2.9.0-cu128
#
# With ROOT, a folder that debootstrap made, the environment is put into that root and adopted from there (--prefix). By hand with
# torch-2.8.0-cu128, and with a root.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

reprobench=$(realpath "$1")
stack=${2:-torch-2.9.0-cu128}
root=${3:-}
debian="debian-torch-1.13.1"
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
python=$(command -v /usr/bin/python3 || command -v python3)
work=$(mktemp -d)
environment=${root:-$PWD/build-ci}/adopted
names=(adopted)
clean_up() {
  local made
  for made in exchanged "$stack-with-cupti-of-planted" planted; do "$reprobench" stack remove "$made" >/dev/null 2>&1 || true; done
  rm -rf "$work" "$environment" matrix/stacks/adopted.yaml matrix/stacks/adopted-debian.yaml
}
trap clean_up EXIT

fail() { echo "adopt: $1" >&2; exit 1; }
field() { "$python" -c 'import json, sys; print(eval(sys.argv[2], {"v": json.load(open(sys.argv[1]))}))' "$1" "$2"; }
newest() { find "$@" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-; }
run() { "$reprobench" --store "$work/store" "$@"; }

run stack install "$stack"
installed=$(dirname "$(newest "$REPROBENCH_STACKS" -maxdepth 2 -path "*/$stack-*/stack.json")")

# What users have: an environment of the machine's Python, filled by pip. Of the stack's wheels, those of its CPU part.
release=${stack#torch-}
grep "^torch==${release%%-*} " ci/adopt-requirements.txt >"$work/requirements.txt" || fail "no wheel of ${release%%-*} is hashed"
for package in $(sed -n 's/^ *cpu_wheels: \[\(.*\)\]/\1/p' "matrix/stacks/$stack.yaml" | tr -d ,); do
  [ "$package" = torch ] || grep "^$package==" "matrix/stacks/$stack.lock" >>"$work/requirements.txt"
done
rm -rf "$environment"
"$python" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --no-deps --require-hashes --find-links "$REPROBENCH_STACKS/downloads" \
  -r "$work/requirements.txt" || fail "pip did not fill the environment"
site=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# The headers are those of the stack, and then taken through a link: from the same files a compiler's cache knows the worker, whose
# libraries are still the environment's.
diff -rq "$installed/site/torch/include" "$site/torch/include" >"$work/headers" || fail "pip's headers are other ones: $(head -n 1 "$work/headers")"
rm -r "$site/torch/include"
ln -s "$installed/site/torch/include" "$site/torch/include"

place=(--python "$environment/bin/python")
[ -z "$root" ] || place=(--prefix "$root")
run stack adopt "${place[@]}" adopted >"$work/adopt.txt" || { cat "$work/adopt.txt" >&2; fail "the environment is not adopted"; }
grep -q 'libcudart.so.1[0-9] .*/nvidia/cuda_runtime/lib$' "$work/adopt.txt" || fail "the CUDA runtime it would load is not named"
run stack verify adopted
worker=$(newest "$REPROBENCH_STACKS" -path '*/adopted-*/workers/*/reprobench-worker')
built=$(stat -c %Y "$worker")
# Of CPU time: the tests beside this one are no cost of it.
TIMEFORMAT='%U + %S'
{ time run stack adopt --libtorch "$site/torch" adopted >/dev/null 2>"$work/again.txt"; } 2>"$work/cpu" ||
  { cat "$work/again.txt" >&2; fail "it is not adopted a second time"; }
seconds=$("$python" -c "print(round($(cat "$work/cpu"), 3))")
[ "$(stat -c %Y "$worker")" = "$built" ] || fail "the same environment got another worker"
"$python" -c "exit($seconds > 5)" || fail "adopting it again took $seconds s of CPU"

# Debian's own, where the distribution has it.
if [ "$(dpkg-query -W -f '${Version}' libtorch-dev 2>/dev/null)" = 1.13.1+dfsg-4 ]; then
  run stack install "$debian"
  run stack adopt --libtorch /usr/lib/x86_64-linux-gnu adopted-debian >"$work/debian.txt" ||
    { cat "$work/debian.txt" >&2; fail "Debian's libtorch is not adopted"; }
  names+=(adopted-debian)
else
  echo "adopt: this distribution has no libtorch-dev 1.13.1; its part is left out" >&2
fi
by_lock() { # NAME: the stack of the same version
  if [ "$1" = adopted ]; then echo "$stack"; else echo "$debian"; fi
}
stacks=()
for name in "${names[@]}"; do stacks+=("$name" "$(by_lock "$name")"); done

cat >"$work/matrix.yaml" <<YAML
schema: 1
name: adopted
suites: [smoke, determinism]
axes:
  stack: [$(printf '%s\n' "${stacks[@]}" | paste -sd ,)]
  device: [cpu]
exclude:
  # One torch under two names: three kinds of layers show it as well as all models do.
  - {where: "workload not in (mlp, resnet, llama)"}
  # Between releases bits may differ: the workloads that ask for two more stacks are few.
  - {where: "stack in ($debian, adopted-debian) and workload != mlp"}
reference: {stack: $stack}
required:
  - {stack: adopted}
YAML
[ "${#names[@]}" -eq 2 ] || sed -i '/# Between releases/d; /adopted-debian/d' "$work/matrix.yaml"
# What was adopted is the reference's own torch, which decides nothing about itself. Nothing else keeps a cell from passing.
status=0
run run --matrix "$work/matrix.yaml" --out "$work/run" --no-report || status=$?
[ "$status" -eq 3 ] || fail "a run of one torch under two names ends with $status"
[ "$(field "$work/run/verdict.json" '{c["reason"] for c in v["cells"] if c["coordinates"]["stack"] == "adopted"}')" = "{'same_libraries'}" ] ||
  fail "its cells are not those of the reference's torch"
# same VERDICT ADOPTED BY_LOCK: every cell of one stack has a cell of the other at its place, all checks passed, and the same chain of digests.
cat >"$work/same.py" <<'PYTHON'
import json, sys
verdict, adopted, by_lock = json.load(open(sys.argv[1])), *sys.argv[2:]
def chains(stack):
    cells = [cell for cell in verdict["cells"] if cell["coordinates"]["stack"] == stack]
    return {(cell["coordinates"]["suite"], cell["coordinates"]["workload"]): ({check["status"] for check in cell["checks"] if check["gate"] == "armed"}, cell["chain"]) for cell in cells}
mine, theirs = chains(adopted), chains(by_lock)
if not mine or mine != theirs or any(checks != {"passed"} or len(chain) != 32 for checks, chain in mine.values()):
    sys.exit(f"adopt: {adopted} and {by_lock} part: {[(place, mine.get(place), theirs.get(place)) for place in {*mine, *theirs}]}")
print(len(mine), "places")
PYTHON
for name in "${names[@]}"; do "$python" "$work/same.py" "$work/run/verdict.json" "$name" "$(by_lock "$name")"; done
# The same question about two stacks of other bits has another answer.
if [ "${#names[@]}" -eq 2 ] && "$python" "$work/same.py" "$work/run/verdict.json" adopted adopted-debian >/dev/null 2>&1; then
  fail "2.9.0 and 1.13.1 are taken for the same"
fi

norm='native_layer_norm(f32[256, 768], [768], f32[768], f32[768], 1e-5)'
# Which of two releases changed a layer norm: the shortest axis on real stacks. The adopted one is no other release.
if [ "${#names[@]}" -eq 2 ]; then
  run bisect --good "$debian" --bad "$stack" --axis "$debian,$stack" --call "$norm" --json >"$work/bisect.json" 2>"$work/bisect.txt" ||
    { cat "$work/bisect.txt" >&2; fail "bisect of $debian and $stack gives no answer"; }
  [ "$(field "$work/bisect.json" '[(a["culprit"]["before"], a["culprit"]["after"]) for a in v["answers"]]')" = "[('$debian', '$stack')]" ] ||
    fail "bisect names another release: $(cat "$work/bisect.json")"
  [ "$(field "$work/bisect.json" '"torch" in [c["what"] for c in v["answers"][0]["culprit"]["components"]]')" = True ] ||
    fail "bisect does not say that torch changed"
  status=0
  run bisect --good adopted --bad "$stack" --axis "adopted,$stack" --call "$norm" >"$work/same.txt" 2>&1 || status=$?
  [ "$status" -eq 3 ] || fail "bisect of one PyTorch ends with $status: $(cat "$work/same.txt")"
fi

# A component that nobody suspects: a hybrid of the stack and itself, in which three libraries are not the release's. Two have other
# build ids alone; the third, which nothing on a CPU calls, takes the vector instructions away. Exchanged by hand, and found by a bisect.
run stack swap "$stack" --with cupti="$stack" --name planted >"$work/same.txt"
grep -q 'WARN cupti is the same in both: nothing was exchanged' "$work/same.txt" || fail "an exchange of nothing is not named: $(cat "$work/same.txt")"
of_planted=$(dirname "$(newest "$REPROBENCH_STACKS" -maxdepth 2 -path '*/planted-*/stack.json')")/site
nm -D --undefined-only "$of_planted/torch/lib/libtorch_cpu.so" | sed -n 's/.* \(cupti[A-Za-z0-9_]*\).*/void \1() {}/p' >"$work/cupti.c"
echo '#include <stdlib.h>
__attribute__((constructor)) static void cap() { setenv("ATEN_CPU_CAPABILITY", "default", 1); }' >>"$work/cupti.c"
cupti=$(find "$of_planted/nvidia" -name 'libcupti.so.*') cudart=$(find "$of_planted/nvidia" -name 'libcudart.so.*') openmp=$(find "$of_planted/torch/lib" -name 'libgomp*')
echo "$(basename "$cupti") { global: *; };" >"$work/cupti.map"
rm "$cupti"
cc -w -shared -fPIC -Wl,-soname,"$(basename "$cupti")" -Wl,--build-id -Wl,--version-script="$work/cupti.map" -o "$cupti" "$work/cupti.c"
"$python" - "$of_planted" "$cudart" "$openmp" "$cupti" <<'PYTHON'
import hashlib, json, os, pathlib, sys
site, *libraries = map(pathlib.Path, sys.argv[1:])
manifest = json.loads((site / "../stack.json").read_text())
for library in libraries:
    content = bytearray(library.read_bytes())
    if library != libraries[-1]:
        content[content.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16] ^= 255  # its build id
    library.unlink()
    library.write_bytes(content)
    for file in manifest["files"]:
        if file["path"] == str(library.relative_to(site)):
            file |= {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
(site / "../stack.json").write_text(json.dumps(manifest))
PYTHON
run stack swap "$stack" --with openmp=planted --with cudart=planted --name exchanged >"$work/swap.txt" ||
  { cat "$work/swap.txt" >&2; fail "OpenMP and the CUDA runtime are not exchanged"; }
! grep -q 'is the same in both' "$work/swap.txt" || fail "two planted libraries are called the same: $(cat "$work/swap.txt")"
build_id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
for library in "$openmp" "$cudart"; do
  grep -q "$(basename "$library") .* mapped: $(build_id "$library")$" "$work/swap.txt" || fail "it is not proven that $library is loaded: $(cat "$work/swap.txt")"
done
run stack list | grep -q "= $stack with cudart, openmp of planted" || fail "a hybrid is not listed as one"
run stack verify exchanged | grep -q "exchanged: OK as $stack with" || fail "a hybrid does not verify"
status=0
run stack swap "$stack" --with cudnn=planted >/dev/null 2>"$work/refused.txt" || status=$?
if [ "$status" -ne 5 ] || ! grep -q 'has no library of .cudnn' "$work/refused.txt"; then fail "a component that is not there is exchanged"; fi
run bisect --good "$stack" --bad planted --call "$norm" --json >"$work/component.json" 2>"$work/component.txt" ||
  { cat "$work/component.txt" >&2; fail "a bisect of components gives no answer"; }
[ "$(field "$work/component.json" '([c["name"] for c in v["components"]], [(a["word"], a["rest"], [[e["component"] for e in c["components"]] for c in a["culprits"]]) for a in v["answers"]])')" = \
  "(['cudart', 'cupti', 'openmp'], [('found', 'as the good end', [['cupti']])])" ] || fail "a bisect of components names others: $(cat "$work/component.json")"
# Neither of the two that it cleared.
status=0
run bisect --good "$stack" --bad exchanged --call "$norm" --json >"$work/cleared.json" 2>/dev/null || status=$?
[ "$status" -eq 3 ] || fail "a bisect of what changes nothing ends with $status"
[ "$(field "$work/cleared.json" 'v["answers"][0]["word"]')" = equal ] || fail "a component that changes nothing is blamed"

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
run run --matrix "$work/matrix.yaml" --out "$work/changed" --no-report --stack adopted --workload mlp >/dev/null || status=$?
[ "$status" -eq 3 ] || fail "a run on a changed environment ends with $status"
rm "$c10"
status=0
run stack adopt "${place[@]}" adopted >/dev/null 2>"$work/broken.txt" || status=$?
[ "$status" -eq 5 ] || fail "an environment without libc10.so ends with $status"
grep -Eq 'libc10.so (is nowhere|would be taken from another PyTorch)' "$work/broken.txt" || fail "the missing libc10.so is not named"

echo "adopt: ${names[*]} give the bits of $stack${names[1]:+ and $debian}; a pip environment in $seconds s of CPU without the build; a change of it is noticed; a component that was planted is found by hybrids"
