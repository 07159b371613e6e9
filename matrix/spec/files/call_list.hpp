// suites/operators/NAME.yaml, or a file of one's own: the operator calls of the probe `operators`.
//
//   calls:
//     - call: native_layer_norm(f32[N, C], [C], f32[C], f32[C], 1e-5)
//       with: [{N: 256, C: 768}, {N: 256, C: 1024}]
//
// How a call is written: contract/declared_call.hpp. Every row of `with` makes one call, with its values in place of
// the words it names. `tensors: mine.safetensors` names a file beside the list, whose tensors calls take: f32[64] from
// 'x'.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench {

// More than these in one list is taken for a slip of the keyboard (RB021).
inline constexpr std::size_t kMostCalls = 10'000;

// What one call may take where its list does not say.
inline constexpr std::int64_t kUsualCallMemoryBytes = std::int64_t{1} << 30;

struct CallList {
  std::string name;
  std::int64_t memory_bytes = 0;   // that one call may take
  std::vector<std::string> calls;  // canonical, in the order of the file, no two alike
  // Of the file that `tensors` names, all of which has been read; empty: there is none.
  std::string tensors_sha256 = {};
  std::string tensors_file = {};  // absolute
};

// As the workload of a probe that is given that list.
void give_calls(const CallList& list, WorkloadRequest& workload);

// Throws SpecError; for a call whose tensor is not in the file as the call declares it, RB044 at the call.
CallList parse_call_list(const std::string& text, const std::string& file);
CallList load_call_list(const std::string& path);

}  // namespace reprobench
