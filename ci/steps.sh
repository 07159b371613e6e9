# shellcheck shell=bash
# The steps of ci/test.sh: runs them, keeps what each says in a file of its own, and says at the end how long each took and why
# those that failed did. Sourced; ci/steps_test.sh plants failures of every kind.
#
#   begin_steps FOLDER     of the logs, which stay there; those of the last time are deleted
#   step NAME COMMAND...   beside NAME COMMAND...   after NAME   together   early NAME COMMAND...   arrived NAME
#   end_steps              seconds of wall and of CPU, reasons, and the last line `N passed, N failed, N skipped`; 1 if something failed

cores=$(nproc)
step_python=$(command -v /usr/bin/python3 || command -v python3)

free_mb() { df --output=avail -BM "$logs" | tail -n 1 | tr -dc '0-9'; }

begin_steps() {
  logs=$1 passed=0 failed=0 skipped=0 group=() failures=() durations=()
  declare -gA early_log=() early_process=()
  rm -rf "$logs"
  mkdir -p "$logs"
  disk_free_mb=$(free_mb) disk_least_mb=$disk_free_mb
}

log_of() { # NAME
  echo "$logs/$(tr -c '[:alnum:]\n' '-' <<<"$1").log"
}

# timed LOG COMMAND...: runs it into LOG and leaves `STATUS SECONDS CPU_SECONDS` in LOG.end.
timed() {
  local step_log=$1 start=$SECONDS status=0 shell=$BASHPID before after
  shift
  before=$(cpu_seconds "$shell")
  "$@" >"$step_log" 2>&1 || status=$?
  after=$(cpu_seconds "$shell")
  # Where the disk is full the other steps still run, and the last line is still written.
  { echo "$status $((SECONDS - start)) $((after - before))" >"$step_log.end"; } 2>/dev/null || true
}

# cpu_seconds PROCESS: user and system time of its children that have ended and were waited for. On a shared machine it says better
# than the clock which step grew.
cpu_seconds() {
  awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / ticks) }' "/proc/$1/stat"
}

# report NAME LOG: one line when it passed; the first failed assertion and its last lines when it failed.
report() {
  local name=$1 log=$2 status='' seconds='' cpu='' now_mb
  now_mb=$(free_mb)
  if [ "$now_mb" -lt "$disk_least_mb" ]; then disk_least_mb=$now_mb; fi
  { read -r status seconds cpu <"$log.end"; } 2>/dev/null || true
  if [ -z "$seconds" ]; then # its shell was killed, or there was no room for its end
    status=1 seconds=0 cpu=0
    echo "steps: how this step ended is not on record; $now_mb MB are free in $logs" | tee -a "$log" || true
  fi
  durations+=("$seconds $cpu $name")
  count "$log" "$status"
  if [ "$status" -eq 0 ]; then
    echo "ok      $name  $seconds s"
  else
    failures+=("$name" "$status")
    echo "FAILED  $name  $seconds s, status $status; all it said: $log"
    "$step_python" ci/failure_reason.py "$log" "$status" | sed 's/^/  /'
  fi
}

# step NAME COMMAND...: alone on the machine but for early steps, for what takes all cores or depends on time.
step() {
  local log
  log=$(log_of "$1")
  timed "$log" "${@:2}"
  report "$1" "$log"
}

# How many steps compute; early ones only wait.
busy() { jobs -rp | grep -cvxF "$(printf '%s\n' none "${early_process[@]}")" || true; }

# beside NAME COMMAND...: together with the other steps of its group, as many at a time as there are cores. A group ends
# with `together`, which reports its steps in the order they were named. A step that only keeps cores busy is `patient`, so that
# one that waits for processes and has deadlines for them gets a core when it wants one.
beside() {
  local log
  log=$(log_of "$1")
  while [ "$(busy)" -ge "$cores" ]; do wait -n || true; done
  timed "$log" "${@:2}" &
  group+=("$1" "$log" "$!")
}
# after NAME: what follows needs this step of the group, and waits until it has ended.
after() {
  local index
  for ((index = 0; index < ${#group[@]}; index += 3)); do
    if [ "${group[index]}" = "$1" ]; then wait "${group[index + 2]}" || true; fi
  done
}
together() {
  while [ "${#group[@]}" -gt 0 ]; do
    wait "${group[2]}" || true
    report "${group[0]}" "${group[1]}"
    group=("${group[@]:3}")
  done
}

# early NAME COMMAND...: beside all that follows up to `arrived NAME`, for what only waits.
early() {
  early_log[$1]=$(log_of "$1")
  timed "${early_log[$1]}" "${@:2}" &
  early_process[$1]=$!
}
arrived() {
  wait "${early_process[$1]}" || true
  unset "early_process[$1]"
  report "$1" "${early_log[$1]}"
}

patient() {
  renice -n 10 -p "$BASHPID" >/dev/null
  "$@"
}

# counted_ctest ARGUMENT...: what each program said at its end is counted from ctest's file, since its output shows failures alone.
counted_ctest() {
  ctest "$@" --output-on-failure --output-junit "$step_log.counted" --test-output-size-passed 1000000 --test-output-size-failed 10000000
}

# count LOG STATUS: adds up what a runner's closing lines say: Catch2, unittest. A step without such a line counts as one case.
count() {
  local log=$1 status=$2 cases bad skips
  if [ -e "$log.counted" ]; then log=$log.counted; fi
  read -r cases bad skips < <(awk '
    match($0, /^All tests passed \(.* in [0-9]+ test case/) { split($0, word, " in "); cases += word[2] + 0 }
    /^test cases: / { cases += $3; for (i = 4; i <= NF; ++i) if ($i == "failed") bad += $(i - 1) }
    /^Ran [0-9]+ tests? in / { cases += $2 }
    /^(OK|FAILED) \(/ {
      gsub(/[(),]/, " ")
      for (i = 2; i <= NF; ++i) {
        split($i, pair, "=")
        if (pair[1] == "skipped") skips += pair[2]
        if (pair[1] == "failures" || pair[1] == "errors") bad += pair[2]
      }
    }
    END { print cases + 0, bad + 0, skips + 0 }' "$log")
  # A runner that died counts as a failure even if every case it got to passed.
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1 cases=$((cases + 1)); fi
  if [ "$cases" -eq 0 ]; then cases=1; fi
  passed=$((passed + cases - bad - skips))
  failed=$((failed + bad))
  skipped=$((skipped + skips))
}

# budget_of NAME: seconds, the last column of the step's row in ci/README.md; empty if it has none.
budget_of() { awk -F ' *[|] *' -v name="$1" '$2 == name && $(NF - 1) ~ /^[0-9]+$/ { print $(NF - 1) }' ci/README.md; }

end_steps() {
  local seconds cpu name budget note index reason all_cpu=0
  echo "seconds of each step, by the clock and of CPU, the longest first; budgets are those of ci/README.md:"
  while read -r seconds cpu name; do
    all_cpu=$((all_cpu + cpu))
    budget=$(budget_of "$name") note=''
    if [ -z "$budget" ]; then
      note='  no budget'
    elif [ "$seconds" -gt "$budget" ]; then
      note="  OVER its budget of $budget s"
    fi
    printf '%6d %6d  %s%s\n' "$seconds" "$cpu" "$name" "$note"
  done < <(printf '%s\n' "${durations[@]}" | sort -rn)
  echo "$SECONDS s by the clock, $all_cpu s of CPU"
  echo "disk: $disk_free_mb MB were free, $disk_least_mb MB at the end of the step that left least"
  if [ "${#failures[@]}" -gt 0 ]; then echo "failed steps; all that each said is in $logs:"; fi
  for ((index = 0; index < ${#failures[@]}; index += 2)); do
    name=${failures[index]}
    mapfile -t reason < <("$step_python" ci/failure_reason.py "$(log_of "$name")" "${failures[index + 1]}" --brief)
    echo "failed: $name: ${reason[0]:-no reason could be read}"
    # Fourteen steps with two lines each are 30 lines with the first and the last.
    if [ -n "${reason[1]:-}" ] && [ "${#failures[@]}" -le 28 ]; then echo "    ${reason[1]}"; fi
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
}
