// turns.jsonl: when a resident worker does which of its steps. For each turn the coordinator appends a line to the file
// in the rank's folder. The worker waits for it, does those steps and waits again; its step records carry the block. It
// is a file and not a pipe, so that it is the same for a local process, a container, a Slurm task and a pod.
//
// Lines have the format of trace.jsonl (seq and crc32c, contract/trace.hpp):
//
//   {"kind":"header", ...}   once, first: whose turns these are
//   {"kind":"turn","block":0,"first_step":1,"last_step":10}
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "matrix/contract/request.hpp"

namespace reprobench {

struct Turn {
  std::int64_t block = 0;  // counts from 0 without a gap; block_of() gives the block of a step
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
};

template <>
struct Description<Turn> {
  static constexpr About about = About::line("turns", "turn", "The worker may do these steps now.");
  static void fields(auto& field, Turn& turn) {
    field("block", turn.block, rule::at_least(0));
    field("first_step", turn.first_step, rule::at_least(1));
    field("last_step", turn.last_step, rule::at_least(1));
  }
};

// What a worker did while others had their turns. One that computes then slows whoever is timed.
struct TurnsWait {
  std::int64_t time_ns = 0;
  std::int64_t cpu_ns = 0;  // of all its threads
};

template <>
struct Description<TurnsWait> {
  static constexpr About about = About::part("turns_wait", "How a resident worker waited for its turns.");
  static void fields(auto& field, TurnsWait& wait) {
    field("time_ns", wait.time_ns, rule::at_least(0));
    field("cpu_ns", wait.cpu_ns, rule::at_least(0).says("Of all threads of the process meanwhile."));
  }
};

// Whose turns these are.
struct TurnsHeader {
  std::string cell_id;
  std::string nonce;
  int rank = 0;
};
template <>
struct Description<TurnsHeader> {
  static constexpr About about = About::first_line("turns", "header", "Once, first.");
  static void fields(auto& field, TurnsHeader& header) {
    field("cell_id", header.cell_id, rule::not_empty);
    field("nonce", header.nonce, rule::not_empty);
    field("rank", header.rank, rule::at_least(0));
  }
};

// The turns of an attempt whose request asks for turns.
std::int64_t count_of_turns(const CellRequest& request);
Turn turn_of(const CellRequest& request, std::int64_t block);

nlohmann::json turns_header(const CellRequest& request);
nlohmann::json to_json(const Turn& turn);

// Both throw ContractError: for a header that is not this rank's, and for a turn that is not this request's `block`.
void require_turns_header(const nlohmann::json& body, const CellRequest& request);
Turn turn_from_json(const nlohmann::json& body, const CellRequest& request, std::int64_t block);

}  // namespace reprobench
