// Reads the text files Linux describes itself in.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

// PRETTY_NAME of an os-release file (man os-release), or "Linux".
std::string os_name(const std::string& os_release);

struct CpuText {
  std::string model;             // "model name", or "unknown"
  std::vector<std::string> isa;  // of "avx2", "avx512": those ATen can dispatch to
};

// Of a /proc/cpuinfo file, its first processor.
CpuText cpu_text(const std::string& cpuinfo);

}  // namespace reprobench
