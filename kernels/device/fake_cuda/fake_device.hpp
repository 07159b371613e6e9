// The device behind the fake libcuda.so.1: its properties and the calls that fail, from a script.
//
// A script is a list of words: `devices=1 driver=13000 compute=90 multiprocessors=4 memory_mib=64 blocks=2
// order=backward fail=cuLaunchKernel:2:700`. `fail=FUNCTION:N:RESULT` makes the N-th call of that function from now
// return RESULT. If the result is one after which a real context is lost, every later call returns it too. The script
// is read from $REPROBENCH_FAKE_CUDA when the library is loaded, and from fake_cuda_script.
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
  using Event = std::chrono::steady_clock::time_point;  // the time of its last record
  struct Stream {};

  static FakeDevice& instance();

  // Starts over: properties, failures and call counts; memory and modules stay. Throws std::invalid_argument.
  void script(const std::string& words);

  // The result that the call returns instead of doing its work; 0 if it is to do it.
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
  // The device owns events and streams: once its context is lost none can be destroyed, and they end with the process.
  std::list<Event> events;
  std::list<Stream> streams;
  std::mutex mutex;  // held during every call: the emulator is single-threaded

 private:
  void set(const std::string& key, const std::string& value);

  std::vector<ScriptedFailure> failures_;
  std::map<std::string, int> calls_;
  int sticky_result_ = 0;
  std::map<void*, std::size_t> allocations_;  // bytes on the device; 0 for pinned host memory
  std::size_t used_bytes_ = 0;
};

}  // namespace reprobench::simt
