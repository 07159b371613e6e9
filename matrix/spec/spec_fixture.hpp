// Shared by the tests of this layer: a vocabulary, and the text of the error for an input.
#pragma once

#include <string>

#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

inline Vocabulary spec_test_vocabulary() {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  static constexpr MetricInfo kMetrics[] = {
      {"numerics.final_loss", "loss", Better::lower, Dimension::numerics, "", "", false, Compared::not_yet, -kAny,
       kAny},
      {"data.wait_share", "rel", Better::lower, Dimension::throughput, "", "", false, Compared::not_yet, 0, 1},
      {"numerics.repeat_mismatches", "count", Better::lower, Dimension::numerics, "", "", false, Compared::with_others},
      {"numerics.loss_rel", "rel", Better::lower, Dimension::numerics, "", "", false, Compared::with_reference},
      {"throughput.step_time", "ns", Better::lower, Dimension::throughput, ""},
      {"throughput.samples", "1/s", Better::higher, Dimension::throughput, ""},
      {"memory.peak_rss", "bytes", Better::lower, Dimension::memory, ""},
      {"device.changed_algorithms", "count", Better::lower, Dimension::numerics, "", "", false,
       Compared::with_reference},
      {"device.wrong_results", "count", Better::lower, Dimension::numerics, "", "any"},
      {"device.bandwidth", "GB/s", Better::higher, Dimension::memory, "", "GB/s"},
      {"device.bandwidth_share", "rel", Better::higher, Dimension::memory, "", "GB/s", true},
  };
  return {kMetrics, {"clip", "fusion", "gpt2", "llama", "mlp", "resnet", "vlm"}};
}

// "" if the text is accepted.
template <class Parse>
std::string spec_error_of(Parse parse) {
  try {
    parse();
  } catch (const SpecError& error) {
    return error.what();
  }
  return "";
}

inline std::string matrix_error(const std::string& text) {
  return spec_error_of([&] { parse_matrix(text, "m.yaml", spec_test_vocabulary()); });
}
inline std::string suite_error(const std::string& text) {
  return spec_error_of([&] { parse_suite(text, "s.yaml", spec_test_vocabulary()); });
}

inline const char* const kGoodMatrix =
    "schema: 1\n"
    "name: m\n"
    "suites: [smoke]\n"
    "axes:\n"
    "  stack: [a, b]\n"
    "  device: [cpu]\n"
    "reference: {stack: a}\n";

inline const char* const kGoodSuite =
    "schema: 1\n"
    "name: smoke\n"
    "workloads:\n"
    "  - {model: mlp, preset: default, steps: 20, batch_size: 32}\n";

}  // namespace reprobench
