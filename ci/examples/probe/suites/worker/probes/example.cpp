// A copy, checked and timed.
#include <ATen/core/Tensor.h>

#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {

void probe_example(ProbeRun& run) {
  const at::Tensor numbers = run.random_whole("example", 100'000);
  Operation copy;
  copy.name = "example_copy";
  copy.amount = 2.0 * static_cast<double>(numbers.nbytes());
  copy.work = [&] { return numbers.clone(); };
  copy.check = [&](const at::Tensor& result) { return equal_to(result, numbers); };
  run.measure(copy);
}

}  // namespace reprobench
