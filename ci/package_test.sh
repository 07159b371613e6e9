#!/usr/bin/env bash
# AOTInductor packages from Inductor to the verdict: one of mlp/base is made and passes; with a fault in its result, or one that
# computes something else, it is red; cut, or of another batch or preset than it says, it is refused; without one the cell is
# skipped, and on a stack without the loader it is not decided.
#
#   ci/package_test.sh PROGRAM PYTHON [STACK [OLD]]    # build-ci/bin/reprobench PYTHON torch-2.9.0-cu128 torch-2.1.0-cu121
#
# PYTHON has all of STACK's release of torch with Inductor, and a C++ compiler beside it: `pip install torch==2.9.0` into an
# environment of its own. OLD has no loader; without it that is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

reprobench=$(realpath "$1")
python=$2
stack=${3:-torch-2.9.0-cu128}
old_stack=${4:-}
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "package: $1" >&2; exit 1; }
release=${stack#torch-}
"$python" -c 'import sys, torch; sys.exit(torch.__version__.split("+")[0] != sys.argv[1])' "${release%%-*}" 2>/dev/null ||
  fail "$python imports another torch than $stack has, or none"
"$reprobench" stack install "$stack" >/dev/null
sed "s/torch-2.9.0-cu128/$stack/" matrix/package.yaml >"$work/package.yaml"

# ends STATUS WORDS ARGUMENTS...: a run ends so and says so.
ends() {
  local wanted=$1 words=$2 status=0
  shift 2
  "$reprobench" --store "$work/store" run --matrix "$work/package.yaml" --no-report "$@" >"$work/out" 2>&1 || status=$?
  tr -s ' \n' ' ' <"$work/out" >"$work/line"
  [ "$status" -eq "$wanted" ] || { cat "$work/out" >&2; fail "ends with $status instead of $wanted: $*"; }
  grep -qF "$words" "$work/line" || { cat "$work/out" >&2; fail "does not say \"$words\": $*"; }
}
# with KEY=VALUE: the same package, which says something else of itself.
with() {
  "$python" - "$work/mlp.pt2" "$work/other.pt2" "$1" <<'PYTHON'
import json, sys, zipfile
key, value = sys.argv[3].split("=")
with zipfile.ZipFile(sys.argv[1]) as package, zipfile.ZipFile(sys.argv[2], "w") as other:
    for name in package.namelist():
        data = package.read(name)
        if name.endswith("metadata.json"):
            data = json.dumps(json.loads(data) | {key: value}).encode()
        other.writestr(name, data)
PYTHON
}

"$python" ci/peers/aot_package.py mlp/base --batch 32 --out "$work/mlp.pt2" >"$work/made" 2>&1 ||
  { cat "$work/made" >&2; fail "no package was made"; }
ends 0 "the one cell that ran passed" --package "$work/mlp.pt2" --out "$work/run"
grep -rqF '"package_forward"' "$work/run/cells" || fail "nothing of the package is on record"
grep -rqF "has eager's bits" "$work/run/cells" || grep -rqF "have other bits than eager's" "$work/run/cells" ||
  fail "nobody held its bits against eager's"
ends 1 "first package_forward: off by" --package "$work/mlp.pt2" --inject kind=result_wrong,step=1,tensor=package_forward
ends 1 "first eager_forward: off by" --package "$work/mlp.pt2" --inject kind=result_wrong,step=1,tensor=eager_forward
# What computes something else: without its input, a part of the result, another type, no numbers.
"$python" - "$work" >"$work/made" 2>&1 <<'PYTHON' || { cat "$work/made" >&2; fail "no wrong packages were made"; }
import sys, torch
sys.path.insert(0, "ci/peers")
import aot_package

def changed(before, after):
    class Changed(aot_package.Renamed):
        def forward(self, batch):
            return after(super().forward(before(batch)))
    return Changed

same = lambda tensor: tensor
changes = {
    "blind": (torch.zeros_like, same),
    "part": (same, lambda result: result[:16]),
    "wide": (same, lambda result: result.double()),
    "nan": (same, lambda result: result * float("nan")),
}
for name, (before, after) in changes.items():
    aot_package.write_package("mlp/base", 32, f"{sys.argv[1]}/{name}.pt2", module=changed(before, after))
PYTHON
ends 1 "first package_forward: off by" --package "$work/blind.pt2"
ends 1 "the result has another shape than eager's" --package "$work/part.pt2"
ends 1 "the result has another type than eager's" --package "$work/wide.pt2"
ends 1 "first package_forward: off by" --package "$work/nan.pt2"
ends 4 "no-package" # nothing ran
grep -qF "the probe \`package\` runs an AOTInductor package of yours" "$work/line" || fail "does not say what to name"
head -c 100000 "$work/mlp.pt2" >"$work/cut.pt2"
ends 2 "cut.pt2: error[RB045]: no whole AOTInductor package" --package "$work/cut.pt2"
ends 2 "absent.pt2: error[RB027]: cannot be read" --package "$work/absent.pt2"
# Whole by its last record, and holding nothing.
{ head -c 100000 "$work/mlp.pt2"; tail -c 22 "$work/mlp.pt2" | head -c 12; printf '\0\0\0\0\0\0\0\0\0\0'; } >"$work/garbage.pt2"
ends 3 "is not loaded by this stack" --package "$work/garbage.pt2"
with reprobench.batch_size=16
ends 3 "does not take the batch of 16" --package "$work/other.pt2"
with reprobench.preset=small
ends 3 "its \`fc1.weight\` is [128, 784] of Float, the model's [16, 784] of Float" --package "$work/other.pt2"
with reprobench.preset=mid
ends 3 "it has no \`fc3.weight\`" --package "$work/other.pt2"
with reprobench.model=other
ends 3 "a model \`other\`, which is none of ours" --package "$work/other.pt2"
with AOTI_DEVICE_KEY=cuda
ends 3 "is not loaded by this stack" --package "$work/other.pt2"

if [ -n "$old_stack" ]; then
  "$reprobench" stack install "$old_stack" >/dev/null
  sed -i "s/$stack/$old_stack/" "$work/package.yaml"
  ends 3 "this LibTorch has no loader of AOTInductor packages" --package "$work/mlp.pt2"
fi

echo "package: of mlp/base on $stack it passes, and is red where it computes something else; cut, of another batch, preset or device it is refused"
