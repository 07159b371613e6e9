#!/usr/bin/env bash
# Installs the distribution packages the project needs and that are missing. Debian 12, Ubuntu 24.04 and newer.
#
#   ci/packages.sh build    what building and running needs
#   ci/packages.sh run      that and Debian's libtorch, which is one of the stacks
#   ci/packages.sh test     that and what the tests need
set -euo pipefail
# shellcheck source=ci/failure_trap.sh
. "$(dirname "$0")/failure_trap.sh"

build=(g++ cmake ninja-build ccache pkg-config git ca-certificates
  libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libfmt-dev libsqlite3-dev libpugixml-dev libssl-dev libboost-dev
  libarchive-dev libxxhash-dev libgloo-dev)
run=(python3 python3-pip python3-jinja2)
tests=(catch2 python3-jsonschema python3-numpy python3-venv clang-format clang-tidy shellcheck debootstrap buildah skopeo)

case "${1:-run}" in
  build | run) wanted=("${build[@]}" "${run[@]}") ;;
  test) wanted=("${build[@]}" "${run[@]}" "${tests[@]}") ;;
  *) echo "usage: ci/packages.sh build|run|test" >&2; exit 2 ;;
esac

command -v apt-get >/dev/null || {
  echo "packages: this script knows apt; install these by hand: ${wanted[*]}" >&2
  exit 1
}

is_installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "packages: not root and no sudo; ask for: apt-get install ${missing[*]}" >&2
    exit 1
  fi
}

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  echo "packages: installing ${missing[*]}"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    echo "packages: apt-get failed (above); is the network up, and are these packages in this distribution: ${missing[*]}?" >&2
    exit 1
  }
fi

[ "${1:-run}" != build ] || exit 0

# Debian's libtorch is one of the stacks, OpenBLAS what makes its speed worth measuring. Where the distribution has none, or another
# version, the stack's cells are skipped with that reason.
for package in libtorch-dev libopenblas0-pthread; do
  if ! is_installed "$package" && apt-cache show "$package" >/dev/null 2>&1; then
    echo "packages: installing $package for the stack debian-torch-1.13.1"
    missing=("$package")
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$package" >/dev/null 2>&1 ||
      echo "packages: $package could not be installed; the stack's cells will be skipped or not judged" >&2
  fi
done
