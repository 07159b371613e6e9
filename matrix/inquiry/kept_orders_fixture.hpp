// A call whose order of summation a worker has found, as tests of kept orders need one.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/probe.hpp"

namespace reprobench {

// One output of one element, whose order is `order` (orders/summation_tree.hpp).
inline ProbeMeasurement ordered_call(const std::string& call, const std::string& order = "(0 1 2 3)") {
  CallOutput output{"output.0", "float32", {}, std::string(32, '0'), 5e-8, 0, "", std::vector<double>(8, 1), {}, 1};
  output.fp64_sums = output.sums;
  output.order = CallOrder{};
  output.order->classes = {{order, "1 chain of 4", SumEnd::as_it_is, 4, 0, 1, 1000}};
  output.order->elements = output.order->replayed = 1;
  ProbeMeasurement measurement;
  measurement.operation = "operator_call";
  measurement.labels = {{"call", call}};
  measurement.unit = "ns";
  measurement.status = MeasurementStatus::measured;
  measurement.samples = {1000};
  measurement.call = CallRecord{CallEnd::ran, std::string(32, 'e'), true, {output}};
  return measurement;
}

}  // namespace reprobench
