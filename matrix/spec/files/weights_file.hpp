// A user's own weights: a safetensors file, or a model cut into several of them with an index beside them, as Hugging
// Face publishes both.
//
//   {"metadata": {...}, "weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors", ...}}
//
// What the tensors are called and whether a model takes them is its worker's affair
// (suites/worker/weights/weight_names.hpp); it takes no other bytes than those whose SHA-256 was found here.
#pragma once

#include <string>
#include <vector>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct WeightsFile {
  std::string file;                 // absolute; of several their index
  std::vector<std::string> shards;  // names beside the index, in order
  std::string sha256;               // of the file; of several that of contract/checksum_list.hpp
};

// `path`: a .safetensors file, an index, or a folder that holds one of the two under its usual name. Reads all of it.
// Throws SpecError: RB027 nothing that can be read, RB041 files that are no whole safetensors files or do not fit their
// index; of an index also RB001 to RB008, RB015 and RB016 as of any JSON, RB018 and RB019.
WeightsFile read_weights_file(const std::string& path);

// The names of the files in the text of an index, in order, and which tensors each has. Throws as above for the text.
struct WeightsIndex {
  struct Tensor {
    std::string name;
    std::string shard;
    Mark mark;
  };
  std::vector<Tensor> tensors;  // as they stand there
};
WeightsIndex parse_weights_index(const std::string& text, const std::string& path);

}  // namespace reprobench
