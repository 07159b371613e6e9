// Captures work into a CUDA graph.
#pragma once

#include <functional>
#include <memory>

#include "suites/worker/device.hpp"

namespace reprobench {

// The current stream must not be the default one. Throws whatever `work` throws, after capture mode was left.
std::unique_ptr<RecordedWork> capture_graph(const std::function<void()>& work);

}  // namespace reprobench
