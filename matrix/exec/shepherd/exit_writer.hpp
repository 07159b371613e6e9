// Writes exit.json for the shepherd: the document of contract/exit_record.hpp without a JSON library.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace reprobench {

struct ExitAccount {
  const char* nonce = "";
  int rank = 0;
  int exit_code = -1;  // -1: did not exit
  int signal = 0;      // 0: was not signalled
  const char* launch_error = "";
  const char* stopped_by = "nobody";
  int leaked_processes = 0;
  int64_t duration_ns = 0;
  int64_t max_rss_bytes = 0;
  int64_t user_ns = 0;
  int64_t system_ns = 0;
  int64_t stdout_bytes = 0;
  int64_t stderr_bytes = 0;
};

// Returns the length of the text, without the closing zero; 0 if `size` is too small.
size_t format_exit_account(const ExitAccount& account, char* text, size_t size);

// Writes under a temporary name in the current folder, then renames to exit.json. Returns 0 or the errno of the
// failure.
int write_exit_account(const ExitAccount& account);

}  // namespace reprobench
