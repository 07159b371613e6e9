// Where a process meets the other ranks of its attempt, and as which rank.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "matrix/contract/request.hpp"

namespace reprobench {

struct Meeting {
  std::filesystem::path file = {};  // the meeting place if there is no address
  std::string address = {};         // of a TCP store, which rank 0 opens
  int port = 0;
  bool is_open_already = false;  // the launcher opened the store: rank 0 joins it too
  // A prefix of every key, which this attempt alone has, so that keys of another attempt in a file or store are not
  // read.
  std::string prefix = {};
  int rank = 0;
  int ranks = 1;
  std::chrono::milliseconds timeout{};  // of the meeting, and of each collective
  std::filesystem::path log = {};       // where NCCL is to log its work; empty: nowhere
  std::string log_subjects = {};        // the subjects that it logs, "INIT,TUNING"

  bool is_at_store() const { return !address.empty(); }
  std::string place() const;  // "rendezvous", "127.0.0.1:29500"
};

// The meeting by the request's knob `rendezvous`: at a file in the attempt's folder, or at MASTER_ADDR and MASTER_PORT.
// Throws RunFailure "bad_request" where those are not set.
Meeting meeting_of(const CellRequest& request, const std::filesystem::path& attempt_folder);

}  // namespace reprobench
