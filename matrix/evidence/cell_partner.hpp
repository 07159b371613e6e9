// Which cell of another run a cell is compared with: `smoke/mlp` in bf16 on torch-2.9.0 with the same cell of last
// week, or, where there is none, with the only one that differs in nothing but its stack.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// What of a cell decides its partner.
struct PairingPoint {
  std::string key;  // suite, workload, and every coordinate that no comparison may change
  std::string stack;
  std::string device;
  std::string host;  // in a merged run
};

PairingPoint pairing_point(const Cell& cell);

// The index of the nearest cell of the other run: the same one, best on the same host; else one that differs in nothing
// but its stack; else in nothing but its device. Of several equally near ones with another stack or device none.
std::optional<std::size_t> partner_of(const PairingPoint& ours, const std::vector<PairingPoint>& theirs);

// By its slug, or by its id or the beginning of it of at least 4 digits.
bool is_called(const Cell& cell, const std::string& name);

}  // namespace reprobench
