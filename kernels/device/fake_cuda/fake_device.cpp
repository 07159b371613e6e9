#include "kernels/device/fake_cuda/fake_device.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace reprobench::simt {
namespace {

constexpr std::size_t kAlignment = 512;  // of cuMemAlloc, at least 256
constexpr int kOutOfMemory = 2;
constexpr int kInvalidValue = 1;

bool costs_the_context(int result) { return result == 214 || (result >= 700 && result <= 719 && result != 701); }

Order order_of(const std::string& word) {
  if (word == "forward") return Order::forward;
  if (word == "backward") return Order::backward;
  if (word == "shuffled") return Order::shuffled;
  throw std::invalid_argument("fake device: no order " + word);
}

ScriptedFailure failure_of(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) {
    throw std::invalid_argument("fake device: fail=FUNCTION:N:RESULT, not " + text);
  }
  return {text.substr(0, first), std::stoi(text.substr(first + 1)), std::stoi(text.substr(second + 1))};
}

}  // namespace

FakeDevice& FakeDevice::instance() {
  static FakeDevice* const device = [] {
    auto* created = new FakeDevice;  // never destroyed: callers outlive static destruction
    if (const char* words = std::getenv("REPROBENCH_FAKE_CUDA")) created->script(words);
    return created;
  }();
  return *device;
}

void FakeDevice::script(const std::string& words) {
  devices = 1;
  driver_version = 13000;
  compute = 90;
  multiprocessors = 4;
  blocks_per_multiprocessor = 2;
  memory_bytes = std::size_t{256} << 20;
  order = Order::forward;
  failures_.clear();
  calls_.clear();
  sticky_result_ = 0;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("fake device: KEY=VALUE, not " + word);
    set(word.substr(0, equals), word.substr(equals + 1));
  }
}

void FakeDevice::set(const std::string& key, const std::string& value) {
  if (key == "fail") {
    failures_.push_back(failure_of(value));
  } else if (key == "order") {
    order = order_of(value);
  } else if (key == "memory_mib") {
    memory_bytes = std::stoul(value) << 20;
  } else {
    const std::map<std::string, int*> numbers = {{"devices", &devices},
                                                 {"driver", &driver_version},
                                                 {"compute", &compute},
                                                 {"multiprocessors", &multiprocessors},
                                                 {"blocks", &blocks_per_multiprocessor}};
    const auto found = numbers.find(key);
    if (found == numbers.end()) throw std::invalid_argument("fake device: no key " + key);
    *found->second = std::stoi(value);
  }
}

int FakeDevice::scripted_result(const std::string& function) {
  const int call = ++calls_[function];
  if (sticky_result_ != 0) return sticky_result_;
  for (const ScriptedFailure& failure : failures_) {
    if (failure.function != function || failure.nth != call) continue;
    if (costs_the_context(failure.result)) sticky_result_ = failure.result;
    return failure.result;
  }
  return 0;
}

int FakeDevice::allocate(void** memory, std::size_t bytes, bool on_device) {
  if (bytes == 0) return kInvalidValue;
  const std::size_t counted = on_device ? bytes : 0;
  if (used_bytes_ + counted > memory_bytes) return kOutOfMemory;
  if (posix_memalign(memory, kAlignment, bytes) != 0) return kOutOfMemory;
  std::memset(*memory, 0xa5, bytes);  // nobody may count on zeros
  allocations_[*memory] = counted;
  used_bytes_ += counted;
  return 0;
}

int FakeDevice::release(void* memory) {
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) return kInvalidValue;
  used_bytes_ -= found->second;
  allocations_.erase(found);
  std::free(memory);
  return 0;
}

}  // namespace reprobench::simt
