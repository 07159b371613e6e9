// Reads a YAML file into our own tree, strictly.
//
// yaml-cpp's node interface keeps duplicate keys silently and hides anchors and marks, so its event handler is used
// instead. Refused, each with its place: duplicate keys, anchors, aliases, merge keys, tags, a second document, a root
// that is no map, `${`, and everything that exceeds the caps below.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/yaml_node.hpp"

namespace reprobench {

inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxScalarBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxNodes = 100'000;
inline constexpr int kMaxDepth = 32;

// For the message about an empty file: "file has no content; a matrix needs `axes:`".
struct FileKind {
  std::string_view article_and_name;  // "a matrix"
  std::string_view needed_key;        // "axes"
};

// The root map; without entries if the text could not be read to its end. Reports to `diagnostics`.
YamlNode read_yaml(const std::string& text, const std::string& file, const FileKind& kind, Diagnostics& diagnostics);

// The file's text; one byte more than kMaxFileBytes if the file is longer. Throws SpecError if it cannot be read.
std::string read_yaml_file(const std::string& path);

}  // namespace reprobench
