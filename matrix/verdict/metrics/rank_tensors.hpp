// The records that the ranks of a training have of one step. Some tensors must be on record for every rank, some only
// for ranks that hold part of them (ZeRO), and some belong to one micro-batch and so to one rank.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

using TensorKey = std::pair<TensorRole, std::string>;  // in the order in which a step computes

// Whether the tensor belongs to one of several micro-batches; a worker then writes `fc1#2`.
bool is_of_one_micro_batch(const TensorRecord& tensor);

// The replica whose copy of a parameter this is, else empty. For replica 2 a worker writes `fc1.weight@2`, and this is
// "2" (suites/layouts.md).
std::string replica_of(const TensorRecord& tensor);

// Whether the tensor belongs to no single micro-batch, so that all ranks make it together.
bool is_shared(const TensorRecord& tensor);

// Whether ranks share this tensor out at a stage of ZeRO. Only ranks that hold some of it record it, put together.
bool is_shared_out(const TensorRecord& tensor, int zero_stage);

int zero_stage_of(const RankRecord& rank);

// How many micro-batches the rank does one after the other, "4"; empty where it does not say.
std::string accumulate_of(const RankRecord& rank);

// Whether the sum that a rank makes alone is a subtree of the sum over all micro-batches (ADR 23). It is one if the
// rank does one, two, four ... of them.
bool adds_up_a_subtree(const RankRecord& rank);

// Why an attempt's traces cannot show every tensor of every step, or nothing.
std::string incomplete(const AttemptRecord& attempt);

// "step 3", or "the state after the last step".
std::string place_of(const TensorsRecord& record);

// The parameters whose gradients are in the record, added up or of one micro-batch.
void add_trained_parameters(const TensorsRecord& record, std::set<std::string>& trained);

// The first shared-out tensor that no rank recorded, although some rank has to hold it: "no rank recorded `b.exp_avg`";
// empty if there is none. `held` has the shared-out tensors that some rank recorded. An optimizer keeps the same states
// for every trained parameter, so `b.exp_avg` has to be there if `a.exp_avg` is.
std::string without_holder(const std::set<TensorKey>& held, const std::set<std::string>& trained, int zero_stage,
                           bool is_final);

// One tensor of a step, from the traces of several ranks: the ranks that recorded it, with their records.
struct Recorded {
  std::vector<std::size_t> ranks{};
  std::vector<const TensorRecord*> tensors{};
  std::size_t place = 0;  // in the record of the first of those ranks: models list tensors in their own order
};
using RecordedTensors = std::map<TensorKey, Recorded>;

// Puts together the records that all ranks have of the same step.
RecordedTensors recorded_by(const std::vector<const TensorsRecord*>& ranks);

}  // namespace reprobench
