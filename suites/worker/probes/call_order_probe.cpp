#include "suites/worker/probes/call_order_probe.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <ATen/core/Tensor.h>

#include "matrix/orders/order_recovery.hpp"
#include "suites/worker/probes/formed_output_probe.hpp"
#include "suites/worker/probes/order_operands.hpp"
#include "suites/worker/probes/order_time.hpp"
#include "suites/worker/probes/single_call.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kTermsOfRecord = 1 << 23;  // of a recorded result: about 0.4 s

constexpr std::int64_t kElementsToTry = 64;
constexpr std::int64_t kFewTerms = 64;
constexpr int kMostSurprises = 4;

// One class while it is learned.
struct LearnedClass {
  SummationTree order;
  SumEnd end = SumEnd::as_it_is;
  bool end_is_open = false;  // a mean, whose way to divide no input has shown yet
  std::int64_t terms = 0;
  std::int64_t first_element = 0;
  std::int64_t elements = 0;
  std::int64_t checked = 0;
};

class OrderOfCall {
 public:
  OrderOfCall(const SingleCall& call, const SumLayout& layout, const std::string& output, std::uint64_t seed,
              const OrderLimits& limits)
      : layout_(layout), limits_(limits), operands_(call, layout, output), seed_(seed), time_(limits.seconds) {}

  CallOrder run(const RecordedCall& recorded) {
    CallOrder found;
    try {
      const std::int64_t middle = element_in_the_middle();
      learn(middle);
      elements_ = operands_.elements_to_check(middle);
      check();
      for (int again = 0; const auto other = hold_to_record(recorded, found); ++again) {
        if (again == kMostSurprises)
          throw OrderNotKnown("element " + std::to_string(*other) + " has yet another order");
        elements_.push_back(*other);
        check();
      }
      for (const LearnedClass& one : classes_) {
        if (one.elements == 0) continue;
        found.classes.push_back({order_text(one.order), order_shape(one.order), one.end, one.terms, one.first_element,
                                 one.elements, one.checked});
      }
      found.elements = static_cast<std::int64_t>(elements_.size());
    } catch (const OrderNotKnown& why) {
      found.classes.clear();
      found.problem = why.what();
    }
    found.probes = probes_;
    found.took_ns = time_.taken().count();
    return found;
  }

 private:
  // An element away from the edges, with as many terms as any near it: of a strided convolution's gradient some have
  // none.
  std::int64_t element_in_the_middle() const {
    std::int64_t middle = 0;
    for (const std::int64_t size : layout_.shape) middle = middle * size + size / 2;
    std::int64_t best = middle;
    for (std::int64_t element = middle; element < std::min(layout_.elements(), middle + kElementsToTry); ++element) {
      if (operands_.terms_at(element) > operands_.terms_at(best)) best = element;
    }
    return best;
  }

  // Recovers the order at one element. Its neighbours are asked at the same time, as if a library added them up alike;
  // where that gives no order, or one that is not this element's (`alone`), it is asked by itself.
  void learn(std::int64_t element, bool alone = false) {
    if (classes_.size() >= limits_.classes) {
      throw OrderNotKnown("more than " + std::to_string(limits_.classes) + " orders in one output");
    }
    const std::vector<std::int64_t> neighbours = alone ? std::vector{element} : operands_.independent_of(element);
    RecoveredOrder recovered = recover_at(element, neighbours);
    if (!recovered.problem.empty() && neighbours.size() > 1) return learn(element, true);
    if (!recovered.problem.empty()) throw OrderNotKnown(recovered.problem);
    LearnedClass learned;
    learned.order = std::move(recovered.order);
    learned.terms = static_cast<std::int64_t>(learned.order.terms());
    learned.end_is_open = layout_.divisor != 1;
    if (learned.end_is_open) learned.end = SumEnd::divided;
    learned.first_element = element;
    classes_.push_back(std::move(learned));
    asked_alone_[element] = alone || neighbours.size() == 1;
  }

  RecoveredOrder recover_at(std::int64_t element, const std::vector<std::int64_t>& rows) {
    const std::int64_t terms = operands_.terms_at(element);
    const bool are_products = layout_.right && operands_.has_rounded_products();
    const std::int64_t products = are_products ? terms - (layout_.bias ? 1 : 0) : 0;
    RecoveredOrder recovered =
        recover_order(static_cast<std::int32_t>(terms), static_cast<std::int32_t>(products),
                      [&](std::span<const Question> questions) {
                        std::vector<double> answers;
                        answers.reserve(questions.size());
                        for (std::size_t at = 0; at < questions.size();) {
                          time_.check();
                          const std::size_t count = std::min(rows.size(), questions.size() - at);
                          for (const double answer : operands_.answers(questions.subspan(at, count), rows))
                            answers.push_back(answer);
                          at += count;
                        }
                        return answers;
                      });
    probes_ += recovered.questions;
    return recovered;
  }

  // Whether a class explains what the call made of random inputs at an element.
  bool replays(LearnedClass& one, std::int64_t element) {
    if (!operands_.take_terms(element, one.terms)) return false;
    if (!one.end_is_open) return operands_.replays(one.order, one.end);
    const bool divided = operands_.replays(one.order, SumEnd::divided);
    const bool times = operands_.replays(one.order, SumEnd::times_reciprocal);
    if (divided != times) {
      one.end = divided ? SumEnd::divided : SumEnd::times_reciprocal;
      one.end_is_open = false;
    }
    return divided || times;
  }

  // Which class an element belongs to: the one that has explained all of its inputs. One that explains an element no
  // more is left for the next; an element that none explains is asked itself.
  void check() {
    for (LearnedClass& one : classes_) one.elements = one.checked = 0;
    class_of_.assign(elements_.size(), 0);
    std::vector<std::int64_t> checked(elements_.size(), 0);
    for (std::int64_t round = 0; !is_enough(checked); ++round) {
      time_.check();
      operands_.draw(seed_, round, round % 2 == 1);
      for (std::size_t i = 0; i < elements_.size(); ++i) {
        while (!replays(classes_[class_of_[i]], elements_[i])) {
          checked[i] = 0;
          if (++class_of_[i] < classes_.size()) continue;
          const auto asked = asked_alone_.find(elements_[i]);
          if (asked != asked_alone_.end() && asked->second) {
            throw OrderNotKnown("of element " + std::to_string(elements_[i]) + " the order of " +
                                std::to_string(operands_.terms_at(elements_[i])) +
                                " terms was read, and a replay of random inputs gives other bits");
          }
          learn(elements_[i], asked != asked_alone_.end());
          operands_.draw(seed_, round, round % 2 == 1);
        }
        ++checked[i];
      }
    }
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      LearnedClass& one = classes_[class_of_[i]];
      if (one.elements++ == 0) one.first_element = elements_[i];
      one.checked += checked[i];
    }
  }

  // The recorded result itself: every element, or those that were looked at where all would take too long. One that was
  // not looked at, and that no order gives, is returned: its order has to be known before it can be called wrong.
  std::optional<std::int64_t> hold_to_record(const RecordedCall& recorded, CallOrder& found) {
    found.replayed = found.not_replayed = 0;
    found.first_not_replayed.reset();
    operands_.take_recorded(recorded.tensors, recorded.made);
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (replays(classes_[class_of_[i]], elements_[i])) {
        ++found.replayed;
      } else if (found.not_replayed++ == 0 || elements_[i] < *found.first_not_replayed) {
        found.first_not_replayed = elements_[i];
      }
    }
    if (layout_.elements() * std::max<std::int64_t>(1, layout_.most_terms()) > kTermsOfRecord) return std::nullopt;
    const std::set<std::int64_t> looked_at(elements_.begin(), elements_.end());
    for (std::int64_t element = 0; element < layout_.elements(); ++element) {
      if (looked_at.contains(element)) continue;
      const bool is_given = std::ranges::any_of(classes_, [&](LearnedClass& one) {
        return one.elements > 0 && replays(one, element);  // one that explained nothing proves nothing
      });
      if (!is_given) return element;
      ++found.replayed;
    }
    return std::nullopt;
  }

  bool is_enough(const std::vector<std::int64_t>& checked) const {
    std::vector<std::int64_t> of_class(classes_.size(), 0);
    std::int64_t all = 0;
    for (std::size_t i = 0; i < checked.size(); ++i) {
      // Of few terms another order often gives the same bits: each element needs inputs enough to show it.
      if (checked[i] < (layout_.most_terms() < kFewTerms ? 32 : 12)) return false;
      of_class[class_of_[i]] += checked[i];
      all += checked[i];
    }
    // A class that explains no element is not told of.
    const bool is_enough_of_each = std::ranges::all_of(
        of_class, [&](std::int64_t count) { return count == 0 || count >= limits_.inputs_of_a_class; });
    return is_enough_of_each && all >= limits_.inputs;
  }

  const SumLayout& layout_;
  OrderLimits limits_;
  OrderOperands operands_;
  std::uint64_t seed_;
  OrderTime time_;
  std::int64_t probes_ = 0;
  std::vector<LearnedClass> classes_;
  std::map<std::int64_t, bool> asked_alone_;  // by element; false: with its neighbours
  std::vector<std::int64_t> elements_;
  std::vector<std::size_t> class_of_;
};

}  // namespace

CallOrder order_of_call(const SingleCall& call, const OrderLayout& layout, const std::string& output,
                        const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits) {
  // Elements are read by their places: a result of another shape must not be.
  if (recorded.made.numel() != std::visit([](const auto& of) { return of.elements(); }, layout)) {
    CallOrder other;
    other.problem = "the output has another shape than the call is known to make";
    return other;
  }
  if (const auto* formed = std::get_if<FormedLayout>(&layout)) {
    return order_of_formed(call, *formed->forms, output, recorded, seed, limits);
  }
  return OrderOfCall(call, std::get<SumLayout>(layout), output, seed, limits).run(recorded);
}

}  // namespace reprobench
