# shellcheck shell=bash
# Sourced by every script of ci/ behind its `set`. What ends a script says on stderr the line, the command, its status and the
# calls that led there. In functions, subshells and command substitutions too: those speak first, then the line that holds them.
set -E
shopt -s inherit_errexit # a command substitution ends at its first failure, as the script does

# say_end STATUS LINE COMMAND: of the function or script that called the function that calls this one.
say_end() {
  local command=${3%%$'\n'*} calls='' frame
  for ((frame = 2; frame < ${#FUNCNAME[@]} - 1; frame++)); do
    calls+=", in ${FUNCNAME[frame]} called at ${BASH_SOURCE[frame + 1]#"$PWD/"}:${BASH_LINENO[frame]}"
  done
  echo "${BASH_SOURCE[2]#"$PWD/"}:$2: ended with $1 by \`${command:0:200}\`$calls" >&2
}

on_error() { say_end "$@"; }
trap 'on_error "$?" "$LINENO" "$BASH_COMMAND"' ERR

# No ERR trap sees `exit`: a function in its place does.
exit() {
  local status=${1:-$?}
  [ "$status" -eq 0 ] || say_end "$status" "${BASH_LINENO[0]}" "exit $status"
  builtin exit "$status"
}
