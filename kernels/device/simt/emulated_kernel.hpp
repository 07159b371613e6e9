// Kernels as the fake driver runs them: by name, with the driver's array of pointers to the arguments.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace reprobench::simt {

struct EmulatedKernel {
  std::string_view name;
  void (*call)(void** arguments);  // as one thread
};

// Every kernel of kernels/, from the table that CMake writes.
std::span<const EmulatedKernel> emulated_kernels();

namespace detail {

template <class... Parameters, std::size_t... index>
void call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<index...>) {
  kernel(*static_cast<Parameters*>(arguments[index])...);
}

template <class... Parameters>
void call(void (*kernel)(Parameters...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Parameters...>());
}

}  // namespace detail

template <auto kernel>
void call_with(void** arguments) {
  detail::call(kernel, arguments);
}

}  // namespace reprobench::simt
