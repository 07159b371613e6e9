// Owners of memory of the device and of pinned memory of the host. Both grow and never shrink, so that a loop allocates
// only in its first step. Freeing waits for the device, as cuMemFree does.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "kernels/device/device_context.hpp"
#include "kernels/device/device_pointer.hpp"

namespace reprobench {

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // `context` outlives the buffer. Throws DeviceError(out_of_memory).
  explicit DeviceBuffer(const DeviceContext& context, std::size_t count = 0) : context_(&context) { grow(count); }
  ~DeviceBuffer() { release(); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // Makes room for `count` elements. If the buffer grows, its contents are lost.
  void grow(std::size_t count) {
    if (count <= count_) return;
    release();
    context_->bind();
    context_->driver().check(context_->driver().allocate(&address_, count * sizeof(T)), "cuMemAlloc");
    count_ = count;
  }

  std::size_t size() const { return count_; }
  DevicePointer<T> data() const { return DevicePointer<T>(address_); }

  // The host memory must not change until the stream has reached the copy. It may be pageable: then the copy waits.
  void copy_from(std::span<const T> values, CuStream stream) {
    if (values.empty()) return;
    context_->bind();
    context_->driver().check(context_->driver().copy_to_device(address_, values.data(), values.size_bytes(), stream),
                             "cuMemcpyHtoDAsync");
  }
  void copy_to(std::span<T> values, CuStream stream) const {
    if (values.empty()) return;
    context_->bind();
    context_->driver().check(context_->driver().copy_to_host(values.data(), address_, values.size_bytes(), stream),
                             "cuMemcpyDtoHAsync");
  }
  void fill_zero(CuStream stream) {
    if (count_ == 0) return;
    context_->bind();
    context_->driver().check(context_->driver().fill_bytes(address_, 0, count_ * sizeof(T), stream), "cuMemsetD8Async");
  }

 private:
  void release() {
    if (count_ != 0 && context_->try_bind()) context_->driver().free(address_);
    count_ = 0;
    address_ = 0;
  }

  const DeviceContext* context_;
  CuAddress address_ = 0;
  std::size_t count_ = 0;
};

template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit PinnedBuffer(const DeviceContext& context, std::size_t count = 0) : context_(&context) { grow(count); }
  ~PinnedBuffer() { release(); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  void grow(std::size_t count) {
    if (count <= count_) return;
    release();
    context_->bind();
    void* memory = nullptr;
    context_->driver().check(context_->driver().allocate_host(&memory, count * sizeof(T)), "cuMemAllocHost");
    data_ = static_cast<T*>(memory);
    count_ = count;
  }

  std::span<T> first(std::size_t count) const { return {data_, count}; }

 private:
  void release() {
    if (count_ != 0 && context_->try_bind()) context_->driver().free_host(data_);
    count_ = 0;
  }

  const DeviceContext* context_;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace reprobench
