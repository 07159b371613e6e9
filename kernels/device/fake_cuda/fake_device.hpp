// The device behind the fake libcuda.so.1: what it claims to be and which of its calls fail, from a script.
//
// A script is a list of words: `devices=1 driver=13000 compute=90 multiprocessors=4 memory_mib=64 blocks=2
// order=backward fail=cuLaunchKernel:2:700`. `fail=FUNCTION:N:RESULT` makes the N-th call of that function from now
// return RESULT; after one of the results that cost a real context its life, every later call returns it too.
// It is read from $REPROBENCH_FAKE_CUDA when the library is loaded, and from fake_cuda_script.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/device/simt/simt.hpp"

namespace reprobench::simt {

struct ScriptedFailure {
  std::string function;
  int nth = 1;
  int result = 0;
};

class FakeDevice {
 public:
  using Event = std::chrono::steady_clock::time_point;  // of its last record
  struct Stream {};

  static FakeDevice& instance();

  // Starts over: properties, failures and call counts; memory and modules stay. Throws std::invalid_argument.
  void script(const std::string& words);

  // What the call returns instead of doing anything; 0 if it is to go on.
  int scripted_result(const std::string& function);

  int allocate(void** memory, std::size_t bytes, bool on_device);
  int release(void* memory);
  std::size_t used_bytes() const { return used_bytes_; }

  int devices = 1;
  int driver_version = 13000;
  int compute = 90;
  int multiprocessors = 4;
  int blocks_per_multiprocessor = 2;
  std::size_t memory_bytes = std::size_t{256} << 20;
  Order order = Order::forward;
  // The device owns them: once its context is lost none can be destroyed, and they go with the process.
  std::list<Event> events;
  std::list<Stream> streams;
  std::mutex mutex;  // held during every call: the emulator is single-threaded

 private:
  void set(const std::string& key, const std::string& value);

  std::vector<ScriptedFailure> failures_;
  std::map<std::string, int> calls_;
  int sticky_result_ = 0;
  std::map<void*, std::size_t> allocations_;  // on the device: bytes; of pinned host memory: 0
  std::size_t used_bytes_ = 0;
};

}  // namespace reprobench::simt
