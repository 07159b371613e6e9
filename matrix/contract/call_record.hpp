// The record of one operator call, made alone (the probe `operators`): digests of its inputs and outputs, and how far
// the outputs are from the same call in fp64. That is enough to compare two stacks without their tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/call_order.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

enum class CallEnd {
  ran,
  absent,     // this release has no such operator, or it takes no such argument
  too_large,  // it needs more memory than the list allows
  refused,    // LibTorch threw
};
template <>
struct Words<CallEnd> {
  static constexpr std::array<std::string_view, 4> table = {"ran", "absent", "too_large", "refused"};
};

inline constexpr std::size_t kCallSums = 8;

struct CallOutput {
  std::string name;  // "output.0"; "changed.2": the argument it wrote; "gradient.0": gradient of argument 0
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string digest;
  std::optional<double> error_rel;         // relative L2 distance to fp64, without elements that are not finite
  std::int64_t not_finite_mismatches = 0;  // elements that are finite here and not in fp64, or the other way round
  std::string no_fp64;                     // why there is no distance to fp64
  // Signed strided sums, of the output and of the fp64 one. The L2 norm of the differences between two outputs' sums
  // estimates the L2 distance of the outputs, with a standard deviation of 25 % (kernels/sketch).
  std::vector<double> sums;
  std::vector<double> fp64_sums;
  double l2 = 0;                        // L2 norm of the output's finite elements
  std::optional<CallOrder> order = {};  // if it was asked for

  friend bool operator==(const CallOutput&, const CallOutput&) = default;
};

struct CallRecord {
  CallEnd end = CallEnd::ran;
  std::string inputs;   // digest of the arguments and of the gradients given to the backward pass
  bool repeats = true;  // a second call on equal arguments gave equal bits
  std::vector<CallOutput> outputs;

  friend bool operator==(const CallRecord&, const CallRecord&) = default;
};

template <>
struct Description<CallOutput> {
  static constexpr About about = About::part("call_output", "One tensor that an operator call made.");
  static void fields(auto& field, CallOutput& output) {
    field("name", output.name, rule::not_empty);
    field("dtype", output.dtype, rule::not_empty);
    field("shape", output.shape, rule::at_least(0));
    field("digest", output.digest, rule::digest);
    field("error_rel", output.error_rel, "Relative L2 distance to the same call in fp64; null where there is none.");
    field("not_finite_mismatches", output.not_finite_mismatches,
          rule::at_least(0).says("Elements that are NaN or infinite on one side alone."));
    field("no_fp64", output.no_fp64, "Why there is no distance to fp64.");
    field("sums", output.sums, "Signed strided sums of the output: two outputs' differences estimate their distance.");
    field("fp64_sums", output.fp64_sums, "The same of the fp64 output.");
    field("l2", output.l2);
    field.optional("order", output.order, "In which order it is added up, where that was asked for.");
    field.hold(output.sums.size() == kCallSums, "has not 8 `sums`");
    field.hold(output.fp64_sums.size() == (output.error_rel ? kCallSums : 0), "has other `fp64_sums` than 8 or none");
    field.hold(output.error_rel.has_value() == output.no_fp64.empty(),
               "has either `error_rel` or `no_fp64`, not both or none");
  }
};

template <>
struct Description<CallRecord> {
  static constexpr About about = About::part("call", "What one operator call, made alone, left.");
  static void fields(auto& field, CallRecord& call) {
    field("end", call.end);
    field("inputs", call.inputs, rule::hex(32, true).says("Of the arguments and what the backward pass was given."));
    field("repeats", call.repeats, "A second call on equal arguments gave equal bits.");
    field("outputs", call.outputs);
    const bool ran = call.end == CallEnd::ran;
    field.hold(ran == !call.outputs.empty(), "has outputs if and only if it ran");
    field.hold(!ran || !call.inputs.empty(), "ran without `inputs`");
  }
};

}  // namespace reprobench
