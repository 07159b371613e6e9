// Whether the loader can load a library, and from which file.
#pragma once

#include <chrono>
#include <string>

namespace reprobench {

struct LibraryLoad {
  std::string path;     // empty: it cannot be loaded
  std::string problem;  // why it cannot
};

// Calls dlopen in a child process, because a driver's library runs code when it is loaded and may never return.
// Everything that the loader looks at counts: LD_LIBRARY_PATH as it was when this process began, its cache, its default
// folders.
LibraryLoad try_to_load(const std::string& name, std::chrono::milliseconds patience = std::chrono::seconds{10});

}  // namespace reprobench
