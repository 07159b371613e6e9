// What a stack's worker said attempts will take, kept beside it, so that each question is asked once: an answer costs a
// process with LibTorch in it. A file of another worker, or one that is cut or edited, counts as none.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

class KeptPredictions {
 public:
  // Of a worker whose answers are not kept there is none, and none is written.
  explicit KeptPredictions(const WorkerCommand& worker);

  // Null: it has to be asked. `question`: the text of memory_question(). Valid until something is added.
  const AttemptMemory* find(const std::string& question) const;

  void add(const std::string& question, const AttemptMemory& need);

  // What was added, with what was there. Where nothing can be written the worker is asked again another time.
  void write() const;

  static constexpr std::size_t kMost = 4096;  // the first so many are kept
  static constexpr const char* kFileName = "predictions.json";

 private:
  void read();

  std::filesystem::path file_;                  // empty: nothing is kept
  std::string worker_;                          // digest of who answers
  std::map<std::string, AttemptMemory> needs_;  // by digest of the question
  bool is_changed_ = false;
};

}  // namespace reprobench
