// The answers of a stack's worker about the memory of attempts, kept beside it. So each question is asked once, because
// an answer costs a process with LibTorch in it. A file of another worker, or one that is cut or edited, is ignored.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

// Who would answer: the command, its variables, and the program as the file system knows it. The folder is named by
// the worker's sources already; a program that was put in its place has another size or time. Empty: there is none.
std::string answering_worker(const WorkerCommand& worker);

class KeptPredictions {
 public:
  // If a worker's answers are not kept, there are none, and none is written.
  explicit KeptPredictions(const WorkerCommand& worker);

  // Null if the worker has to be asked. `question` is the text of memory_question(). The pointer is valid until
  // something is added.
  const AttemptMemory* find(const std::string& question) const;

  void add(const std::string& question, const AttemptMemory& need);

  // Writes the new answers with the old ones. If nothing can be written, the worker is asked again another time.
  void write() const;

  static constexpr std::size_t kMost = 4096;  // only the first kMost are kept
  static constexpr const char* kFileName = "predictions.json";

 private:
  void read();

  std::filesystem::path file_;                  // empty: nothing is kept
  std::string worker_;                          // digest of the worker that answers
  std::map<std::string, AttemptMemory> needs_;  // by digest of the question
  bool is_changed_ = false;
};

}  // namespace reprobench
