#!/usr/bin/env bash
# The first minutes on a machine with a GPU, in three calls that each fit a short loan: stages with a limit each, ordered by what would be
# missed most. A stage that fails or is cut off stops no later one, and what came before is packed already.
#
#   ci/first_gpu.sh a|b|c --out FOLDER [--python PYTHON] [--seconds N] [--limit N] [--work FOLDER]
#
#   a  facts, our kernels on the card, the worker's tests for a GPU, smoke, the negative control, determinism beside the CPU's cells
#   b  NCCL of one rank, the same runs again, throughput and memory
#   c  the same step in Python, managed memory, the checker of memory accesses, the card's own suites, what recording costs, CUB's sum,
#      every model three times
#
# --seconds is what the call may take, --limit what each stage may at most. FOLDER gets stages.txt (a line a stage: call, name, exit code,
# seconds), results-ID-N.tar.gz in parts of 15 MB, packed again after each stage (of an ID, which is a --work, the highest N that is
# whole counts), and worker.tar.gz, which saves the next call its build when it lies beside bin/. PYTHON has the torch that is judged.
#
# The same call with the same --work goes on behind the last stage that ended, and ends what a call that was killed left running.
# A full disk costs what does not fit on it.
#
# In a bundle (ci/bundle.sh --tests KERNELS_TEST BACKEND_TEST) it needs no network and no package manager. Exit code 0 if every stage
# passed and was packed.
# shellcheck disable=SC2317  # stages are called by name
set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "$0")/.."
. ci/failure_trap.sh
. ci/gpu_control.sh

usage() {
  sed -n 's/^#   ci.first/usage: ci\/first/p' "$script" >&2
  exit 2
}
[ $# -ge 1 ] || usage
call=$1 out='' python=python3 seconds=300 limit=600 work=/tmp/first-gpu
shift
while [ $# -ge 2 ]; do
  case $1 in
    --out) out=$2 ;;
    --python) python=$2 ;;
    --seconds) seconds=$2 ;;
    --limit) limit=$2 ;;
    --work) work=$2 ;;
    *) usage ;;
  esac
  shift 2
done
if [ $# -gt 0 ] || [ -z "$out" ] || ! [[ $seconds =~ ^[1-9][0-9]*$ && $limit =~ ^[1-9][0-9]*$ ]]; then usage; fi
case $call in a | b | c | stage_*) ;; *) usage ;; esac
mkdir -p "$out" "$work"
out=$(realpath "$out") work=$(realpath "$work")
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$work/stacks}
REPROBENCH_PYTHON=${REPROBENCH_PYTHON:-$(command -v "$python" || true)}
export REPROBENCH_PYTHON
reprobench=${REPROBENCH_PROGRAM:-bin/reprobench}
run() { "$reprobench" --store "$work/store" "$@"; }
site=$(timeout --kill-after=2 20 "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null || true)
nvrtc=$(find "$site/nvidia" -name 'libnvrtc.so.1[0-9]' 2>/dev/null | head -n 1) || true
worker() { find "$REPROBENCH_STACKS" -path '*/here-*/workers/*/reprobench-worker' 2>/dev/null | head -n 1; }

judged() { # NAME FILTER [OPTION...]: one run of some cells of matrix/gpu.yaml, with the stack that is here
  local status=0 carried=()
  # Where no worker could be built, the one that came along is better than none.
  if [ -z "$(worker)" ] && [ -x bin/reprobench-worker ]; then carried=(--worker "here=$PWD/bin/reprobench-worker"); fi
  sed 's/^  stack: \[.*\]/  stack: [here]/' matrix/gpu.yaml >"$work/gpu.yaml"
  if [ "$1" = models ]; then sed -i '/suite == determinism and workload not in (mlp, gpt2)/d' "$work/gpu.yaml"; fi
  rm -rf "$work/results/$1"
  # Cells of the CPU alone would pass on a machine whose GPU nobody finds.
  if ! run plan --matrix "$work/gpu.yaml" --filter "($2) and device != cpu" | grep '^runnable' >/dev/null; then
    echo "no cell of a GPU can run here"
    return 1
  fi
  run run --matrix "$work/gpu.yaml" --out "$work/results/$1" --no-report --diagnose-for 20 --fail-fast 1000 \
    "${carried[@]}" --filter "$2" "${@:3}" || status=$?
  echo "the run ended with $status"
  [ "$status" -eq 0 ]
}

# Each facts line stands alone: a tool that refuses costs its own lines.
stage_facts() {
  set +e
  # In the group of the stage, which the kill of a stage reaches.
  tell() { echo "== $*"; timeout --foreground --kill-after=1 6 "$@" 2>&1 | head -c 6000; }
  tell nvidia-smi
  tell nvidia-smi --query-gpu=name,uuid,driver_version,mig.mode.current,ecc.mode.current,persistence_mode,compute_mode,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.draw,power.limit,temperature.gpu,pcie.link.gen.current,pcie.link.width.current,pcie.link.gen.max,pcie.link.width.max,utilization.gpu,memory.used --format=csv
  tell nvidia-smi -q -d CLOCK,PERFORMANCE,ECC,PAGE_RETIREMENT
  tell nvidia-smi topo -m
  tell uname -a
  tell cat /etc/os-release
  tell lscpu
  tell free -m
  tell df -h / /tmp /dev/shm
  tell bash -c 'ulimit -a'
  tell ls -la /usr/local/nvidia /usr/local/nvidia/lib64 /dev/nvidia0 /dev/nvidiactl /dev/nvidia-uvm
  tell bash -c 'ldconfig -p | grep -E "libcuda\.|libnvidia-ml|libcudart|libcublas|libcudnn|libnccl"'
  tell bash -c 'env | sed "s/=.*TOKEN.*/=/" | grep -E "^(PATH|LD_|CUDA|NVIDIA|NCCL|PYTHON|VIRTUAL|CC|CXX|OMP|MKL|TORCH)"'
  for tool in c++ cmake ninja ccache nvcc ncu compute-sanitizer cuobjdump; do tell bash -c "command -v $tool && $tool --version | head -n 4"; done
  tell "$python" -c 'import torch; print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.nccl.version(), torch.cuda.get_device_properties(0), torch.__file__)'
  tell bash -c "'$python' -m pip list 2>/dev/null | grep -iE 'nvidia|torch|cuda|triton|jinja|numpy'"
  tell cat /proc/driver/nvidia/version
  tell cat /proc/driver/nvidia/params
  tell cat /sys/kernel/mm/transparent_hugepage/enabled /proc/sys/kernel/perf_event_paranoid /proc/sys/kernel/yama/ptrace_scope
  tell cat /proc/self/status
  return 0
}

# The stack `here`; what was packed by an earlier call is taken again if it still is the same.
stage_adopt() {
  if [ -f worker.tar.gz ]; then
    mkdir -p "$REPROBENCH_STACKS"
    tar xzf worker.tar.gz -C "$REPROBENCH_STACKS" || true
  fi
  # A compiler beside the distribution's may bring a C++ runtime of its own, which LibTorch's does not bear.
  unset CC CXX
  run stack adopt --python "$python" here || run stack adopt --libtorch "$site/torch" here
  "$(worker)" describe >"$work/results/describe.json"
  if tar czf "$out/worker.tmp" -C "$REPROBENCH_STACKS" . && mv "$out/worker.tmp" "$out/worker.tar.gz"; then return; fi
  rm -f "$out/worker.tmp"
  echo "the worker is not packed"
  return 1
}

stage_kernels() {
  REPROBENCH_TEST_CUDA=libcuda.so.1 REPROBENCH_TEST_NVRTC=$nvrtc bin/kernels_test -d yes \
    '[digest][device],[sketch][device],[reduce][device],[philox][device],[stream][device],[latency][device]'
}

stage_doctor() { run doctor; }

stage_device_tests() { bin/backend_test -d yes '[gpu]~[managed]~[nccl]'; }

# Alone: NCCL reads its environment once a process.
stage_nccl() { bin/backend_test -d yes '[nccl]'; }

stage_smoke() { judged smoke 'suite == device_smoke or (suite == smoke and precision == fp32)' --jobs 4; }

stage_control() {
  judged control "$control_filter" "${control_faults[@]}" >"$work/control.txt" || true
  cat "$work/control.txt"
  control_found "$(sed -n 's/^the run ended with //p' "$work/control.txt" | tail -n 1)" "$work/control.txt"
}

stage_determinism() { judged determinism 'suite == determinism' --jobs 2; }

stage_smoke_16() { judged smoke_16 'suite == smoke and precision != fp32' --jobs 4; }

stage_speed() { judged speed 'suite in (throughput, memory) and device != cpu' --repeat 3; }

stage_card() { judged card 'suite in (device_memory, device_compute, device_stress) and device != cpu'; }

# What recording costs a step, and CUB's sum.
stage_beside() {
  mkdir -p "$work/results/beside"
  ci/gpu_beside.sh --out "$work/results/beside" --stack here --reprobench "$reprobench" --seconds 60
  rm -f "$work/results/beside/cub_reduce"
}

beside_python() { # NAME [OPTION...]
  local device
  # `sed` reads to the end: with pipefail a reader that ends at the first line of several GPUs ends the stage.
  device=$(timeout --kill-after=1 6 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1{s/^/sm_/; s/[.]//p}' || true)
  ci/compare_torch.sh --stack here --python "$python" --device "$device" --precision bf16 --pairs 1 --workload mlp/base --workload gpt2/tiny \
    --reprobench "$reprobench" --json "$work/results/$1.json" "${@:2}"
}
stage_eager() { beside_python eager; }
stage_compiled() { beside_python compiled --compile; }

# Every model three times, where matrix/gpu.yaml has time for two.
stage_models() {
  judged models 'suite == determinism and precision == fp32 and device != cpu and workload not in (mlp, gpt2)' --jobs 3
}

stage_managed() { bin/backend_test -d yes '[managed]'; }

# Every kernel of ours, and two steps of a training, under the checker of memory accesses.
stage_sanitizer() {
  REPROBENCH_TEST_CUDA=libcuda.so.1 REPROBENCH_TEST_NVRTC=$nvrtc compute-sanitizer --error-exitcode 9 bin/kernels_test \
    '[digest][device],[sketch][device],[reduce][device],[philox][device]'
}
# With the environment that the training had, as the worker checks it.
stage_two_steps() {
  local folder environment
  judged two_steps 'suite == smoke and workload == mlp and precision == fp32 and device != cpu'
  folder=$(dirname "$(find "$work/results/two_steps" -name request.json | head -n 1)")
  mapfile -t environment < <("$python" -c 'import json, sys
for item in json.load(open(sys.argv[1]))["fingerprint"]["environment"].items(): print("=".join(item))' "$folder/result.json" | grep '=')
  mkdir -p "$work/two-steps"
  sed 's/"steps": *[0-9]*/"steps":2/' "$folder/request.json" >"$work/two-steps/request.json"
  cd "$work/two-steps"
  env "${environment[@]}" compute-sanitizer --error-exitcode 9 "$(worker)" run request.json --data "$OLDPWD/models/data"
}

case $call in stage_*) "$call"; exit ;; esac

mkdir -p "$work/results/logs"
touch "$work/stages.txt"
exec 8>"$work/lock"
flock -n 8 || { echo "first gpu: another call works in $work" >&2; exit 2; }
# What a call that was killed left running would share the card with this one. Who started it would call the stage done.
for file in "$work"/running-*; do
  read -r starter group <"$file" || continue
  if grep -qs first_gpu.sh "/proc/$starter/cmdline"; then kill -KILL "$starter"; fi
  if grep -qs first_gpu.sh "/proc/$group/cmdline"; then kill -KILL -- "-$group"; fi
  rm -f "$file"
done 2>/dev/null

# Another working folder's packages are not ours to take away.
[ -s "$work/id" ] || date +%s >"$work/id" || true
id=$(cat "$work/id")
id=${id:-$$}

# pack STAGE: all results in a new package; those before go when that is whole. Whoever is killed here, or finds no room, loses nothing.
pack() {
  local older number ended
  cp "$work/stages.txt" "$out/stages.tmp" && mv "$out/stages.tmp" "$out/stages.txt"
  older=$(find "$out" -maxdepth 1 -name "results-$id-*.tar.gz.*")
  number=$(find "$out" -maxdepth 1 -name "results-$id-*.tar.gz.*" -printf '%f\n' | cut -d - -f 3 | cut -d . -f 1 | sort -n | tail -n 1)
  number=$((number + 1))
  tar cz -C "$work" stages.txt results | split -b 15000000 -d -a 1 - "$out/results-$id-$number.tar.gz." && ended=(0 0) || ended=("${PIPESTATUS[@]}")
  # tar has 1 for a file that changed meanwhile, such as the log of a stage beside this one.
  if [ "${ended[0]}" -le 1 ] && [ "${ended[1]}" -eq 0 ]; then
    xargs -r -d '\n' rm -f <<<"$older"
    rm -f "$work/not-packed"
    return
  fi
  : >"$work/not-packed"
  rm -f "$out/stages.tmp" "$out/results-$id-$number.tar.gz".* # half a package takes the room of the next
  echo "first gpu: the results of $1 are not packed"
}

# stage NAME LIMIT: with what the call has left at most.
stage() {
  local left=$((seconds - SECONDS)) longest=$(($2 < limit ? $2 : limit)) began=$SECONDS status=0 group
  grep -q "^$call $1 " "$work/stages.txt" && return
  if [ "$left" -lt 3 ]; then
    echo "first gpu: no time is left for $1"
    return
  fi
  timeout --kill-after=5 "$((left < longest ? left : longest))" "$script" "stage_$1" --out "$out" --python "$python" --work "$work" \
    >"$work/results/logs/$1.txt" 2>&1 8>&- &
  group=$!
  echo "$BASHPID $group" >"$work/running-$1" || true
  wait "$group" || status=$?
  # Without errexit: where a disk is full, the next stage still begins.
  {
    flock 9 # one stage may run beside another
    echo "$call $1 $status $((SECONDS - began))" | tee -a "$work/stages.txt"
    [ "$status" -eq 0 ] || tail -n 25 "$work/results/logs/$1.txt"
    pack "$1"
  } 9>"$work/packing" || true
  rm -f "$work/running-$1"
}

case $call in
  a)
    stage facts 40
    # The compilers keep the CPU busy, the kernels' tests the card.
    ( stage adopt 200 ) 8>&- &
    stage kernels 60
    stage device_tests 60
    stage doctor 30
    wait
    stage smoke 90
    stage control 40
    stage determinism 100
    stage smoke_16 60
    ;;
  b)
    stage adopt 200
    stage nccl 20
    stage smoke 90
    stage control 40
    stage determinism 100
    stage smoke_16 60
    stage speed 150
    ;;
  c)
    stage adopt 200
    stage eager 150
    stage managed 15
    stage sanitizer 25
    stage two_steps 30
    stage card 110
    stage beside 65
    stage models 60
    stage nccl 10
    stage compiled 150
    ;;
esac
wanted=$(sed -n "/^  $call)$/,/^    ;;$/s/^ *(* *stage \([a-z_0-9]*\) .*/\1/p" "$script")
for name in $wanted; do grep -q "^$call $name 0 " "$work/stages.txt" || exit 1; done
[ ! -e "$work/not-packed" ]
