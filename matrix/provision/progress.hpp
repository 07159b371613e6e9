// The progress of a long step of provisioning.
#pragma once

#include <functional>
#include <string>

namespace reprobench {

// One line of progress: the present action, and the share that is done (0..1, or negative if unknown). May be called
// from another thread than the one that started the work, but never from two at once.
using ProgressSink = std::function<void(const std::string& stack, const std::string& phase, double fraction)>;

// The same for one stack.
using PhaseSink = std::function<void(const std::string& phase, double fraction)>;

}  // namespace reprobench
