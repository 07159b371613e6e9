#include "suites/worker/probes/formed_output_probe.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "suites/worker/probes/operand_elements.hpp"
#include "suites/worker/probes/order_time.hpp"
#include "suites/worker/probes/row_norm_rows.hpp"
#include "suites/worker/probes/single_call.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kRounds = 6;                 // at least, so that each kind of input comes
constexpr std::int64_t kElementsOfRound = 1 << 21;  // whose sums are done again: about 0.05 s
constexpr std::int64_t kDifferentNumbers = 65'521;  // drawn for one tensor, and repeated: a prime

std::vector<float> values_of(const at::Tensor& tensor) { return floats_of(tensor.to(at::kCPU).to(at::kFloat)); }

class OrderOfFormed {
 public:
  OrderOfFormed(const SingleCall& call, const FormedOutput& formed, const std::string& output, std::uint64_t seed,
                const OrderLimits& limits)
      : call_(call), formed_(formed), output_(output), seed_(seed), limits_(limits), time_(limits.seconds) {}

  CallOrder run(const RecordedCall& recorded) {
    CallOrder found;
    try {
      find_forms();
      if (forms_.empty()) throw OrderNotKnown("none of the forms that ATen is known to have gives its bits");
      const std::size_t form = forms_.front();
      hold_to_record(form, recorded, found);
      found.elements = found.replayed + found.not_replayed;
      found.classes.push_back(
          {formed_.text(form), formed_.shape(form), SumEnd::as_it_is, formed_.terms(), 0, found.elements, checked_});
    } catch (const OrderNotKnown& unknown) {
      found = {};
      found.problem = unknown.what();
    }
    found.probes = rounds_;
    found.took_ns = time_.taken().count();
    return found;
  }

 private:
  // Leaves the forms that give every round.
  void find_forms() {
    forms_.resize(formed_.forms());
    std::iota(forms_.begin(), forms_.end(), std::size_t{0});
    std::vector<at::Tensor> tensors = call_.blank_tensors();
    if (output_.starts_with("gradient.")) tensors.push_back(at::zeros(call_.run_on(tensors, "output.0").sizes()));
    for (; !forms_.empty() && (rounds_ < kRounds || checked_ < limits_.inputs); ++rounds_) {
      const FormedOutput::Tensors values = draw(tensors);
      const std::vector<float> made = values_of(call_.run_on(tensors, output_));
      const std::vector<std::int64_t> units = units_to_check(kElementsOfRound);
      std::erase_if(forms_, [&](std::size_t form) {
        return std::ranges::any_of(units, [&](std::int64_t unit) { return !is_given(form, values, unit, made); });
      });
      checked_ += static_cast<std::int64_t>(units.size());
    }
  }

  // Fills the tensors, and returns what they hold.
  FormedOutput::Tensors draw(const std::vector<at::Tensor>& tensors) const {
    FormedOutput::Tensors values;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = "formed#" + std::to_string(rounds_) + "#" + std::to_string(i);
      const std::int64_t size = tensors[i].numel();
      const at::Tensor as = at::zeros({std::min(size, kDifferentNumbers)});
      std::vector<float> drawn = values_of(random_operand(as, seed_, name, false));
      for (auto at = static_cast<std::size_t>(as.numel()); at < static_cast<std::size_t>(size); ++at) {
        drawn.push_back(drawn[at - static_cast<std::size_t>(kDifferentNumbers)]);
      }
      values.push_back(std::move(drawn));
    }
    formed_.make_kind(rounds_, values);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].copy_(at::from_blob(values[i].data(), tensors[i].sizes(), at::kFloat));
    }
    return values;
  }

  // All, or as many as have so many elements, spread evenly.
  std::vector<std::int64_t> units_to_check(std::int64_t elements) const {
    const std::int64_t all = formed_.units();
    const std::int64_t count =
        std::min(all, std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, formed_.terms())));
    std::vector<std::int64_t> units;
    for (std::int64_t i = 0; i < count; ++i) units.push_back(i * all / count);
    return units;
  }

  bool is_given(std::size_t form, const FormedOutput::Tensors& values, std::int64_t unit,
                const std::vector<float>& made) {
    time_.check();
    again_.clear();
    formed_.compute(form, values, unit, again_);
    return std::ranges::all_of(again_, [&](const FormedOutput::Value& one) {
      return is_same(made[static_cast<std::size_t>(one.element)], one.value);
    });
  }

  void hold_to_record(std::size_t form, const RecordedCall& recorded, CallOrder& found) {
    FormedOutput::Tensors values;
    for (const at::Tensor& tensor : recorded.tensors) values.push_back(values_of(tensor));
    const std::vector<float> made = values_of(recorded.made);
    for (const std::int64_t unit : units_to_check(kRowElementsOfRecord)) {
      time_.check();
      again_.clear();
      formed_.compute(form, values, unit, again_);
      for (const FormedOutput::Value& one : again_) {
        if (is_same(made[static_cast<std::size_t>(one.element)], one.value)) {
          ++found.replayed;
        } else if (found.not_replayed++ == 0 || one.element < *found.first_not_replayed) {
          found.first_not_replayed = one.element;
        }
      }
    }
  }

  const SingleCall& call_;
  const FormedOutput& formed_;
  const std::string& output_;
  std::uint64_t seed_;
  OrderLimits limits_;
  OrderTime time_;
  std::vector<std::size_t> forms_;  // that have given everything so far
  std::int64_t rounds_ = 0;
  std::int64_t checked_ = 0;
  std::vector<FormedOutput::Value> again_;
};

}  // namespace

CallOrder order_of_formed(const SingleCall& call, const FormedOutput& formed, const std::string& output,
                          const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits) {
  return OrderOfFormed(call, formed, output, seed, limits).run(recorded);
}

}  // namespace reprobench
