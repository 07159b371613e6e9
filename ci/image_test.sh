#!/usr/bin/env bash
# A runner's image, built by buildah on a root made by debootstrap: `doctor` and a small training pass inside, as the user of the image,
# with its own entry point; its health check passes; and nothing in it lets anybody in.
#
#   ci/image_test.sh [PRESET]    # of the coordinator that is packed; `ci`
#   ci/image_test.sh --root      # makes the root alone, which waits for packages more than it computes
#
# Needs root, debootstrap and buildah, and neither a daemon nor overlayfs nor user namespaces. The root is made once and kept in
# build-PRESET/images. The stack is not installed in the image: that of $REPROBENCH_STACKS is its volume, at the path where it was
# installed, because a worker finds its LibTorch by that path.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

root_alone=no preset=${1:-ci}
if [ "$preset" = --root ]; then root_alone=yes preset=ci; fi
stack="torch-2.9.0-cu128"
stacks=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
cache=$PWD/build-$preset/images
python=$(command -v /usr/bin/python3 || command -v python3)
mkdir -p "$cache"
work=$(mktemp -d -p "$cache" work.XXXXXX)
container='' faulty=''
b() { buildah --root "$cache/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
clean_up() {
  for one in "$container" "$faulty"; do [ -z "$one" ] || b rm "$one" >/dev/null 2>&1 || true; done
  b rmi reprobench-runner >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
fail() { echo "image: $1" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail "debootstrap and buildah's chroot need root"

# The packages of the image are in the root already, so that its own installation of them has nothing left to fetch.
packages=$(sed -n 's/^      \(ca-certificates .*\) \\$/\1/p' "docker/runner-$stack.Dockerfile" | tr ' ' ',')
[ -n "$packages" ] || fail "the Dockerfile's packages are not found in it"
base=reprobench-base:$(echo "bookworm $packages" | sha256sum | cut -c 1-12)
if ! b inspect --type image "$base" >/dev/null 2>&1; then
  rm -rf "$cache/root"
  debootstrap --variant=minbase --include="$packages" bookworm "$cache/root" >"$cache/debootstrap.log" 2>&1 ||
    { tail -n 5 "$cache/debootstrap.log" >&2; fail "debootstrap made no root"; }
  rm -rf "$cache"/root/var/cache/apt/archives/*.deb "$cache"/root/var/lib/apt/lists/*
  scratch=$(b from scratch)
  b add --quiet "$scratch" "$cache/root" / >/dev/null
  b commit --quiet --rm "$scratch" "$base" >/dev/null
  rm -rf "$cache/root"
fi
echo "image: the root is there after $SECONDS s"
[ "$root_alone" = no ] || exit 0

mkdir "$work/context"
ci/bundle.sh --preset "$preset" --out "$work/context/reprobench.tar.gz"
b bud --quiet --layers=false --isolation chroot --format docker --build-arg BASE="localhost/$base" \
  -f "docker/runner-$stack.Dockerfile" -t reprobench-runner "$work/context" >"$work/bud.log" 2>&1 ||
  { tail -n 20 "$work/bud.log" >&2; fail "the image is not built"; }
echo "image: built after $SECONDS s"

# config TEMPLATE: of the image.
config() { b inspect --type image --format "$1" reprobench-runner; }
[ "$(config '{{.Docker.Config.User}}')" = 10001:10001 ] || fail "its user is $(config '{{.Docker.Config.User}}')"
torch=$(sed -n 's/^components:.*[{ ]torch: "\([^"]*\)".*/\1/p' "matrix/stacks/$stack.yaml")
[ "$(config '{{index .Docker.Config.Labels "io.reprobench.stack.torch"}}')" = "$torch" ] || fail "its label does not name torch $torch"
variables=$(config '{{range .Docker.Config.Env}}{{println .}}{{end}}' | sed '/^$/d; s/=.*//' | sort | xargs)
[ "$variables" = "HOME NVIDIA_DRIVER_CAPABILITIES NVIDIA_VISIBLE_DEVICES PATH REPROBENCH_STACK REPROBENCH_STACKS" ] ||
  fail "its environment has other variables than those: $variables"

setuid_files() { (cd "$1" && find . -xdev -type f -perm /6000 | sort); }
container=$(b from reprobench-runner)
faulty=$(b from "localhost/$base")
known=$(setuid_files "$(b mount "$faulty")")

# ways_in ROOT: one line for each account with a password or without need of one, server, and file that gives rights away.
ways_in() {
  local root=$1
  [ -s "$root/etc/shadow" ] || echo "no /etc/shadow"
  awk -F: '$2 !~ /^[*!]/ { print "account " $1 " can log in by password" }' "$root/etc/shadow"
  awk -F: '$2 != "x" { print "account " $1 " has its password in /etc/passwd" } $3 == 0 && $1 != "root" { print $1 " is root" }
    $3 == 10001 && $7 !~ /nologin$/ { print "account " $1 " has a shell" }' "$root/etc/passwd"
  find "$root" -xdev \( -name sshd -o -name dropbear -o -name in.telnetd -o -name authorized_keys \) -printf 'way in: %P\n'
  comm -13 <(echo "$known") <(setuid_files "$root") | sed 's/^/setuid or setgid: /'
  [ ! -d "$root/opt" ] || find "$root/opt" -xdev \( ! -user root -o -perm -o+w ! -type l \) -printf 'not only root may change: opt/%P\n'
}
root=$(b mount "$container")
found=$(ways_in "$root")
[ -z "$found" ] || fail "$found"
grep -q '^reprobench:x:10001:' "$root/etc/passwd" || fail "it has no user of its own"

# The same look finds each of these.
fault=$(b mount "$faulty")
[ -z "$(ways_in "$fault")" ] || fail "the root itself: $(ways_in "$fault")"
printf '%s\n' 'guest::19000:0:99999:7:::' 'secret:hash:19000:0:99999:7:::' >>"$fault/etc/shadow"
printf '%s\n' other:x:0:0::/:/bin/sh open::1001:1001::/:/bin/sh shelled:x:10001:10001::/:/bin/sh >>"$fault/etc/passwd"
mkdir -p "$fault/opt"
touch "$fault/usr/sbin/sshd" "$fault/opt/tool" "$fault/opt/open"
chmod 4755 "$fault/opt/tool"
chmod 666 "$fault/opt/open"
ways_in "$fault" >"$work/ways"
for words in 'account guest can log in' 'account secret can log in' 'other is root' 'open has its password' 'account shelled has a shell' \
  'way in: usr/sbin/sshd' 'setuid or setgid: ./opt/tool' 'not only root may change: opt/open'; do
  grep -q "$words" "$work/ways" || fail "the planted fault is not found: $words"
done
[ "$(wc -l <"$work/ways")" -eq 8 ] || fail "eight planted faults are found as $(cat "$work/ways")"

# inside COMMAND...: as the image's user, with the stacks' volume of a runner. buildah lays a volume that the image declares over one
# that is asked for at the same path, so what goes in and comes out has a folder of its own, and /store is the image's.
mkdir "$work/files" "$work/stacks"
installed=$(find "$stacks" -maxdepth 2 -path "*/$stack-*/stack.json" -printf '%T@ %h\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
[ -n "$installed" ] || fail "the stack $stack is not installed in $stacks"
cp -al "$installed" "$work/stacks/" 2>/dev/null || cp -a "$installed" "$work/stacks/"
find "$work/files" "$work/stacks" -type d -exec chown 10001:10001 {} +
chmod 755 "$work"
inside() {
  b run --isolation chroot -v "$work/files:/files" -v "$work/stacks:$stacks" --env "REPROBENCH_STACKS=$stacks" "$container" -- "$@"
}
[ "$(inside id -u)" = 10001 ] || fail "it runs as $(inside id -u)"

# The health check in its own words: ["CMD", "reprobench", "version"].
config '{{range .Docker.Config.Healthcheck.Test}}{{println .}}{{end}}' >"$work/health"
mapfile -t health < <(sed '/^$/d' "$work/health")
if [ "${health[0]:-}" != CMD ] || [ "${#health[@]}" -lt 2 ]; then fail "it has no health check"; fi
inside "${health[@]:1}" >/dev/null || fail "its health check fails"
mv "$root/opt/reprobench/lib" "$root/opt/reprobench/away"
if inside "${health[@]:1}" >/dev/null 2>&1; then fail "its health check passes though the program cannot start"; fi
mv "$root/opt/reprobench/away" "$root/opt/reprobench/lib"

mapfile -t entry < <(config '{{range .Docker.Config.Entrypoint}}{{println .}}{{end}}' | sed '/^$/d')
inside "${entry[@]}" doctor >"$work/doctor.txt" || { cat "$work/doctor.txt" >&2; fail "doctor ends with an error"; }
grep -q '^OK' "$work/doctor.txt" || fail "doctor says nothing"
if grep '^FAIL' "$work/doctor.txt" >&2; then fail "doctor finds that"; fi
cat >"$work/files/matrix.yaml" <<YAML
schema: 1
name: image
suites: [smoke]
axes: {stack: [$stack], device: [cpu]}
exclude:
  - {where: "workload not in (mlp, gpt2)"}
reference: {stack: $stack}
YAML
inside "${entry[@]}" run --matrix /files/matrix.yaml --out /files/run >"$work/run.txt" 2>&1 || { cat "$work/run.txt" >&2; fail "the run does not pass"; }
"$python" - "$work/files/run/verdict.json" <<'PYTHON'
import json, sys
verdict = json.load(open(sys.argv[1]))
if verdict["word"] != "passed" or [cell["outcome"] for cell in verdict["cells"]] != ["passed"] * 2:
    sys.exit(f"image: the run inside is {verdict['word']}: {verdict['sentence']}")
PYTHON
[ -s "$work/files/run/report/report.html" ] || fail "the run inside left no report"
[ "$(stat -c %u "$work/files/run/verdict.json")" = 10001 ] || fail "somebody else wrote the verdict"
echo "image: runner of $stack: no way in, health check, doctor and two trainings as user 10001; $SECONDS s"
