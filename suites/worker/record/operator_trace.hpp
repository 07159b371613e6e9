// Writes operators.jsonl: every operator call of the requested steps, with the digests of its inputs and outputs; and
// for requested calls the tensors themselves (captured_site.hpp).
//
// The model's taps tell where a call belongs: calls since the last tap belong to the module that is tapped next. A
// backward node shares its sequence number with the forward operator that made it, and so its module.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/replay.hpp"
#include "suites/worker/record/digest_cache.hpp"
#include "suites/worker/record/operator_hook.hpp"
#include "suites/worker/record/tensor_makers.hpp"
#include "suites/worker/replay/substituted_inputs.hpp"

namespace reprobench {

class CapturedSite;

class OperatorTrace final : public OperatorListener {
 public:
  // Throws RunFailure "bad_request" for substituted inputs that cannot be read.
  OperatorTrace(const std::filesystem::path& folder, const Replay& replay);
  ~OperatorTrace() override;

  void begin_step(std::int64_t step);
  void enter_pass(const std::string& pass);
  void end_module(const std::string& name);
  std::int64_t step() const { return step_; }  // of the last begin_step()

  TensorMakers& makers() { return makers_; }

  // Throws std::system_error; RunFailure "bad_request" if a call to capture has not been met.
  void end_step();

  void started(OperatorCall& call) override;
  void ended(OperatorCall& call) override;

 private:
  OperatorTensor read_input(const OperatorCall& call, std::size_t argument, const at::Tensor& tensor);
  void add_inputs(OperatorRecord& record, const OperatorCall& call);
  void add_outputs(OperatorRecord& record, const OperatorCall& call);
  std::string module_of(const OperatorCall& call);
  void hand_on(const OperatorCall& call, const OperatorRecord& record);

  bool writes_calls_;  // false: only captures are kept
  std::vector<std::unique_ptr<CapturedSite>> captures_;
  std::unique_ptr<ValueKeeper> keeper_;
  std::unique_ptr<ValueSubstitution> substitution_;
  int file_ = -1;
  std::int64_t seq_ = 0;
  std::int64_t step_ = 0;
  std::int64_t calls_ = 0;  // of this step
  std::string pass_;
  DigestCache contents_;
  TensorMakers makers_;
  std::vector<OperatorRecord> running_;     // innermost last
  std::vector<OperatorRecord> records_;     // of this step, ended
  std::vector<std::int64_t> sequence_nrs_;  // of records_
  std::size_t first_of_module_ = 0;         // in records_
  std::map<std::int64_t, std::string> module_of_sequence_;
  std::vector<std::string> backward_modules_;  // of the backward nodes that run, innermost last
};

}  // namespace reprobench
