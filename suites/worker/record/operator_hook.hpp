// Shows every operator call of LibTorch, forward and backward, to listeners in this process.
//
// One global RecordFunction callback serves all of them, so they see a call in a fixed order. A listener sees the
// changes that the ones before it made to a call's outputs. Calls that listeners make themselves are not shown.
//
// Backward of tensors on a GPU runs on a thread of LibTorch's own while the caller waits. Its calls are shown from
// there, and only one thread is within shown calls at any time, so listeners see one sequence of nested calls and need
// no lock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct IValue;
}

namespace reprobench {

// The effects of an operator on the memory of its arguments, from its schema.
struct OperatorTraits {
  std::vector<bool> overwrites;          // by argument: written without being read, `out` of `sum.out`, self of `copy_`
  std::vector<bool> changes;             // by argument: written in any way
  std::vector<std::string> fills;        // by argument: its name where it is written and not returned, the running
                                         // statistics of a normalisation, whose schema does not tell of it
  std::optional<std::size_t> fills_if;   // the argument `training` that says whether it does
  bool leaves_memory_unwritten = false;  // `empty` and its relatives
  bool shows_input = false;              // its result is its input, viewed or laid out anew: `t`, `view`, `reshape`
};

struct OperatorCall {
  std::string name;  // "aten::addmm", "AddmmBackward0"
  std::string overload;
  bool is_backward_node = false;
  std::int64_t sequence_nr = -1;  // shared by a forward operator and the backward node it created; -1: none
  int depth = 0;
  std::int64_t index = 0;  // position of its start, counted since the hook was set
  const OperatorTraits* traits = nullptr;
  std::vector<c10::IValue> inputs;
  std::vector<c10::IValue> outputs;  // empty until it has ended; the arguments that it fills stand behind its results
  std::vector<std::string> filled;   // the names of the filled arguments

  bool is_filled(std::size_t argument) const;
};

class OperatorListener {
 public:
  virtual ~OperatorListener() = default;
  virtual void started(OperatorCall& call) = 0;
  virtual void ended(OperatorCall& call) = 0;
};

// While it lives, `listeners` see the calls of the thread that made it and of threads that run backward nodes, in their
// order. At most one may exist.
class OperatorHook {
 public:
  explicit OperatorHook(std::vector<OperatorListener*> listeners);
  ~OperatorHook();
  OperatorHook(const OperatorHook&) = delete;
  OperatorHook& operator=(const OperatorHook&) = delete;

  // Throws the exception of a callback, if there was one: LibTorch swallows it, so it is kept.
  static void rethrow_failure();

 private:
  std::uint64_t handle_;
};

// While it lives, the calls of this thread are not shown: they are those of the recording itself.
class OperatorPause {
 public:
  OperatorPause();
  ~OperatorPause();
  OperatorPause(const OperatorPause&) = delete;
  OperatorPause& operator=(const OperatorPause&) = delete;

 private:
  bool was_busy_;
};

// Calls `visit(tensor)` for every defined tensor in `value`, also those in lists.
void visit_tensors(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit);

}  // namespace reprobench
