#!/usr/bin/env bash
# What computes, on this CPU as on lesser ones: the libraries are kept from instructions that it has, in the words each library
# takes. A class is a kind of CPU; `native` is this one with all that it has, AMX and avx512_fp16 where there. MKL has fast paths
# for Intel's CPUs and another one for the rest, and so have the classes: `avx2_amd` is AVX2 with the other one.
#
#   ci/cpu_classes.sh [CLASS...]                 the test programs that compute, under each class: a line a program; without ranks
#   ci/cpu_classes.sh --steps [CLASS...]         the steps of ci/test.sh on a real stack, under each class; an hour and more
#   ci/cpu_classes.sh --class CLASS COMMAND...   one command
#   ci/cpu_classes.sh --list                     first line: this CPU and what it has; then the classes and their variables
#
# Instructions that a program chooses itself, by CPUID, stay those of this CPU. A coordinator hands the variables on to its workers
# because REPROBENCH_CPU_CLASS is set, and plans and fingerprints hold them. The tests of the worker are built by ci/worker_test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

classes=(avx2_amd avx2 avx512 avx512_bf16 native)
maker=build-ci/mkl_maker
cpuinfo=$(cat /proc/cpuinfo)
line_of() { awk -F '[ \t]*:[ \t]*' -v key="$1" '$1 == key { print $2; exit }' <<<"$cpuinfo"; }
flags=" $(line_of flags) "
has() { local flag; for flag in "$@"; do [[ $flags = *" $flag "* ]] || return 1; done; }

# present CLASS: whether this CPU can stand for it. AVX-512 as ATen asks for it.
present() {
  case $1 in
    avx2 | avx2_amd) has avx2 fma ;;
    avx512) has avx512f avx512vl avx512bw avx512dq fma ;;
    avx512_bf16) has avx512_bf16 ;;
    avx512_fp16) has avx512_fp16 ;;
    amx) has amx_tile ;;
    native) true ;;
    *) false ;;
  esac
}

# glibc up to 2.32 says AVX512F_Usable; a name that it does not know it passes over.
without_avx512=glibc.cpu.hwcaps=
for flag in F VL BW DQ CD ER PF; do without_avx512+=-AVX512$flag,-AVX512${flag}_Usable,; done

# variables CLASS: one NAME=VALUE a line.
variables() {
  local aten onednn mkl openblas fbgemm=AVX512
  case $1 in
    avx2 | avx2_amd) aten=avx2 onednn=AVX2 mkl=AVX2 fbgemm=AVX2 openblas=Haswell ;;
    avx512) aten=avx512 onednn=AVX512_CORE mkl=AVX512 openblas=SkylakeX ;;
    avx512_bf16) aten=avx512 onednn=AVX512_CORE_BF16 mkl=AVX512_E3 openblas=Cooperlake ;;
    native) return ;;
  esac
  printf '%s\n' "REPROBENCH_CPU_CLASS=$1" "ATEN_CPU_CAPABILITY=$aten" "ONEDNN_MAX_CPU_ISA=$onednn" \
    "DNNL_MAX_CPU_ISA=$onednn" "MKL_ENABLE_INSTRUCTIONS=$mkl" "FBGEMM_ENABLE_INSTRUCTIONS=$fbgemm" "OPENBLAS_CORETYPE=$openblas"
  if [ "$aten" = avx2 ]; then echo "GLIBC_TUNABLES=${without_avx512%,}"; fi
  if [ "$1" = avx2_amd ]; then echo "LD_PRELOAD=$PWD/$maker-other.so"; else echo "LD_PRELOAD=$PWD/$maker-intel.so"; fi
}

# MKL asks two functions that LibTorch exports who made the CPU, so a library that is loaded first can answer for it.
make_makers() {
  local answer
  mkdir -p "$(dirname "$maker")"
  for answer in intel=1 other=0; do
    echo "int mkl_serv_intel_cpu(void) { return ${answer#*=}; } int mkl_serv_intel_cpu_true(void) { return ${answer#*=}; }" |
      cc -shared -fPIC -x c -o "$maker-${answer%=*}.so.$$" -
    mv "$maker-${answer%=*}.so.$$" "$maker-${answer%=*}.so"
  done
}

# under CLASS COMMAND...: nothing of an outer class is left.
under() {
  local set
  mapfile -t set < <(variables "$1")
  env -u REPROBENCH_CPU_CLASS -u ATEN_CPU_CAPABILITY -u ONEDNN_MAX_CPU_ISA -u DNNL_MAX_CPU_ISA -u MKL_ENABLE_INSTRUCTIONS \
    -u FBGEMM_ENABLE_INSTRUCTIONS -u OPENBLAS_CORETYPE -u GLIBC_TUNABLES -u LD_PRELOAD "${set[@]}" "${@:2}"
}

cpu_line() {
  local isa=() class
  for class in avx2 avx512 avx512_bf16 avx512_fp16 amx; do if present "$class"; then isa+=("$class"); fi; done
  printf 'cpu: %s (family %s, model %s, stepping %s, microcode %s), %s cores: %s; %s%s\n' "$(line_of 'model name')" \
    "$(line_of 'cpu family')" "$(line_of model)" "$(line_of stepping)" "$(line_of microcode)" "$(nproc)" \
    "${isa[*]:-no avx2}" "$(getconf GNU_LIBC_VERSION)" "${REPROBENCH_CPU_CLASS:+; stands for $REPROBENCH_CPU_CLASS}"
}

list() {
  cpu_line
  local class
  for class in "${classes[@]}"; do
    if present "$class"; then
      printf '%-12s %s\n' "$class" "$(variables "$class" | paste -sd ' ')"
    else
      printf '%-12s this CPU lacks it\n' "$class"
    fi
  done
}

# first_failure LOG: the first failed assertion with its test's name, or the end of a program that died.
first_failure() {
  awk '
    /^--------------------/ { is_header = !is_header; if (is_header) header = ""; next }
    is_header { header = header $0 "\n" }
    /: FAILED:?/ { printf "%s", header; is_found = 1 }
    is_found && /^$/ { exit }
    is_found { print }
    END { exit !is_found }' "$1" | sed 's/^/    /' || tail -n 5 "$1" | sed 's/^/    /'
}

# run CLASS NAME COMMAND...: one line, and the first failed assertion where there is one.
failures=()
run() {
  local log=$work/$1-$2.log start=$SECONDS status=0 count
  under "$1" "${@:3}" >"$log" 2>&1 || status=$?
  count=$(grep -aE '^(All tests passed|test cases:)' "$log" | tail -n 1 || true)
  if [ "$status" -eq 0 ]; then
    printf 'ok      %-12s %-14s %s  %s s\n' "$1" "$2" "${count:-passed}" $((SECONDS - start))
    return
  fi
  printf 'FAILED  %-12s %-14s %s  %s s, exit %s\n' "$1" "$2" "${count:-no counts}" $((SECONDS - start)) "$status"
  first_failure "$log"
  failures+=("$1 $2")
}

programs=(build-ci/bin/kernels_test build-ci/bin/simt_test build-ci/bin/models_test build-ci/bin/stats_test)
programs_under() {
  local program
  for program in "${programs[@]}" build-ci/worker-*/bin/worker_test; do
    if [ ! -x "$program" ]; then
      echo "FAILED  $1 $program is not built"
      failures+=("$1 $program")
      continue
    fi
    # Ranks compute what one process does, and mostly wait for each other. Tensors have one size whatever computes them.
    local tests=()
    case $program in */worker_test) tests=('~[ranks]~[memory]~[.]') ;; esac
    run "$1" "$(basename "$program")" "$program" "${tests[@]}"
  done
}

steps_under() {
  local step
  for step in real_stack selftest worker; do run "$1" "$step" "ci/${step}_test.sh" build-ci/bin/reprobench; done
}

usage() {
  sed -n '2,12s/^# \?//p' "$0" >&2
  exit 2
}

# known CLASS: ends with the usage where there is no such class.
known() { printf '%s\n' "${classes[@]}" | grep -qFx -- "$1" || usage; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
what=programs_under
case ${1:-} in
  --list)
    list
    exit
    ;;
  --class)
    [ $# -ge 3 ] || usage
    known "$2"
    present "$2" || { echo "cpu classes: this CPU lacks $2: $(cpu_line)" >&2; exit 2; }
    make_makers
    under "$2" "${@:3}"
    exit
    ;;
  --steps) what=steps_under && shift ;;
  --*) usage ;;
esac
chosen=("${@:-${classes[@]}}")
for class in "${chosen[@]}"; do known "$class"; done

make_makers
cpu_line
for class in "${chosen[@]}"; do
  if ! present "$class"; then
    echo "absent  $class: this CPU lacks it"
    continue
  fi
  "$what" "$class"
done
for failure in "${failures[@]}"; do echo "failed: $failure"; done
[ "${#failures[@]}" -eq 0 ]
