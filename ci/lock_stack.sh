#!/usr/bin/env bash
# Writes the lock of a wheel stack: ci/lock_stack.sh NAME reads matrix/stacks/NAME.yaml and writes the lock beside it.
#
# Downloads every wheel of the stack once (2 to 4 GB, removed afterwards) from whatever index pip is configured for, so
# that names, sizes and SHA-256 are of the bytes seen. Needs bash and a python3 with pip, on x86_64 Linux, because pip
# judges the wheels' own platform conditions by the machine it runs on.
#
# torch requires what it loads. The headers of the CUDA runtime also include crt/host_defines.h and nv/target, which no
# wheel of the runtime has. The first comes with the compiler, in CUDA 13 as a wheel of its own, in CUDA 12 inside nvcc's;
# NVRTC is released with the compiler, so its version says which. The second comes with CCCL, of the same CUDA.
set -euo pipefail
# shellcheck source=ci/failure_trap.sh
. "$(dirname "$0")/failure_trap.sh"

if [[ $# -ne 1 ]]; then
  echo "usage: ci/lock_stack.sh NAME   (a wheel stack of matrix/stacks/)" >&2
  exit 2
fi
if [[ "$(uname -sm)" != "Linux x86_64" ]]; then
  echo "ci/lock_stack.sh: locks are made on x86_64 Linux, this is $(uname -sm)" >&2
  exit 2
fi
stacks="$(cd "$(dirname "$0")/../matrix/stacks" && pwd)"
name=$1
spec="$stacks/$name.yaml"
[[ -f "$spec" ]] || { echo "ci/lock_stack.sh: $spec does not exist; write the stack file first" >&2; exit 2; }
torch=$(sed -nE 's/^components:.*torch: *"([0-9.]+).*/\1/p' "$spec")
python=$(sed -nE 's/^ *(wheel:.*)?python: *"([0-9]+\.[0-9]+)".*/\2/p' "$spec")
[[ -n "$torch" && -n "$python" ]] || { echo "ci/lock_stack.sh: $spec names no torch or no python version" >&2; exit 2; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/lock-stack.XXXXXX")
trap 'rm -rf "$folder"' EXIT
platforms=()
for glibc in {17..35}; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
platforms+=(--platform manylinux2014_x86_64)
download() { # REQUIREMENT OPTION...
  TMPDIR="$folder" python3 -m pip download --no-cache-dir --only-binary=:all: --implementation cp --python-version "$python" \
    --abi "cp${python/./}" "${platforms[@]}" --dest "$folder/wheels" "$@" >&2
}
download "torch==$torch"
for nvrtc in "$folder"/wheels/nvidia_cuda_nvrtc*.whl; do
  [[ -f "$nvrtc" ]] || continue # no CUDA
  IFS=- read -r distribution version _ <<<"${nvrtc##*/}"
  suffix=${distribution#nvidia_cuda_nvrtc} # _cu12, or none from CUDA 13 on
  compiler=nvidia-cuda-crt
  [[ -z "$suffix" ]] || compiler=nvidia-cuda-nvcc${suffix/_/-}
  # A repaired NVRTC may come without a compiler of its number (12.4.127): another one of the same CUDA has the header, too.
  download --no-deps "$compiler==$version" || download --no-deps "$compiler==${version%.*}.*"
  compgen -G "$folder/wheels/nvidia_cuda_cccl*.whl" >/dev/null || download --no-deps "nvidia-cuda-cccl${suffix/_/-}==${version%.*}.*"
done

python3 - "$name" "$folder/wheels" > "$stacks/$name.lock.new" <<'PYTHON'
import hashlib, pathlib, sys

name, folder = sys.argv[1:]
print(f"# The wheels of {name}, written by ci/lock_stack.sh; every line is a pip requirement with its file and size.")
print("# What torch needs from Python alone (sympy, jinja2, networkx, filelock, fsspec, typing-extensions, setuptools),")
print("# triton, cuda-bindings and the meta packages are no part of the C++ stack and are left out.")
for wheel in sorted(pathlib.Path(folder).glob("*.whl")):
    distribution, version = wheel.name.split("-")[:2]
    distribution = distribution.replace("_", "-")
    if distribution != "torch" and not distribution.startswith("nvidia-"):
        continue
    with wheel.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    print(f"{distribution}=={version} --hash=sha256:{digest}  # {wheel.name} {wheel.stat().st_size} bytes")
PYTHON
mv "$stacks/$name.lock.new" "$stacks/$name.lock"
echo "$stacks/$name.lock: $(grep -c == "$stacks/$name.lock") wheels" >&2
