// Reads the text files Linux describes itself in.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

// PRETTY_NAME of an os-release file (man os-release), or "Linux".
std::string os_name(const std::string& os_release);

struct CpuText {
  std::string model;             // "model name", or "unknown"
  std::string revision;          // "family 25, model 17, stepping 1, microcode 0x1000065": what of it is there
  std::vector<std::string> isa;  // of the words of HostFacts::cpu_isa
};

// Of a /proc/cpuinfo file, its first processor.
CpuText cpu_text(const std::string& cpuinfo);

}  // namespace reprobench
