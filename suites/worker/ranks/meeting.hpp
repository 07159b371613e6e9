// Where and as whom a process meets the other ranks of its attempt.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "matrix/contract/request.hpp"

namespace reprobench {

struct Meeting {
  std::filesystem::path file = {};  // where there is no address
  std::string address = {};         // of a TCP store, which rank 0 opens
  int port = 0;
  bool is_open_already = false;  // by the launcher: rank 0 joins it too
  // Of this attempt alone, before every key: what another attempt left in a file or store says nothing to this one.
  std::string prefix = {};
  int rank = 0;
  int ranks = 1;
  std::chrono::milliseconds timeout{};  // of the meeting, and of each collective
  std::filesystem::path log = {};       // where NCCL is to write of its work; empty: nowhere
  std::string log_subjects = {};        // and of what, "INIT,TUNING"

  bool is_at_store() const { return !address.empty(); }
  std::string place() const;  // "rendezvous", "127.0.0.1:29500"
};

// As the request's knob `rendezvous` says: a file in the attempt's folder, or MASTER_ADDR and MASTER_PORT. Throws
// RunFailure "bad_request" where those are not set.
Meeting meeting_of(const CellRequest& request, const std::filesystem::path& attempt_folder);

}  // namespace reprobench
