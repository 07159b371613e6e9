// Which cell of another run a cell is compared with. For example, `smoke/mlp` in bf16 on torch-2.9.0 is compared with
// the same cell of last week or, if there is none, with the only cell that differs in nothing but its stack.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// The properties of a cell that decide its partner.
struct PairingPoint {
  std::string key;  // suite, workload, and every coordinate that no comparison may change
  std::string stack;
  std::string device;
  std::string host;  // in a merged run
};

PairingPoint pairing_point(const Cell& cell);

// The index of the nearest cell of the other run. That is the same cell, best on the same host; else one that differs
// only in its stack; else only in its device. If several cells with another stack or device are equally near, there is
// none.
std::optional<std::size_t> partner_of(const PairingPoint& ours, const std::vector<PairingPoint>& theirs);

// Finds a cell by its slug, or by its id or at least the first 4 digits of it.
bool is_called(const Cell& cell, const std::string& name);

}  // namespace reprobench
