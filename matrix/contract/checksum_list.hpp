// One text for an index and the files that it names: what `sha256sum INDEX FILE...` prints in their folder. The SHA-256
// of the text stands for the content of all of them.
#pragma once

#include <map>
#include <string>

namespace reprobench {

// `files` has the SHA-256 of each file by its name.
inline std::string checksum_list(const std::string& index, const std::string& sha256_of_index,
                                 const std::map<std::string, std::string>& files) {
  std::string text = sha256_of_index + "  " + index + "\n";
  for (const auto& [name, sha256] : files) text += sha256 + "  " + name + "\n";
  return text;
}

}  // namespace reprobench
