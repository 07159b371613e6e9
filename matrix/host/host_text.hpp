// Reads the text files in which Linux describes itself.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

// PRETTY_NAME of an os-release file (man os-release), or "Linux".
std::string os_name(const std::string& os_release);

struct CpuText {
  std::string model;             // "model name", or "unknown"
  std::string revision;          // "family 25, model 17, stepping 1, microcode 0x1000065": the parts that are there
  std::vector<std::string> isa;  // among the words of HostFacts::cpu_isa
};

// The first processor in the text of a /proc/cpuinfo file.
CpuText cpu_text(const std::string& cpuinfo);

}  // namespace reprobench
