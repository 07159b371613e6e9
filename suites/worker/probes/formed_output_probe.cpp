#include "suites/worker/probes/formed_output_probe.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "suites/worker/probes/operand_elements.hpp"
#include "suites/worker/probes/order_time.hpp"
#include "suites/worker/probes/single_call.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kGradient = "gradient.";
constexpr std::size_t kRounds = 6;                  // at least, so that each kind of input comes
constexpr std::int64_t kElementsOfRound = 1 << 21;  // whose sums are done again: about 0.05 s
constexpr std::int64_t kElementsOfRecord = 1 << 23;
constexpr std::int64_t kMostKeptElements = 1 << 25;  // of rounds that are asked again: 128 MiB
constexpr std::int64_t kDifferentNumbers = 65'521;   // drawn for one tensor, and repeated: a prime

// All elements, row-major.
std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.to(at::kCPU).to(at::kFloat).contiguous();
  const auto* const values = static_cast<const float*>(dense.data_ptr());
  return {values, values + dense.numel()};
}

// Whether two results are the same, but for the bits of a NaN and the sign of a zero.
bool is_same(float made, float again) { return made == again || (made != made && again != again); }

// Operands that were drawn, and what the call made of them, by the names of outputs.
struct Round {
  FormedOutput::Tensors values;
  std::map<std::string, std::vector<float>> made;
  const FormedOutput* hidden_of = nullptr;  // the output for which hidden values stand behind the others

  std::int64_t size() const {
    std::size_t all = 0;
    for (const auto& tensor : values) all += tensor.size();
    for (const auto& [name, output] : made) all += output.size();
    return static_cast<std::int64_t>(all);
  }
};

class OrderOfFormed {
 public:
  OrderOfFormed(const SingleCall& call, const FormedOutput& formed, const std::string& output, std::uint64_t seed,
                const OrderLimits& limits)
      : call_(call), formed_(formed), output_(output), seed_(seed), limits_(limits), time_(limits.seconds) {
    const FormedOutput::Basis* basis = formed.basis();
    for (; basis != nullptr; basis = basis->output->basis()) names_of_basis_.push_back(basis->name);
  }

  CallOrder run(const RecordedCall& recorded) {
    CallOrder found;
    try {
      tensors_ = call_.blank_tensors();
      if (is_gradient()) tensors_.push_back(at::zeros(call_.run_on(tensors_, "output.0").sizes()));
      const std::vector<std::size_t> forms = forms_of(formed_, output_);
      if (forms.empty()) throw OrderNotKnown("none of the forms that ATen is known to have gives its bits");
      const std::size_t form = forms.front();
      hold_to_record(form, recorded, found);
      found.elements = found.replayed + found.not_replayed;
      found.classes.push_back(
          {formed_.text(form), formed_.shape(form), SumEnd::as_it_is, formed_.terms(), 0, found.elements, checked_});
    } catch (const OrderNotKnown& unknown) {
      found = {};
      found.problem = unknown.what();
    }
    found.probes = drawn_;
    found.took_ns = time_.taken().count();
    return found;
  }

 private:
  bool is_gradient() const { return output_.starts_with(kGradient); }

  // Those that may be the library's, before any is tried.
  std::vector<std::size_t> candidates(const FormedOutput& formed) {
    const FormedOutput::Basis* const basis = formed.basis();
    std::vector<std::size_t> forms;
    if (basis == nullptr) {
      forms.resize(formed.forms());
      std::iota(forms.begin(), forms.end(), std::size_t{0});
      return forms;
    }
    for (const std::size_t of_basis : forms_of(*basis->output, basis->name)) {
      std::ranges::copy(formed.forms_on(of_basis), std::back_inserter(forms));
      if (!formed.given_outputs().empty()) break;  // its values are given, whichever form has made them
    }
    return forms;
  }

  // Those that give every round of an output. The first one stands for all that no round tells apart, so it alone is
  // held against the later rounds; but in a basis, where what follows may tell them apart.
  std::vector<std::size_t> forms_of(const FormedOutput& formed, const std::string& output) {
    std::vector<std::size_t> forms = candidates(formed);
    const std::vector<std::int64_t> units = units_to_check(formed, kElementsOfRound);
    const auto gives = [&](std::size_t form, std::size_t i) {
      time_.check();
      Round& round = round_at(i);
      add_hidden(formed, form, round);
      return std::ranges::all_of(
          units, [&](std::int64_t unit) { return is_given(formed, form, round.values, unit, round.made.at(output)); });
    };
    const bool is_basis = &formed != &formed_;
    checked_ = 0;
    for (std::size_t i = 0; !forms.empty() && (i < kRounds || checked_ < limits_.inputs); ++i) {
      if (i < kRounds || is_basis) {
        std::erase_if(forms, [&](std::size_t form) { return !gives(form, i); });
      } else {
        for (std::size_t from = i; !forms.empty() && !gives_rounds(gives, forms.front(), from, i); from = kRounds) {
          forms.erase(forms.begin());
        }
      }
      checked_ += static_cast<std::int64_t>(units.size());
    }
    return forms;
  }

  static bool gives_rounds(const auto& gives, std::size_t form, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) {
      if (!gives(form, i)) return false;
    }
    return true;
  }

  // All forms that are tried of an output have one basis if it takes what that made.
  void add_hidden(const FormedOutput& formed, std::size_t form, Round& round) {
    if (round.hidden_of == &formed) return;
    round.values.resize(tensors_.size() + formed_.given_outputs().size());
    formed.add_hidden(form, round.values);
    round.hidden_of = &formed;
  }

  // Outputs that begin with another one's forms ask for the same rounds again.
  Round& round_at(std::size_t i) {
    if (i < kept_.size()) return kept_[i];
    if (last_at_ == i) return last_;
    Round round = draw(i);
    ++drawn_;
    const bool is_asked_again = !names_of_basis_.empty();
    if (is_asked_again && i == kept_.size() && kept_elements_ + round.size() <= kMostKeptElements) {
      kept_elements_ += round.size();
      return kept_.emplace_back(std::move(round));
    }
    last_at_ = i;
    last_ = std::move(round);
    return last_;
  }

  Round draw(std::size_t i) {
    Round round;
    for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
      const std::string name = "formed#" + std::to_string(i) + "#" + std::to_string(tensor);
      const std::int64_t size = tensors_[tensor].numel();
      const at::Tensor as = at::zeros({std::min(size, kDifferentNumbers)});
      std::vector<float> drawn = values_of(random_operand(as, seed_, name, false));
      for (auto at = static_cast<std::size_t>(as.numel()); at < static_cast<std::size_t>(size); ++at) {
        drawn.push_back(drawn[at - static_cast<std::size_t>(kDifferentNumbers)]);
      }
      round.values.push_back(std::move(drawn));
    }
    formed_.make_kind(static_cast<std::int64_t>(i), round.values);
    for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
      tensors_[tensor].copy_(at::from_blob(round.values[tensor].data(), tensors_[tensor].sizes(), at::kFloat));
    }
    time_.check();
    round.made[output_] = values_of(call_.run_on(tensors_, output_));
    for (const std::string& name : names_of_basis_) {
      const bool is_of_gradient = name.starts_with(kGradient);
      round.made[name] = values_of(call_.run_on(is_of_gradient ? tensors_ : of_call(tensors_), name));
    }
    for (const std::string& name : formed_.given_outputs()) round.values.push_back(round.made.at(name));
    return round;
  }

  // A gradient's tensors end with the one that the backward pass is given, which the call itself does not take.
  std::vector<at::Tensor> of_call(const std::vector<at::Tensor>& tensors) const {
    return {tensors.begin(), tensors.end() - (is_gradient() ? 1 : 0)};
  }

  void add_given_outputs(const std::vector<at::Tensor>& tensors, FormedOutput::Tensors& values) const {
    for (const std::string& name : formed_.given_outputs()) {
      values.push_back(values_of(call_.run_on(of_call(tensors), name)));
    }
  }

  // All, or as many as have so many elements, and enough that a few rounds will do. Each is drawn from its own part of
  // them: at even steps it could be the first query of every head of an attention.
  std::vector<std::int64_t> units_to_check(const FormedOutput& formed, std::int64_t elements) const {
    constexpr std::int64_t kSpread = 7919;
    const std::int64_t all = formed.units();
    const std::int64_t enough = limits_.inputs / static_cast<std::int64_t>(kRounds) + 1;
    const std::int64_t count = std::min(all, std::max(enough, elements / std::max<std::int64_t>(1, formed.terms())));
    std::vector<std::int64_t> units;
    // The last ones first: in a causal attention these see most keys, so that a wrong form shows at once.
    for (std::int64_t i = count - 1; i >= 0; --i) {
      const std::int64_t first = i * all / count;
      const std::int64_t end = (i + 1) * all / count;
      units.push_back(end - 1 - (count - 1 - i) * kSpread % (end - first));
    }
    return units;
  }

  bool is_given(const FormedOutput& formed, std::size_t form, const FormedOutput::Tensors& values, std::int64_t unit,
                const std::vector<float>& made) {
    again_.clear();
    formed.compute(form, values, unit, again_);
    return std::ranges::all_of(again_, [&](const FormedOutput::Value& one) {
      return is_same(made[static_cast<std::size_t>(one.element)], one.value);
    });
  }

  void hold_to_record(std::size_t form, const RecordedCall& recorded, CallOrder& found) {
    FormedOutput::Tensors values;
    for (const at::Tensor& tensor : recorded.tensors) values.push_back(values_of(tensor));
    add_given_outputs(recorded.tensors, values);
    formed_.add_hidden(form, values);
    const std::vector<float> made = values_of(recorded.made);
    for (const std::int64_t unit : units_to_check(formed_, kElementsOfRecord)) {
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
  std::vector<std::string> names_of_basis_;
  std::vector<at::Tensor> tensors_;
  std::deque<Round> kept_;  // the first ones
  std::int64_t kept_elements_ = 0;
  std::optional<std::size_t> last_at_;
  Round last_;  // one that is not kept
  std::int64_t drawn_ = 0;
  std::int64_t checked_ = 0;  // rows or channels of the output that was asked last
  std::vector<FormedOutput::Value> again_;
};

}  // namespace

CallOrder order_of_formed(const SingleCall& call, const FormedOutput& formed, const std::string& output,
                          const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits) {
  return OrderOfFormed(call, formed, output, seed, limits).run(recorded);
}

}  // namespace reprobench
