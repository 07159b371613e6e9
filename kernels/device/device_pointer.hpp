// A pointer into device memory, written alike in a kernel's signature by the kernel and its callers.
//
// In device code it is the plain pointer. On the host it is a type of its own: it cannot be dereferenced, mixed with a
// host pointer or passed where another element type is wanted. It owns nothing.
#pragma once

#if !defined(__CUDACC_RTC__) && !defined(REPROBENCH_SIMT)
#include <type_traits>
#endif

#include "kernels/portable.hpp"

namespace reprobench {

#if defined(__CUDACC_RTC__) || defined(REPROBENCH_SIMT)

template <class T>
using DevicePointer = T*;

#else

template <class T>
class DevicePointer {
 public:
  using element_type = T;

  DevicePointer() = default;
  constexpr explicit DevicePointer(std::uint64_t address) : address_(address) {}
  // Makes one from a framework's `void*` into device memory.
  static DevicePointer of(const void* pointer) {
    return DevicePointer(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer)));
  }
  // A pointer to writable elements may be used for reading.
  template <class U>
  requires(std::is_same_v<const U, T>) constexpr DevicePointer(DevicePointer<U> other) : address_(other.address()) {}

  constexpr std::uint64_t address() const { return address_; }
  constexpr DevicePointer operator+(std::uint64_t elements) const {
    return DevicePointer(address_ + elements * sizeof(T));
  }
  friend constexpr bool operator==(DevicePointer, DevicePointer) = default;

 private:
  std::uint64_t address_ = 0;
};

#endif

}  // namespace reprobench
