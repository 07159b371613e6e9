#!/usr/bin/env bash
# Every *_fuzz.cpp: its program runs on mutated seeds for a while. A crash, a sanitizer's finding, an input that takes too
# long or too much memory is a failure, and so is a program that was not built or has no seeds here. Before anything else the
# planted bug of ci/planted_bug_fuzz.cpp must be found.
#
#   ci/fuzz.sh build-asan [SECONDS [JOBS]]      20 seconds a parser, as many at a time as there are cores
#
# With Clang the programs are libFuzzer's:
#   CXX=clang++ cmake --preset asan -B build-fuzz && cmake --build build-fuzz && ci/fuzz.sh build-fuzz 600
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

build=$1
seconds=${2:-20}
jobs=${3:-$(nproc)}
findings=$build/fuzz-findings
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
export ASAN_OPTIONS=hard_rss_limit_mb=2048

# seed NAME FILE...: files of the repository; lines NAME: a file each from standard input.
seed() { mkdir -p "$seeds/$1" && cp --backup=numbered "${@:2}" "$seeds/$1/"; }
lines() { mkdir -p "$seeds/$1" && split -l 1 -a 4 - "$seeds/$1/line-"; }

# fuzz NAME: what it says goes into NAME.log; the input that was being tried stays in NAME.work if it did not end well.
fuzz() {
  mkdir -p "$seeds/$1.work"
  timeout --kill-after 5 $((seconds * 2 + 20)) "$build/bin/$1" "-max_total_time=$seconds" "-artifact_prefix=$seeds/$1.work/" \
    "$seeds/$1" </dev/null >"$seeds/$1.log" 2>&1
}

echo step=20 | lines planted_bug_fuzz
if fuzz planted_bug_fuzz || [ ! -s "$seeds/planted_bug_fuzz.work/current-input" ]; then
  cat "$seeds/planted_bug_fuzz.log" >&2
  echo "fuzz: the planted bug was not found, or its input was not kept" >&2
  exit 1
fi
echo "planted_bug_fuzz: found, with the input $(head -c 60 "$seeds/planted_bug_fuzz.work/current-input" | tr -c '[:print:]' '?')"

seed yaml_reader_fuzz matrix/*.yaml matrix/stacks/*.yaml suites/definitions/*.yaml
printf '%s\n' '(0..63f)' '(0 2f (1 3f))' '(0..6/2 (1..7/2))' '(4 0..3f)' | lines order_text_fuzz
seed lock_file_fuzz matrix/stacks/*.lock
seed config_fuzz matrix/lint/testdata/*.json
seed instruction_file_fuzz models/data/instructions/instructions.json
printf '%s\n' '{"instruction": "a", "input": "", "output": "b"}' | lines instruction_file_fuzz
printf '%s\n' '{"metadata": {"total_size": 20}, "weight_map": {"t.0": "model-00001-of-00002.safetensors", "t.1": "b.safetensors"}}' |
  lines weights_index_fuzz
seed safetensors_fuzz matrix/contract/testdata/*.safetensors
grep -rhoP '(?<=where: ")[^"]+' matrix/*.yaml suites/definitions matrix/spec | sort -u | lines selector_fuzz
printf '%s\n' 'kind=weight_ulp,step=20,tensor=fc1.weight,element=5,repeat=1,stack=torch-2.9.0-cu128' \
  'kind=atomic_add,repeat=0,step=2,tensor=fc1.weight,element=0,precision=fp32,suite=determinism' | lines inject_fuzz

seed call_list_fuzz suites/operators/*.yaml
mkdir -p "$seeds/machine_fuzz"
cat >"$seeds/machine_fuzz/sysfs" <<'SYSFS'
devices/system/node/node0/cpulist 0-15
devices/system/node/node0/distance 10 21
devices/pci0000:00/0000:00:01.0/0000:03:00.0/class 0x030200
devices/pci0000:00/0000:00:01.0/0000:03:00.0/vendor 0x10de
devices/pci0000:00/0000:00:01.0/0000:03:00.0/numa_node 0
devices/pci0000:00/0000:00:01.0/0000:03:00.0/max_link_speed 16.0 GT/s PCIe
devices/pci0000:00/0000:00:01.0/0000:03:00.0/current_link_width 16
bus/pci/devices/0000:03:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:03:00.0
class/net/eth0/speed 25000
class/net/eth0/device -> ../../../devices/pci0000:00/0000:00:01.0/0000:03:00.0
class/infiniband/mlx5_0/ports/1/rate 400 Gb/sec (4X NDR)
model name	: AMD EPYC 9654
flags		: avx2 fma avx512f
SYSFS
cat >"$seeds/machine_fuzz/nccl" <<'NCCL'
host:1:1 [0] NCCL INFO NCCL version 2.27.5+cuda12.9
host:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[6] via P2P/CUMEM/read
host:1:1 [0] NCCL INFO Channel 00 : 1[af000] -> 2[b0000] via SHM/direct/direct
a:1:2 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[0] [send] via NET/IB/0/GDRDMA
host:1:1 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}
host:1:1 [0] NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512
NCCL
# A byte that chooses a reader comes before the document.
documents() { # NAME FILE...
  local target=$1 file
  shift
  mkdir -p "$seeds/$target"
  for file; do (printf x; cat "$file") >"$seeds/$target/$(tr / _ <<<"$file")"; done
}
for target in run_documents_fuzz verdict_documents_fuzz; do
  documents $target matrix/contract/testdata/2.0/*.json matrix/contract/testdata/2.0/run/*.json reports/tests/golden/*/*.json
done
documents comparisons_fuzz matrix/contract/testdata/2.0/comparison*.json
seed comparisons_fuzz matrix/inquiry/nccl_tests/testdata/*.json

# Lines that a worker and the telemetry wrote: a run with the fake worker on a machine that the fake libnvidia-ml plays.
bin=$(realpath "$build")/bin
[ -x "$bin/reprobench" ] || bin=$PWD/build-ci/bin  # a sanitized build has no coordinator unless it was asked for
echo '{"gpus": [{"uuid": "GPU-a", "name": "NVIDIA H100 80GB HBM3", "sm_clock_mhz": 1980, "clock_events": 4, "pids": [1]}],
  "commands": [{"at_ms": 50, "gpu": "GPU-a", "xid": 31}]}' >"$seeds/machine.json"
sed 's/device: .*/device: [sm_90]/; /^required/,$d' matrix/smoke.yaml >"$seeds/gpu.yaml"
REPROBENCH_NVML_LIBRARY=$bin/libreprobench-fake-nvml.so REPROBENCH_FAKE_NVML=$seeds/machine.json REPROBENCH_LOCK_DIR=$seeds \
  "$bin/reprobench" --quiet --store "$seeds/store" run --no-report --matrix "$seeds/gpu.yaml" --out "$seeds/run" \
  --worker "torch-2.9.0-cu128=$bin/reprobench-fake-worker --do paced=20" \
  --worker "torch-2.8.0-cu128=$bin/reprobench-fake-worker --do paced=20" >"$seeds/run.log" 2>&1 || true  # any verdict will do
for name in trace telemetry; do
  find "$seeds/run" -name "$name.jsonl" | sort | xargs -r cat | sed -n 1,50p >"$seeds/$name.lines"
  [ -s "$seeds/$name.lines" ] || { cat "$seeds/run.log" >&2; echo "fuzz: the run left no $name.jsonl" >&2; exit 1; }
done
lines trace_line_fuzz <"$seeds/trace.lines"
lines telemetry_fuzz <"$seeds/telemetry.lines"
cat "$seeds/trace.lines" "$seeds/telemetry.lines" "$seeds/run/journal.jsonl" | sed 's/^/x/' | lines run_documents_fuzz

mkdir "$seeds/image_fuzz"
python3 - "$seeds/image_fuzz" <<'PYTHON'
import hashlib, io, json, sys, tarfile

def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            if content.startswith(b"->"):
                entry.type, entry.linkname = tarfile.SYMTYPE, content[2:].decode()
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()

layer = tar({"etc/passwd": b"root::0:0::/:/bin/sh\n", "lib": b"->usr/lib", "lib/libtorch_cpu.so": b"\x7fELF", "etc/.wh.x": b"",
             "s/torch-2.9.0.dist-info/METADATA": b"Name: torch\nVersion: 2.9.0\n", "s/torch-2.9.0.dist-info/RECORD": b"torch/x,sha256=,1\n"})
sha = lambda data: hashlib.sha256(data).hexdigest()
config = json.dumps({"architecture": "amd64", "config": {"Env": ["CUDA_VERSION=12.8"], "Cmd": ["jupyter", "--token="]},
                     "rootfs": {"diff_ids": ["sha256:" + sha(layer)]}}).encode()
docker = [{"Config": "c.json", "RepoTags": ["pytorch:2.9.0"], "Layers": ["l.tar"]}]
manifest = json.dumps({"config": {"digest": "sha256:" + sha(config)}, "layers": [{"mediaType": "tar", "digest": "sha256:" + sha(layer)}]}).encode()
index = json.dumps({"manifests": [{"digest": "sha256:" + sha(manifest)}]}).encode()
blob = lambda data: "blobs/sha256/" + sha(data)
open(sys.argv[1] + "/docker", "wb").write(tar({"manifest.json": json.dumps(docker).encode(), "c.json": config, "l.tar": layer}))
open(sys.argv[1] + "/oci", "wb").write(tar({"index.json": index, blob(manifest): manifest, blob(config): config, blob(layer): layer}))
PYTHON
mkdir "$seeds/zip_directory_fuzz"
python3 - "$seeds/zip_directory_fuzz" <<'PYTHON'
import sys, zipfile
for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
    with zipfile.ZipFile(f"{sys.argv[1]}/method-{method}.zip", "w", method) as archive:
        archive.writestr("torch/lib/libc10.so", b"x" * 50)
        archive.writestr("torch/include/", b"")
        with archive.open("torch/version.py", "w", force_zip64=True) as entry:
            entry.write(b"version")
PYTHON

rm -rf "$findings"
report() { # NAME
  if fuzz "$1"; then
    echo "$1: $(tail -n 1 "$seeds/$1.log")"
    return
  fi
  mkdir -p "$findings" && cp -r "$seeds/$1.work" "$findings/$1"
  tail -n 40 "$seeds/$1.log"
  echo "$1: FAILED; the input is in $findings/$1"
  return 1
}
while read -r source; do
  name=$(basename "$source" .cpp)
  [ "$name" = planted_bug_fuzz ] && continue
  # A layer whose sanitized tests are left to `ci/test.sh --all` has no program here either (Layer.cmake: TESTED_OPTIMISED).
  layer=$(cut -d/ -f2 <<<"$source")
  if grep -q TESTED_OPTIMISED "matrix/$layer/CMakeLists.txt" 2>/dev/null && [ ! -e "$build/bin/${layer}_test" ]; then
    echo "$name: not built here, as the sanitized tests of $layer"
    continue
  fi
  [ -d "$seeds/$name" ] || { echo "fuzz: $name has no seeds in ci/fuzz.sh" >&2; exit 1; }
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  { report "$name" || touch "$seeds/failed"; } &
done < <(git ls-files '*_fuzz.cpp')
wait
[ ! -e "$seeds/failed" ]
