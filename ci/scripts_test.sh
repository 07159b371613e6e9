#!/usr/bin/env bash
# The scripts that no other step of ci/test.sh calls, each once and small, so that they do not rot; and that no script of ci/ is
# called by nothing.
#
#   ci/scripts_test.sh BUILD        with `reprobench` and `stats_test`
# $REPROBENCH_STACKS has torch-2.9.0-cu128 installed. $REPROBENCH_TORCH_PYTHON is a Python that imports this torch, where there is
# one: without it ci/compare_torch.sh gets the times of Python from here.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

build=$(realpath "$1")
reprobench=$build/bin/reprobench
stack=torch-2.9.0-cu128
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "scripts: $1" >&2; exit 1; }

# ends STATUS WORDS COMMAND...: a command ends so and says so.
ends() {
  local wanted=$1 words=$2 status=0
  shift 2
  "$@" >"$work/said" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] && grep -qF -- "$words" "$work/said" && return
  cat "$work/said" >&2
  fail "ends with $status instead of $wanted, or does not say \"$words\": $*"
}
done_s=0
took() { echo "$1: $((SECONDS - done_s)) s" && done_s=$SECONDS; }

# not_called FOLDER: scripts of FOLDER/ci that .ci/run does not lead to, and those without the trap.
not_called() {
  python3 - "$1" <<'PYTHON'
import pathlib, re, sys
root = pathlib.Path(sys.argv[1])
scripts = {f"ci/{path.name}" for path in (root / "ci").glob("*.sh")}
reached, open_ends = set(), [".ci/run"]
while open_ends:
    path = open_ends.pop()
    reached.add(path)
    for line in (root / path).read_text().splitlines():
        # A remark or a message that names a script does not call it.
        if not re.match(r"\s*#|.*\b(echo|usage)\b", line):
            open_ends += (set(re.findall(r"(?<![\w/])(?:\.\./)?(ci/\w+\.sh)", line.replace("/../ci/", " ci/"))) & scripts) - reached
print(*sorted(f"{path}: no step calls it" for path in scripts - reached), sep="\n")
for path in scripts - {"ci/failure_trap.sh", "ci/gpu_control.sh", "ci/steps.sh"}:
    if not re.search(r'^\. (ci|"\$checkout/ci|"\$\(dirname "\$0"\))/failure_trap\.sh', (root / path).read_text(), re.M):
        print(f"{path}: does not source ci/failure_trap.sh")
PYTHON
}
wrong=$(not_called .)
[ -z "$wrong" ] || fail "$wrong"
mkdir -p "$work/tree"
cp -r ci .ci "$work/tree/"
lost=ci/forgotten # not named as a whole, which would be a call
echo "# $lost.sh" | tee "$work/tree/$lost.sh" >>"$work/tree/ci/test.sh"
wrong=$(not_called "$work/tree" | sort | xargs)
[ "$wrong" = "$lost.sh: does not source ci/failure_trap.sh $lost.sh: no step calls it" ] || fail "a script that nothing calls: $wrong"
took "calls"

# The order of the quickstart, with a compiler and a program that only write down what they are asked: the first verdict comes before
# the whole matrix and does not end it, and the other stacks are there before that begins.
mkdir -p "$work/quick/ci" "$work/quick/matrix" "$work/quick/build/bin" "$work/quick/bin"
cp ci/quickstart.sh ci/failure_trap.sh "$work/quick/ci/"
cp matrix/smoke.yaml "$work/quick/matrix/"
for name in ci/packages.sh ci/fetch_wheels.sh bin/cmake build/bin/reprobench; do
  cat >"$work/quick/$name" <<'SH'
#!/usr/bin/env bash
case "$*" in *install*v2.9*) sleep 0.3 ;; esac
echo "${0##*/} $*" >>asked
case "${0##*/} $*" in
  fetch_wheels.sh*) exit 1 ;; # `stack install` asks again, and says why
esac
case "$*" in
  *run*v2.9*) exit 3 ;;
  *run*smoke*) exit 1 ;;
esac
SH
  chmod +x "$work/quick/$name"
done
PATH=$work/quick/bin:$PATH ends 3 "this verdict ends with 1; going on" "$work/quick/ci/quickstart.sh" --out here
grep -qxF "fetch_wheels.sh torch-2.9.0-cu128 torch-2.8.0-cu128" "$work/quick/asked" || fail "the quickstart fetches $(grep fetch "$work/quick/asked")"
# Debian's libtorch is there before the stack that is made of it, but root does not wait for it before the build.
[ "$(id -u)" -eq 0 ] && before_build=build || before_build=run
[ "$(head -n 1 "$work/quick/asked")" = "packages.sh $before_build" ] || fail "the quickstart begins with $(head -n 1 "$work/quick/asked")"
sed '/install --matrix matrix\/v2.9.yaml/q' "$work/quick/asked" | grep -qxF "packages.sh run" || fail "the quickstart installs stacks without their packages"
asked=$(grep ^reprobench "$work/quick/asked" | sed 's/ --jobs [0-9]*//')
[ "$asked" = "reprobench stack install --matrix matrix/smoke.yaml
reprobench run --matrix matrix/smoke.yaml
reprobench stack install --matrix matrix/v2.9.yaml
reprobench run --matrix matrix/v2.9.yaml --out here" ] || fail "the quickstart asks for $asked"
took "quickstart.sh"

# A lock of one wheel that a folder has.
mkdir -p "$work/lock/ci" "$work/lock/matrix/stacks" "$work/lock/index"
cp ci/lock_stack.sh ci/fetch_wheels.sh ci/failure_trap.sh "$work/lock/ci/"
printf 'components: {torch: "9.9.9+cpu"}\nwheel:\n  python: "3.12"\n  cpu_wheels: [other, torch]\n' >"$work/lock/matrix/stacks/tiny.yaml"
python3 - "$work/lock/index" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(f"{sys.argv[1]}/torch-9.9.9-cp312-cp312-manylinux2014_x86_64.whl", "w") as wheel:
    wheel.writestr("torch-9.9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 9.9.9\n")
    wheel.writestr("torch-9.9.9.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp312-cp312-manylinux2014_x86_64\n")
    wheel.writestr("torch-9.9.9.dist-info/RECORD", "")
PYTHON
ends 2 "usage: ci/lock_stack.sh NAME" ci/lock_stack.sh
ends 2 "absent.yaml does not exist" ci/lock_stack.sh absent
PIP_NO_INDEX=1 PIP_FIND_LINKS=$work/lock/index ends 0 "tiny.lock: 1 wheels" "$work/lock/ci/lock_stack.sh" tiny
digest=$(sha256sum <"$work/lock/index/torch-9.9.9-cp312-cp312-manylinux2014_x86_64.whl")
grep -q "^torch==9.9.9 --hash=sha256:${digest%% *}  # torch-9.9.9-cp312-cp312-manylinux2014_x86_64.whl [0-9]* bytes$" "$work/lock/matrix/stacks/tiny.lock" ||
  fail "the lock says $(cat "$work/lock/matrix/stacks/tiny.lock")"
# By that lock it is fetched, once; and not if it is another one.
export PIP_NO_INDEX=1
fetch() { REPROBENCH_STACKS=$work/lock/stacks "$work/lock/ci/fetch_wheels.sh" tiny; }
PIP_FIND_LINKS=$work/lock/index ends 0 "fetched torch-9.9.9-cp312-cp312-manylinux2014_x86_64.whl" fetch
cmp "$work"/lock/index/*.whl "$work"/lock/stacks/downloads/*.whl
fetch
rm "$work"/lock/stacks/downloads/*.whl
sed -i "s/${digest:0:8}/00000000/" "$work/lock/matrix/stacks/tiny.lock"
PIP_FIND_LINKS=$work/lock/index ends 1 "DO NOT MATCH THE HASHES" fetch
[ -z "$(find "$work/lock/stacks" -type f)" ] || fail "fetch_wheels.sh leaves $(find "$work/lock/stacks" -type f)"
unset PIP_NO_INDEX
took "lock_stack.sh, fetch_wheels.sh"

# Rows of wheels against METADATA that lies here: one that agrees, one that does not, and a release that no row has.
mkdir -p "$work/metadata"
wheel_says() { # VERSION CUDNN
  cat >"$work/metadata/$1.json" <<JSON
{"install": [{"download_info": {"url": "x/torch-$1-cp311-cp311-manylinux_2_28_x86_64.whl"}, "metadata": {"version": "$1", "requires_python": ">=3.10",
 "classifier": ["Programming Language :: Python :: 3.14"], "requires_dist": ["nvidia-cuda-runtime-cu12==12.8.90; platform_system == \"Linux\"",
 "nvidia-cudnn-cu12==$2; platform_system == \"Linux\"", "nvidia-nccl-cu12==2.27.5; platform_system == \"Linux\""]}}]}
JSON
}
wheel_says 2.9.0 9.10.2.21
ends 0 "| 2.9.0+cu128 | cudnn | 9.10.2.21 | 9.10.2.21 | confirmed |" ci/confirm_facts.py --reports "$work/metadata"
grep -qF "5 of 5 confirmed, 0 contradicted, 0 not read" "$work/said" || fail "confirm_facts.py says $(cat "$work/said")"
wheel_says 2.9.1 9.13.0.50
ends 1 "| 2.9.1+cu128 | cudnn | 9.10.2.21 | 9.13.0.50 | CONTRADICTED |" ci/confirm_facts.py --reports "$work/metadata"
companion_says() { # VERSION REQUIREMENT
  echo '{"install": [{"metadata": {"version": "'"$1"'", "requires_dist": ["numpy", "'"$2"'"]}}]}' >"$work/metadata/torchvision-$1.json"
}
rm "$work"/metadata/*
companion_says 0.23.0 "torch (==2.8.0)"
ends 0 "| torchvision 0.23.0 | torch | 2.8.0 | 2.8.0 | confirmed |" ci/confirm_facts.py --reports "$work/metadata"
companion_says 0.24.0 "torch==2.8.0"
ends 1 "| torchvision 0.24.0 | torch | 2.9.0 | 2.8.0 | CONTRADICTED |" ci/confirm_facts.py --reports "$work/metadata"
rm "$work"/metadata/*
ends 3 "0 of 0 confirmed" ci/confirm_facts.py --reports "$work/metadata"
took "confirm_facts.py"

# Clang is asked at all: a file that is wrong is refused.
mkdir "$work/clang"
echo 'int f() { return undeclared_name; }' >"$work/clang/wrong.cpp"
echo '[{"directory": "'"$work/clang"'", "file": "wrong.cpp", "command": "c++ -o matrix/wrong.o -c wrong.cpp"}]' >"$work/clang/compile_commands.json"
ends 1 "Clang refuses 1 of 1 files" ci/clang_check.sh "$work/clang"

# A build that is configured again without the folder of the compiler's cache has the same command lines: nothing is compiled anew.
if command -v ccache >/dev/null; then
  launcher() { cmake --preset ci -B "$work/configured" >/dev/null && grep -o 'CCACHE_BASEDIR=[^ ]*' "$work/configured/CMakeFiles/rules.ninja" | sort -u; }
  [ "$(CCACHE_BASEDIR=$work launcher)" = "CCACHE_BASEDIR=$work" ] || fail "ccache leaves out another folder than CCACHE_BASEDIR"
  [ "$(CCACHE_BASEDIR='' launcher)" = "CCACHE_BASEDIR=$work" ] || fail "a build that is configured again has other command lines"
  took "ccache"
fi

# Five times what is shown is little: goals of time may be missed beside other steps.
ci/plan_cost.sh --cells 2000 "$reprobench" >"$work/cost" 2>"$work/said" || [ $? -eq 1 ] || { cat "$work/said" >&2; fail "plan_cost.sh"; }
[ "$(grep -cE '^(2000 cells, (table|--json|run --dry-run)|400 excludes) .* of CPU \(goal' "$work/cost")" -eq 4 ] || fail "plan_cost.sh says $(cat "$work/cost")"
took "plan_cost.sh"

"$reprobench" --quiet --store "$work/store" stack install "$stack" >/dev/null
ends 0 "rank_killed            1 of   1 trials right" ci/rank_faults.sh --trials 1 --beside 1 "$reprobench" rank_killed
took "rank_faults.sh"

# A few of the points at which a store's disk fails; and the program that ends with 0 whatever happens is found out.
ends 2 "fault_sweep: name the built program" ci/fault_sweep.sh
ends 0 "rebuild  EIO     once: " ci/fault_sweep.sh --every 61 "$reprobench"
mkdir "$work/careless"
ln -s "$build/bin/reprobench-fake-worker" "$work/careless/"
printf '#!/bin/sh\n"%s" "$@"\nexit 0\n' "$reprobench" >"$work/careless/reprobench"
chmod +x "$work/careless/reprobench"
ends 1 "ends with 0 and not all of it in the index" ci/fault_sweep.sh --every 61 "$work/careless/reprobench" rebuild
took "fault_sweep.sh"

# A few edits of a finished run; the same program that ends with 0 whatever happens is found out.
ends 2 "edited_runs: name the built program" ci/edited_runs.sh
ends 0 "questions on" ci/edited_runs.sh --every 149 "$reprobench"
ends 1 "rebuild      0 questions" ci/edited_runs.sh --every 100000 "$reprobench" rebuild
ends 1 "passes" ci/edited_runs.sh --every 29 "$work/careless/reprobench" merge
took "edited_runs.sh"

ends 0 "1 questions, 0 false alarms, 0 undecided; 1 settings" ci/false_alarms.sh --model mlp --setting threads=2 --setting gradient_checkpointing=on \
  --batches 8 --no-calibrate "$reprobench"
# A side that does not repeat itself is asked again.
cat >"$work/chance" <<SH
#!/bin/sh
case "\$*" in *selftest*) exit 0 ;; esac
[ -e "$work/asked" ] && echo "  equal" && exit 0
touch "$work/asked"
echo "  differs: torch-2.9.0-cu128 does not repeat itself: output.0 of aten::sqrt was captured with other values" && exit 3
SH
chmod +x "$work/chance"
ends 0 "1 questions, 0 false alarms, 0 undecided; 0 settings that this host or model does not have; 1 answers" \
  ci/false_alarms.sh --model mlp --setting threads=2 --no-calibrate "$work/chance"
ends 2 "ci/false_alarms.sh [--model NAME]" ci/false_alarms.sh --sed 2 "$reprobench"
took "false_alarms.sh"

ends 0 "2 questions, 0 answered wrongly; 0 faults" ci/planted_runs.sh --model mlp --behind isa --fault none --fault skip_update "$reprobench"
ends 2 "ci/planted_runs.sh --check" ci/planted_runs.sh --sed 2 "$reprobench"
ends 0 "changes find their places" ci/planted_runs.sh --check
took "planted_runs.sh"

ends 0 "2 of 2 held" ci/preloaded_faults.sh "$reprobench" takes_more leaks
ends 2 "preloaded_faults: no fault \`leak\`; there are ends_late" ci/preloaded_faults.sh "$reprobench" leak
took "preloaded_faults.sh"

# The job of a GPU runner where there is no GPU, or none that is asked for.
ends 2 "usage: ci/gpu_beside.sh" ci/gpu_beside.sh --out "$work"
cat >"$work/cpu.yaml" <<YAML
schema: 1
name: cpu
suites: [smoke]
axes:
  stack: [$stack]
  device: [cpu]
exclude: [{where: "workload != mlp"}]
YAML
ends 0 "on the CPU alone" ci/gpu.sh --reprobench "$reprobench" --stack "$stack" --matrix "$work/cpu.yaml" --budget 120 --out "$work/gpu"
[ -s "$work/gpu/gpu.md" ] || fail "gpu.sh leaves no page"
# What the jobs of ci/examples take from there.
taken=$(grep -ohE 'gpu-run/[a-z./]+' ci/examples/*-gpu.yml | sort -u)
[ "$(wc -l <<<"$taken")" -ge 3 ] || fail "the examples of GPU jobs take $taken"
for path in $taken; do
  [ -s "$work/gpu/${path#gpu-run/}" ] || fail "an example of a GPU job takes $path, which gpu.sh does not leave"
done
[ "$(wc -l <"$work/gpu/telemetry_cost.txt")" -eq 1 ] || fail "gpu_beside.sh does not say why it measured nothing"
[ -e /dev/nvidiactl ] || ends 4 "no cell of matrix/gpu.yaml finds its GPU" ci/gpu.sh --reprobench "$reprobench" --out "$work/none"
took "gpu.sh, gpu_beside.sh"

# One pair of one workload.
ends 2 "compare_torch: --stack is missing" ci/compare_torch.sh
ends 2 "imports another torch than $stack has, or none" ci/compare_torch.sh --stack "$stack" --python false
python=${REPROBENCH_TORCH_PYTHON:-}
if [ -z "$python" ]; then
  echo "compare_torch.sh: no Python with torch is named in REPROBENCH_TORCH_PYTHON; what it would measure is made up here"
  python3 -c 'import ast; ast.parse(open("ci/peers/torch_step.py").read())'
  python=$work/python
  cat >"$python" <<'SH'
#!/usr/bin/env bash
case "$1" in
  -c) ;;
  ci/peers/torch_step.py) echo '{"step_time_ns": 1e9, "torch": "made up", "device_name": "none"}' ;;
  *) exec python3 "$@" ;;
esac
SH
  chmod +x "$python"
fi
ends 0 "llama/tiny: a step in ms: Python " ci/compare_torch.sh --stack "$stack" --python "$python" --pairs 1 --workload llama/tiny --reprobench "$reprobench" --json -
grep -q '"ratios": {"llama/tiny": \[[0-9.]*\]}' "$work/said" || fail "compare_torch.sh says $(cat "$work/said")"
took "compare_torch.sh"
ends 1 "imports another torch than $stack has, or none" ci/package_test.sh "$reprobench" false

# One change of one file, whose tests are quick.
ends 2 "name at least one file or folder" ci/mutate.sh
ends 0 "| matrix/stats/robust.cpp | 1 | " ci/mutate.sh --build "$build" --samples 1 matrix/stats/robust.cpp
took "mutate.sh"
echo "scripts: each of ci/ is called by a step or was tried here"
