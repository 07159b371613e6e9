// suites/operators/NAME.yaml, or a file of one's own: the operator calls of the probe `operators`.
//
//   calls:
//     - call: native_layer_norm(f32[N, C], [C], f32[C], f32[C], 1e-5)
//       with: [{N: 256, C: 768}, {N: 256, C: 1024}]
//
// contract/declared_call.hpp says how a call is written. Every row of `with` makes one call, with its values in place
// of the words that it names. `tensors: mine.safetensors` names a file beside the list. Calls take tensors from it,
// such as f32[64] from 'x'.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench {

// A list with more calls than this is taken for a typing error (RB021).
inline constexpr std::size_t kMostCalls = 10'000;

// The memory that one call may take if its list does not say.
inline constexpr std::int64_t kUsualCallMemoryBytes = std::int64_t{1} << 30;

struct CallList {
  std::string name;
  std::int64_t memory_bytes = 0;   // memory that one call may take
  std::vector<std::string> calls;  // canonical, in the order of the file, no two alike
  // The file that `tensors` names, all of which has been read; empty if there is none.
  std::string tensors_sha256 = {};
  std::string tensors_file = {};  // absolute
};

// Makes the list the calls of a probe's workload.
void give_calls(const CallList& list, WorkloadRequest& workload);

// Throws SpecError. If a tensor is not in the file as its call declares it, the error is RB044 at the call.
CallList parse_call_list(const std::string& text, const std::string& file);
CallList load_call_list(const std::string& path);

}  // namespace reprobench
