// What several files hold together, for an index and the files that it names: the text that
// `sha256sum INDEX FILE...` prints in their folder, whose SHA-256 stands for all of them.
#pragma once

#include <map>
#include <string>

namespace reprobench {

// `files`: SHA-256 by name.
inline std::string checksum_list(const std::string& index, const std::string& sha256_of_index,
                                 const std::map<std::string, std::string>& files) {
  std::string text = sha256_of_index + "  " + index + "\n";
  for (const auto& [name, sha256] : files) text += sha256 + "  " + name + "\n";
  return text;
}

}  // namespace reprobench
