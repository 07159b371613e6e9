// A user's own weights: a safetensors file, or a model cut into several of them with an index beside them, as Hugging
// Face publishes both.
//
//   {"metadata": {...}, "weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors", ...}}
//
// The worker checks the tensors' names and whether a model takes them (suites/worker/weights/weight_names.hpp). It
// takes only bytes with the SHA-256 that was found here.
#pragma once

#include <string>
#include <vector>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct WeightsFile {
  std::string file;                 // absolute; the index of several files
  std::vector<std::string> shards;  // names beside the index, in order
  std::string sha256;               // of the file; for several files that of contract/checksum_list.hpp
};

// `path` is a .safetensors file, an index, or a folder that holds one of the two under its usual name. Reads all of it.
// Throws SpecError: RB027 if it cannot be read, RB041 for files that are no complete safetensors files or do not fit
// their index. For an index also RB001 to RB008, RB015 and RB016 as for any JSON, RB018 and RB019.
WeightsFile read_weights_file(const std::string& path);

// The names of the files in the text of an index, in order, and the tensors of each. Throws as above for the text.
struct WeightsIndex {
  struct Tensor {
    std::string name;
    std::string shard;
    Mark mark;
  };
  std::vector<Tensor> tensors;  // in the order of the text
};
WeightsIndex parse_weights_index(const std::string& text, const std::string& path);

}  // namespace reprobench
