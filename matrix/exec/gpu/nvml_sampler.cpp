#include "matrix/exec/gpu/nvml_sampler.hpp"

#include <algorithm>
#include <map>

#include <sys/stat.h>

#include "matrix/contract/device/xid.hpp"
#include "matrix/exec/gpu/process_kinship.hpp"
#include "matrix/host/detached_thread.hpp"
#include "matrix/host/gpu_reading.hpp"
#include "matrix/host/kernel_log.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Watched = std::shared_ptr<WatchedGpus>;

constexpr milliseconds kSlice{20};  // how late a request for the last pass may be seen
constexpr std::size_t kNoGpu = static_cast<std::size_t>(-1);

std::int64_t length_of(const std::filesystem::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

class NvmlSampler {
 public:
  NvmlSampler(const TelemetrySettings& settings, std::shared_ptr<SamplerState> state)
      : settings_(settings), state_(std::move(state)), kernel_log_(settings.kernel_log) {}
  ~NvmlSampler() {
    if (!is_initialised_) return;
    if (events_ != nullptr) nvml().event_set_free(events_);
    nvml().shutdown();
  }

  // Why it cannot work; empty: it can.
  std::string open();
  void run();
  const std::vector<std::string>& absent() const { return library_->absent(); }

 private:
  const nvml::Functions& nvml() const { return library_->functions(); }
  nvml::Device device_of(const std::string& uuid) const;
  std::size_t index_in(const WatchedGpus& watched, nvml::Device device) const;
  void open_events();
  void read(WatchedGpus& watched);
  TelemetrySample reading_of(nvml::Device device, int gpu, std::int64_t trace_bytes);
  void take_events(milliseconds timeout);
  void take_event(const nvml::Event& event);
  void take_xid(nvml::Device device, int number);
  void take_wait_error(nvml::Return error);
  bool note_lost(WatchedGpus& watched, std::size_t gpu);
  std::vector<Watched> watched_now();
  std::vector<Watched> waiting_for_last_pass(const std::vector<Watched>& watched);
  bool is_hurried();
  void finish_pass(const std::vector<Watched>& last_of);

  TelemetrySettings settings_;
  std::shared_ptr<SamplerState> state_;
  std::shared_ptr<NvmlLibrary> library_;
  bool is_initialised_ = false;
  std::map<std::string, nvml::Device> devices_;     // by UUID
  std::map<std::string, nvml::Device> by_pci_;      // as the kernel writes it
  std::map<nvml::Device, TelemetryEvent> unheard_;  // device faults while nobody was watching
  std::map<std::int64_t, Kinship> kin_;             // own processes, remembered after they end
  nvml::EventSet events_ = nullptr;
  nvml::Return wait_error_ = nvml::kSuccess;
  KernelLog kernel_log_;  // for cards whose driver has no events
};

std::string NvmlSampler::open() {
  library_ = NvmlLibrary::open(settings_.library);
  if (!library_) return "NVML cannot be opened";
  if (const nvml::Return error = nvml().init(); error != nvml::kSuccess) {
    return "NVML does not start: error " + std::to_string(error);
  }
  is_initialised_ = true;
  unsigned count = 0;
  if (nvml().device_count(&count) != nvml::kSuccess || nvml().uuid == nullptr) return "NVML names no GPU";
  for (unsigned index = 0; index < count; ++index) {
    nvml::Device device = nullptr;
    char uuid[nvml::kTextLength + 1] = {};
    if (nvml().device_by_index(index, &device) != nvml::kSuccess) continue;
    if (nvml().uuid(device, uuid, nvml::kTextLength) == nvml::kSuccess) devices_[uuid] = device;
    by_pci_[kernel_pci(pci_bus_id(nvml(), device))] = device;
  }
  open_events();
  return "";
}

// Cards without events (some virtual GPUs) are watched by their readings and the kernel's log.
void NvmlSampler::open_events() {
  const nvml::Functions& functions = nvml();
  if (functions.event_set_create == nullptr || functions.event_set_wait == nullptr ||
      functions.event_set_free == nullptr || functions.register_events == nullptr ||
      functions.event_set_create(&events_) != nvml::kSuccess) {
    events_ = nullptr;
    return;
  }
  bool any = false;
  for (const auto& [uuid, device] : devices_) {
    if (functions.register_events(device, nvml::kEventXid, events_) == nvml::kSuccess) any = true;
  }
  if (any) return;
  functions.event_set_free(events_);
  events_ = nullptr;
}

void NvmlSampler::run() {
  auto next_pass = Steady::now();
  for (;;) {
    const std::vector<Watched> watched = watched_now();
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->quit) return;
    }
    const std::vector<Watched> last_of = waiting_for_last_pass(watched);
    for (const Watched& attempt : watched) read(*attempt);
    finish_pass(last_of);
    next_pass = std::max(next_pass + settings_.period, Steady::now());
    while (Steady::now() < next_pass && !is_hurried()) take_events(kSlice);
  }
}

std::vector<Watched> NvmlSampler::watched_now() {
  const std::lock_guard lock(state_->mutex);
  return state_->watched;
}

// Somebody waits for the last pass, or for the first, or for the end.
bool NvmlSampler::is_hurried() {
  const std::lock_guard lock(state_->mutex);
  state_->last_sign_of_life = Steady::now();
  return state_->quit || std::any_of(state_->watched.begin(), state_->watched.end(),
                                     [](const Watched& attempt) { return attempt->wants_last_pass; });
}

// Those that asked before the pass begins: what it reads of the others may be older than their request.
std::vector<Watched> NvmlSampler::waiting_for_last_pass(const std::vector<Watched>& watched) {
  const std::lock_guard lock(state_->mutex);
  std::vector<Watched> waiting = watched;
  std::erase_if(waiting, [](const Watched& attempt) { return !attempt->wants_last_pass; });
  return waiting;
}

void NvmlSampler::finish_pass(const std::vector<Watched>& last_of) {
  // An Xid of an attempt that has just ended may be on its way.
  if (is_hurried()) take_events(milliseconds{1});
  const std::lock_guard lock(state_->mutex);
  for (const Watched& attempt : last_of) attempt->had_last_pass = true;
  std::erase_if(state_->watched, [](const Watched& attempt) { return attempt->had_last_pass; });
  state_->changed.notify_all();
}

nvml::Device NvmlSampler::device_of(const std::string& uuid) const {
  const auto found = devices_.find(uuid);
  return found == devices_.end() ? nullptr : found->second;
}

std::size_t NvmlSampler::index_in(const WatchedGpus& watched, nvml::Device device) const {
  for (std::size_t i = 0; i < watched.header.gpus.size(); ++i) {
    if (device_of(watched.header.gpus[i].uuid) == device) return i;
  }
  return kNoGpu;
}

void NvmlSampler::read(WatchedGpus& watched) {
  const std::int64_t trace_bytes = length_of(watched.trace_path);
  for (std::size_t i = 0; i < watched.header.gpus.size(); ++i) {
    const nvml::Device device = device_of(watched.header.gpus[i].uuid);
    if (device == nullptr || note_lost(watched, i)) continue;
    TelemetrySample sample = reading_of(device, static_cast<int>(i), trace_bytes);
    sample.at_ns = watched.file.age_ns();
    watched.file.append(sample);
    if (const auto fault = unheard_.find(device); fault != unheard_.end()) {
      fault->second.gpu = static_cast<int>(i);
      watched.file.append(fault->second);
      unheard_.erase(fault);
    }
    if (wait_error_ != nvml::kSuccess && !watched.knows_wait_error) {
      watched.file.append({watched.file.age_ns(), static_cast<int>(i), TelemetryEventKind::wait_error, wait_error_});
    }
  }
  watched.knows_wait_error = wait_error_ != nvml::kSuccess;
}

bool NvmlSampler::note_lost(WatchedGpus& watched, std::size_t gpu) {
  if (watched.is_lost[gpu]) return true;
  nvml::Memory memory{};
  if (nvml().memory(device_of(watched.header.gpus[gpu].uuid), &memory) != nvml::kGpuIsLost) return false;
  watched.is_lost[gpu] = true;
  watched.file.append({watched.file.age_ns(), static_cast<int>(gpu), TelemetryEventKind::lost, nvml::kGpuIsLost});
  return true;
}

TelemetrySample NvmlSampler::reading_of(nvml::Device device, int gpu, std::int64_t trace_bytes) {
  TelemetrySample sample;
  sample.gpu = gpu;
  sample.trace_bytes = trace_bytes;
  sample.values = read_quantities(nvml(), device);
  for (const ComputeProcess& process : compute_processes(nvml(), device).value_or(std::vector<ComputeProcess>{})) {
    const auto known = kin_.find(process.pid);
    const Kinship kinship = known != kin_.end() ? known->second : kinship_of(process.pid);
    if (kinship == Kinship::own) {
      kin_[process.pid] = kinship;
      auto& memory_bytes = sample.values[static_cast<std::size_t>(Quantity::process_memory_bytes)];
      if (process.memory_bytes) memory_bytes = memory_bytes.value_or(0) + *process.memory_bytes;
    }
    (kinship == Kinship::own       ? sample.own_pids
     : kinship == Kinship::foreign ? sample.foreign_pids
                                   : sample.hidden_pids)
        .push_back(process.pid);
  }
  return sample;
}

void NvmlSampler::take_events(milliseconds timeout) {
  if (events_ == nullptr || wait_error_ != nvml::kSuccess) {
    for (const KernelXid& xid : kernel_log_.new_xids()) {
      const auto device = by_pci_.find(xid.pci);
      if (device != by_pci_.end()) take_xid(device->second, xid.number);
    }
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, timeout);
    return;
  }
  nvml::Event event{};
  const nvml::Return result = nvml().event_set_wait(events_, &event, static_cast<unsigned>(timeout.count()));
  if (result == nvml::kSuccess) {
    take_event(event);
  } else if (result != nvml::kTimeout) {
    take_wait_error(result);
  }
}

void NvmlSampler::take_event(const nvml::Event& event) {
  if (event.type == nvml::kEventXid) take_xid(event.device, static_cast<int>(event.data));
}

// An error of the application class while nobody was watching was nobody's of this run.
void NvmlSampler::take_xid(nvml::Device device, int number) {
  bool heard = false;
  for (const Watched& attempt : watched_now()) {
    const std::size_t gpu = index_in(*attempt, device);
    if (gpu == kNoGpu) continue;
    attempt->file.append({attempt->file.age_ns(), static_cast<int>(gpu), TelemetryEventKind::xid, number});
    heard = true;
  }
  if (!heard && class_of_xid(number) == XidClass::device) {
    unheard_[device] = {0, 0, TelemetryEventKind::xid, number};
  }
}

// Without the event channel a device fault would go unseen, so every GPU counts as unhealthy, unless the error is that
// of a GPU which its readings show as lost.
void NvmlSampler::take_wait_error(nvml::Return error) {
  wait_error_ = error;
  if (error != nvml::kGpuIsLost) return;
  for (const auto& [uuid, device] : devices_) {
    nvml::Memory memory{};
    if (nvml().memory(device, &memory) != nvml::kGpuIsLost) continue;
    wait_error_ = nvml::kSuccess;
  }
  if (wait_error_ != nvml::kSuccess) return;
  std::unique_lock lock(state_->mutex);  // the channel will say so again and again
  state_->changed.wait_for(lock, kSlice);
}

void sample_until_told(const TelemetrySettings& settings, const std::shared_ptr<SamplerState>& state) {
  NvmlSampler sampler(settings, state);
  const std::string problem = sampler.open();
  {
    const std::lock_guard lock(state->mutex);
    state->problem = problem;
    if (problem.empty()) state->absent = sampler.absent();
    state->last_sign_of_life = Steady::now();
    state->changed.notify_all();
  }
  if (problem.empty()) sampler.run();
}

}  // namespace

void start_sampler(const TelemetrySettings& settings, std::shared_ptr<SamplerState> state) {
  start_detached([settings, state = std::move(state)] {
    sample_until_told(settings, state);
    const std::lock_guard lock(state->mutex);
    state->has_ended = true;
    state->changed.notify_all();
  });
}

}  // namespace reprobench
