#!/usr/bin/env bash
# `image inspect` on a real PyTorch wheel, packed by buildah: a whole image has no finding and its claims agree, in every form alike;
# one that was put together wrongly is named for what is wrong with it. A registry is asked for real (Debian's docker-registry).
#
#   ci/inspect_test.sh REPROBENCH [ROOT]    # with the stack installed in $REPROBENCH_STACKS
#
# ROOT is a folder that debootstrap made; without one the image has the C and C++ libraries of this machine and nothing else, which
# is packed faster. Needs root and buildah, as ci/image_test.sh does.
set -euo pipefail
reprobench=$(realpath "$1")
base=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

stack="torch-2.9.0-cu128"
stacks=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
mkdir -p build-ci
work=$(mktemp -d -p "$PWD/build-ci" inspect.XXXXXX)
b() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
whole='' wrong='' small='' registry=''
clean_up() {
  [ -z "$registry" ] || kill "$registry" 2>/dev/null || true
  for one in "$whole" "$wrong" "$small"; do [ -z "$one" ] || b rm "$one" >/dev/null 2>&1 || true; done
  b rmi reprobench-whole reprobench-wrong reprobench-oci reprobench-docker >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
fail() { echo "inspect: $1" >&2; exit 1; }

site=$(find "$stacks" -maxdepth 2 -path "*/$stack-*/site" | sort | tail -n 1)
[ -n "$site" ] || fail "the stack $stack is not installed in $stacks"
packages=/opt/venv/lib/python3.12/site-packages

# inspect NAME IMAGE ARGUMENT...: its JSON in NAME.json, its exit code in `code`.
inspect() {
  code=0
  "$reprobench" --store "$work/store" image inspect "${@:2}" --json >"$work/$1.json" 2>"$work/$1.err" || code=$?
}
# said NAME EXPRESSION: of the document, as Python has it.
said() {
  python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/$1.json" "$2"
}
is() { [ "$(said "$1" "$2")" = "$3" ] || fail "$1: $2 is $(said "$1" "$2"), not $3"; }

# A root that has what the libraries of PyTorch ask for.
if [ -z "$base" ]; then
  base=$work/root
  mkdir -p "$base/etc" "$base/lib/x86_64-linux-gnu" "$base/usr/bin"
  printf 'root:x:0:0:root:/root:/usr/sbin/nologin\n' >"$base/etc/passwd"
  printf 'root:*:19000:0:99999:7:::\n' >"$base/etc/shadow"
  ldd "$site/torch/lib/libtorch_cpu.so" | awk '{ for (i = 1; i <= NF; ++i) if ($i ~ "^(/usr)?/lib(64)?/") print $i }' | sort -u | xargs -I{} cp -L {} "$base/lib/x86_64-linux-gnu/"
fi
# But for what is known of its versions, which the facts say of every image.
findings='sorted({f["code"] for f in d["findings"] if f["code"] != "known-defect"})'
whole=$(b from scratch)
b add --quiet "$whole" "$base" / >/dev/null
b add --quiet "$whole" "$site" $packages >/dev/null
b config --env CUDA_VERSION=12.8.1 --env PYTORCH_VERSION=2.9.0 --user 10001 --cmd '["python3"]' "$whole"
b commit --quiet --format oci "$whole" reprobench-whole >/dev/null
b push --quiet reprobench-whole "oci:$work/layout:pytorch:2.9.0-cuda12.8-runtime" >/dev/null
b push --quiet reprobench-whole "docker-archive:$work/docker.tar:team/pytorch:2.9.0-cuda12.8-runtime" >/dev/null
echo "inspect: packed after $SECONDS s"
for form in layout docker.tar; do
  inspect "$form" "$work/$form"
  [ "$code" -eq 0 ] || fail "$form of a whole image ends with $code: $(cat "$work/$form.err") $(said "$form" 'd["findings"] + d["claims"]')"
  is "$form" "$findings" '[]'
  is "$form" '[c["word"] for c in d["claims"]]' "['agrees', 'agrees', 'agrees', 'agrees']"
  is "$form" '{c["component"]: c["version"] for c in d["components"]}["torch"]' 2.9.0+cu128
  [ "$(said "$form" 'd["components"], d["libraries"]')" = "$(said layout 'd["components"], d["libraries"]')" ] ||
    fail "$form says something else than the layout of the same image"
done
inspect root "$(b mount "$whole")"
is root "$findings" '[]'
is root 'd["claims"]' '[]'
[ "$(said root 'd["components"], d["libraries"]')" = "$(said layout 'd["components"], d["libraries"]')" ] ||
  fail "the unpacked root says something else than the layout of the same image"

# Of a registry the digest is the one that people pull by, whichever kind of manifest it has.
# Unpacked and not installed, which would start a service.
download() { (cd "$work" && apt-get -o APT::Sandbox::User=root download -qq docker-registry >/dev/null); }
download 2>/dev/null || { apt-get update -qq && download; }
dpkg -x "$work"/docker-registry_*.deb "$work/registry"
cat >"$work/registry.yml" <<YAML
version: 0.1
storage: {filesystem: {rootdirectory: $work/kept}}
http: {addr: "127.0.0.1:0"}
YAML
"$work/registry/usr/bin/docker-registry" serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
registry=$!
for _ in $(seq 100); do
  host=$(sed -nE 's/.*listening on (127\.0\.0\.1:[0-9]+).*/\1/p' "$work/registry.log" | head -n 1)
  [ -z "$host" ] || break
  sleep 0.1
done
[ -n "$host" ] || fail "no registry: $(cat "$work/registry.log")"
mkdir -p "$work/home/.config/containers"  # it speaks no TLS
printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$host" >"$work/home/.config/containers/registries.conf"
small=$(b from scratch)
b add --quiet "$small" "$work/registry.yml" /etc/registry.yml >/dev/null
for format in oci docker; do
  b commit --quiet --format "$format" "$small" "reprobench-$format" >/dev/null
  name=docker://$host/team-$format/pytorch:2.9.0-cuda12.8
  b push --quiet --tls-verify=false "reprobench-$format" "$name" >/dev/null
  HOME=$work/home inspect "$format" "$name"
  [ "$code" -eq 1 ] || fail "an image without PyTorch of a registry ends with $code: $(cat "$work/$format.err")"
  is "$format" 'd["digest"]' "$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "$name")"
  is "$format" '[(c["component"], c["claimed"]) for c in d["claims"]]' "[('torch', '2.9.0'), ('cuda', '12.8')]"
done
kill "$registry"
wait "$registry" 2>/dev/null || true
registry=''
inspect gone "$name"
[ "$code" -eq 2 ] || fail "a registry that is gone ends with $code"
echo "inspect: two images of a registry after $SECONDS s"
[ -z "$(ls "$work/store")" ] || fail "something is left in the store: $(ls "$work/store")"

# A library that was cut off and one that was changed, another CUDA runtime beside them, a token, and a base image's variables.
wrong=$(b from reprobench-whole)
root=$(b mount "$wrong")
printf 'cut off' >"$root$packages/torch/lib/libc10.so"
runtime=$(cd "$root" && find ".$packages/nvidia" -name 'libcudart.so.12' | head -n 1)
mkdir -p "$root/usr/local/cuda/lib64" "$root/root"
cupti=$(cd "$root" && find ".$packages/nvidia" -name 'libcupti.so.12' | head -n 1)
cp "$root/$runtime" "$root/usr/local/cuda/lib64/libcudart.so.12"
python3 - "$root/usr/local/cuda/lib64/libcudart.so.12" "$root/$cupti" <<'PYTHON'
import sys
for name in sys.argv[1:]:
    data = bytearray(open(name, "rb").read())
    data[data.index(b"\x03\0\0\0GNU\0") + 8] ^= 1  # the build id
    open(name, "wb").write(data)
PYTHON
echo "password hf_0123456789abcdefghijklmnopqrstuvwx" >"$root/root/.netrc"
chmod 666 "$root$packages/torch/version.py"
b config --env CUDA_VERSION=11.8.0 --env NCCL_VERSION=2.15.5-1 --user root "$wrong"
b commit --quiet "$wrong" reprobench-wrong >/dev/null
b push --quiet reprobench-wrong "oci-archive:$work/wrong.tar:pytorch:2.9.0" >/dev/null
inspect wrong "$work/wrong.tar" --claims docker/claims/pytorch-cuda-v2.9.yaml --junit "$work/junit.xml"
[ "$code" -eq 1 ] || fail "an image that was put together wrongly ends with $code: $(cat "$work/wrong.err")"
is wrong "$findings" \
  "['changed-library', 'damaged-library', 'never-released', 'runs-as-root', 'second-copy', 'secret', 'world-writable']"
is wrong '[c["word"] for c in d["claims"] if c["source"] == "ENV CUDA_VERSION"]' "['contradicted']"
is wrong '[c["word"] for c in d["claims"] if c["component"] == "cuda"]' "['contradicted', 'contradicted']"
is wrong '[c["word"] for c in d["claims"] if c["component"] in ("nccl", "torchvision", "ssh")]' "['contradicted', 'contradicted', 'contradicted']"
grep -q '<failure' "$work/junit.xml" || fail "its JUnit has no failure"

# A lie about a digest is no image.
python3 - "$work/layout" <<'PYTHON'
import os, sys
blobs = sys.argv[1] + "/blobs/sha256"
layer = max(os.listdir(blobs), key=lambda name: os.path.getsize(f"{blobs}/{name}"))
with open(f"{blobs}/{layer}", "r+b") as file:
    file.seek(-9, os.SEEK_END)
    file.write(b"!")
PYTHON
inspect lie "$work/layout"
[ "$code" -eq 2 ] || fail "a layer with another content than its digest says ends with $code"
grep -q 'error\[RB07[56]\]' "$work/lie.err" || fail "a changed layer is called: $(cat "$work/lie.err")"
echo "inspect: an image of $stack in three forms, two of a registry, one put together wrongly, one that lies about a digest; $SECONDS s"
