// Reads the files that nccl-tests wrote with -J. They are other people's evidence: nothing is believed that the file
// itself can refute.
//
// A row holds a time and the two bandwidths computed from it, so an edited one contradicts itself; the file's own mean
// over all rows shows one that was taken out. Neither shows a file that was forged with care.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/outcome.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench {

// Half of a row, since nccl-tests times each size out of place and in place.
struct NcclTestsTiming {
  Mark mark;
  std::int64_t size_bytes = 0;
  std::string type;   // "float"
  std::string redop;  // "sum"; "none"
  std::string root;   // "-1": none
  bool is_in_place = false;
  std::optional<double> time_us;
  double algorithm_gb_per_s = 0;
  double bus_gb_per_s = 0;
  std::optional<std::int64_t> wrong;  // nothing: the results were not checked

  std::string name() const;  // "8388608 B float sum root -1 in place"
};

struct NcclTestsFile {
  std::string file;
  std::string operation;  // "all_reduce", from the name of its program
  int ranks = 0;
  int nccl_version = 0;  // 22705
  std::string settings;  // of the measurement, in one text: equal where two files measured alike
  std::string devices;   // their models, sorted
  std::vector<NcclTestsTiming> timings;
  std::vector<std::string> failures;   // what fails the file
  std::vector<std::string> undecided;  // why it is no pass

  CheckStatus status() const;
};

// Throws SpecError for everything that read_json refuses, for a key that is there twice (RB008), for a missing or wrong
// field (RB018, RB019), and for figures that contradict each other (RB043).
NcclTestsFile read_nccl_tests(const std::string& text, const std::string& file);

}  // namespace reprobench
