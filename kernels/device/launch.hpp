// Typed kernel launches: the arguments have to be exactly those of the kernel's signature.
//
// A kernel is described once, in the header that its `.cu` file and its callers share, by a struct
//
//   struct DigestBlocks {
//     static constexpr char kModule[] = "digest";       // the folder
//     static constexpr char kName[] = "digest_blocks";  // the function
//     static constexpr uint32_t kThreads = 256;         // of a block
//     using Signature = void(DevicePointer<const TensorSpan>, uint32_t, DevicePointer<DigestLanes>);
//   };
//
// and the `.cu` file checks its function against it (RB_CHECK_KERNEL in device_code.hpp).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "kernels/device/device_pointer.hpp"

namespace reprobench {

// cudaStream_t and CUstream are both this pointer; null is the default stream.
using DeviceStream = void*;

template <class Argument, class Parameter>
inline constexpr bool kFitsParameter = std::same_as<Argument, Parameter>;

// The one conversion allowed: to read writable memory.
template <class T>
inline constexpr bool kFitsParameter<DevicePointer<T>, DevicePointer<const T>> = true;

template <class Signature, class... Arguments>
inline constexpr bool kFitsSignature = false;

template <class... Parameters, class... Arguments>
requires(sizeof...(Parameters) ==
         sizeof...(Arguments)) inline constexpr bool kFitsSignature<void(Parameters...), Arguments...> =
    (kFitsParameter<std::remove_cvref_t<Arguments>, Parameters> && ...);

template <class Kernel, class... Arguments>
concept LaunchableWith = kFitsSignature<typename Kernel::Signature, Arguments...>;

// Copies of the arguments, and their addresses in the form that the driver takes.
template <class Signature>
class LaunchArguments;

template <class... Parameters>
class LaunchArguments<void(Parameters...)> {
 public:
  explicit LaunchArguments(Parameters... values) : values_(values...) {
    std::size_t i = 0;
    std::apply([&](auto&... value) { ((addresses_[i++] = &value), ...); }, values_);
  }
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  void** addresses() { return addresses_.data(); }

 private:
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "a launch copies its arguments byte by byte");

  std::tuple<Parameters...> values_;
  std::array<void*, sizeof...(Parameters)> addresses_{};
};

}  // namespace reprobench
