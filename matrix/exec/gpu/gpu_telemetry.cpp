#include "matrix/exec/gpu/gpu_telemetry.hpp"

#include <fmt/format.h>

#include "matrix/exec/gpu/nvml_sampler.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;

class NvmlRecording : public TelemetryRecording {
 public:
  NvmlRecording(std::shared_ptr<SamplerState> state, std::shared_ptr<WatchedGpus> watched,
                std::chrono::milliseconds patience)
      : state_(std::move(state)), watched_(std::move(watched)), patience_(patience) {}

  ~NvmlRecording() override {
    const std::lock_guard lock(state_->mutex);
    std::erase(state_->watched, watched_);
  }

  void stop() override {
    std::vector<std::string> absent;
    std::string problem;
    {
      std::unique_lock lock(state_->mutex);
      watched_->wants_last_pass = true;
      state_->changed.notify_all();
      while (!watched_->had_last_pass && !state_->has_ended && Steady::now() < end_of_patience()) {
        state_->changed.wait_until(lock, end_of_patience());
      }
      absent = state_->absent;
      problem = state_->problem;
      if (problem.empty() && !watched_->had_last_pass) problem = silence();
    }
    watched_->file.close(std::move(absent), std::move(problem));
  }

 private:
  // Counts from the sampler's last sign of life: a library that has long been stuck delays nobody again.
  Steady::time_point end_of_patience() const { return state_->last_sign_of_life + patience_; }

  std::string silence() const {
    const std::chrono::duration<double> silent = Steady::now() - state_->last_sign_of_life;
    return fmt::format("NVML has not answered for {:.1f} s", silent.count());
  }

  std::shared_ptr<SamplerState> state_;
  std::shared_ptr<WatchedGpus> watched_;
  std::chrono::milliseconds patience_;
};

}  // namespace

NvmlTelemetry::NvmlTelemetry(TelemetrySettings settings) : settings_(std::move(settings)) {}

NvmlTelemetry::~NvmlTelemetry() {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  state_->quit = true;
  state_->changed.notify_all();
  // The thread should be out of the library before the process ends; one that is stuck in there is left.
  constexpr std::chrono::milliseconds kGoodbye{500};
  state_->changed.wait_for(lock, kGoodbye, [this] { return state_->has_ended; });
}

// The thread starts with the first attempt that has a GPU: a run without any never opens the library.
std::unique_ptr<TelemetryRecording> NvmlTelemetry::start(const TelemetryHeader& header,
                                                         const std::filesystem::path& folder) {
  const auto watched = std::make_shared<WatchedGpus>(header, folder);
  if (!state_) {
    state_ = std::make_shared<SamplerState>();
    start_sampler(settings_, state_);
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->watched.push_back(watched);
    state_->changed.notify_all();
  }
  return std::make_unique<NvmlRecording>(state_, watched, settings_.patience);
}

}  // namespace reprobench
