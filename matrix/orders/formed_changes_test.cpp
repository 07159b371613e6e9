// Softmax and norms with a sum that is changed by hand: none of their forms gives the results.
#include <array>
#include <set>
#include <span>

#include "ci/catch.hpp"
#include "matrix/orders/changed_sums_fixture.hpp"
#include "matrix/orders/channel_norm.hpp"
#include "matrix/orders/group_norm.hpp"
#include "matrix/orders/row_softmax.hpp"

namespace reprobench {
namespace formed_changes_test {
namespace {

// The tree in which lanes add; a plain term joins as if it were a product that is rounded.
SummationTree tree_of(const LaneForm& form, std::int32_t terms, bool of_products) {
  SummationTree tree;
  const std::int32_t whole = terms / form.lanes * form.lanes;
  const auto fused = [&](std::int32_t term) { return of_products && (term < whole ? form.fused : form.rest_fused); };
  std::vector<std::int32_t> lanes;
  for (std::int32_t first = 0; first < (whole == 0 ? 1 : form.lanes); ++first) {
    std::int32_t sum = tree.add_leaf(first);
    for (std::int32_t term = first + (whole == 0 ? 1 : form.lanes); term < terms; term += whole == 0 ? 1 : form.lanes) {
      sum = tree.add_sum(sum, tree.add_leaf(term, whole > 0 && fused(term)));
    }
    lanes.push_back(sum);
  }
  for (std::size_t width = lanes.size() / 2; !form.in_turn && width >= 1; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] = tree.add_sum(lanes[i], lanes[i + width]);
  }
  for (std::size_t i = 1; form.in_turn && i < lanes.size(); ++i) lanes[0] = tree.add_sum(lanes[0], lanes[i]);
  return tree;
}

// A result whose sum is `sum_of`, and the same in every form that is known.
struct FormedSum {
  const char* name;
  bool of_products;
  LaneForm lanes;
  // The factors of the terms, drawn as `left` and `right`, and the result from a sum of these.
  void (*prepare)(std::uint32_t round, std::vector<float>& left, std::vector<float>& right);
  std::vector<float> (*result)(float sum, std::span<const float> left, std::span<const float> right);
  bool (*is_some_form)(std::span<const float> left, std::span<const float> right, const std::vector<float>& made,
                       std::vector<bool>& alive);
};

// Elements whose own gradient is 0 show the sum alone; others in each round, since such a term changes no sum.
void show_sum(std::uint32_t round, std::vector<float>& dy) {
  for (std::size_t i = 0; i < dy.size(); ++i) {
    if ((i % (dy.size() / 2) + round) % 5 == 0) dy[i] = 0;
  }
}

template <typename Form, typename Compute>
bool leaves_alive(const std::vector<Form>& forms, const std::vector<float>& made, std::vector<bool>& alive,
                  Compute&& compute) {
  alive.resize(forms.size(), true);
  bool is_any = false;
  std::vector<float> again(made.size());
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (!alive[i]) continue;
    compute(forms[i], again);
    alive[i] = again == made;
    is_any = is_any || alive[i];
  }
  return is_any;
}

const SoftmaxForm kSoftmax = {false, Functions::sleef, {16, false, false, false}, false};
const SoftmaxGradientForm kGradient = {false, Functions::sleef, {8, false, false, true}, false};
const SoftmaxGradientForm kLogGradient = {true, Functions::sleef, {8, true, false, false}, true};
const ChannelGradientForm kChannel = {0, {8, false, true, false}, true, true};
const ChannelMoments kMoments = {0.3F, 1.7F};
const GroupInputForm kGroup = {{8, false, true, false}, true, true, true, FusedProduct::first, FusedProduct::first};

// One image of one channel: `left` is x - mean as it is rounded, which is exact for these x.
std::vector<float> channel_result(float sum, std::span<const float> left, std::span<const float> right,
                                  const ChannelGradientForm& form) {
  const ChannelSums sums =
      channel_sums_from(lane_sum(right, form.sums), sum, static_cast<double>(left.size()), kMoments);
  std::vector<float> dx;
  for (std::size_t i = 0; i < left.size(); ++i) {
    dx.push_back(channel_gradient(left[i], right[i], {0, kMoments.inverse_sigma}, sums, 1.25F, form));
  }
  return dx;
}

// A group of one channel: `left` is x.
std::vector<float> group_result(float sum, std::span<const float> left, std::span<const float> right,
                                const GroupInputForm& form) {
  const NormGroup group{left, right, {}, 1, {kMoments.mean, kMoments.inverse_sigma}};
  std::vector<float> dx(left.size());
  group_input_from({sum, lane_sum(right, form.channels)}, group, form, dx);
  return dx;
}

std::vector<float> softmax_result(float sum, std::span<const float> exponentials, const SoftmaxForm& form) {
  std::vector<float> y(exponentials.begin(), exponentials.end());
  divide_by({0, sum}, y, form, y);
  return y;
}

const FormedSum kFormed[] = {
    {"softmax", false, kSoftmax.lanes,
     [](std::uint32_t, std::vector<float>& left, std::vector<float>& right) {
       std::vector<float> exponentials(left.size());
       exponentials_of(left, kSoftmax, exponentials);
       left = exponentials;
       right.assign(left.size(), 1);
     },
     [](float sum, std::span<const float> left, std::span<const float>) { return softmax_result(sum, left, kSoftmax); },
     [](std::span<const float> left, std::span<const float>, const std::vector<float>& made, std::vector<bool>& alive) {
       return leaves_alive(softmax_forms(false), made, alive, [&](const SoftmaxForm& form, std::vector<float>& again) {
         again = softmax_result(lane_sum(left, form.lanes), left, form);
       });
     }},
    {"gradient of a softmax", true, kGradient.lanes,
     [](std::uint32_t round, std::vector<float>& left, std::vector<float>&) { show_sum(round, left); },
     [](float sum, std::span<const float> left, std::span<const float> right) {
       std::vector<float> dx(left.size());
       gradient_from(sum, left, right, kGradient, dx);
       return dx;
     },
     [](std::span<const float> left, std::span<const float> right, const std::vector<float>& made,
        std::vector<bool>& alive) {
       return leaves_alive(
           softmax_gradient_forms(false), made, alive,
           [&](const SoftmaxGradientForm& form, std::vector<float>& dx) { softmax_gradient(left, right, form, dx); });
     }},
    {"gradient of a log softmax", false, kLogGradient.lanes,
     [](std::uint32_t round, std::vector<float>& left, std::vector<float>& right) {
       show_sum(round, left);
       right.assign(left.size(), 1);
     },
     [](float sum, std::span<const float> left, std::span<const float> right) {
       std::vector<float> dx(left.size());
       gradient_from(sum, left, right, kLogGradient, dx);
       return dx;
     },
     [](std::span<const float> left, std::span<const float> right, const std::vector<float>& made,
        std::vector<bool>& alive) {
       return leaves_alive(
           softmax_gradient_forms(true), made, alive,
           [&](const SoftmaxGradientForm& form, std::vector<float>& dx) { softmax_gradient(left, right, form, dx); });
     }},
    {"gradient of a batch norm", true, kChannel.sums,
     [](std::uint32_t round, std::vector<float>&, std::vector<float>& right) { show_sum(round, right); },
     [](float sum, std::span<const float> left, std::span<const float> right) {
       return channel_result(sum, left, right, kChannel);
     },
     [](std::span<const float> left, std::span<const float> right, const std::vector<float>& made,
        std::vector<bool>& alive) {
       std::vector<ChannelGradientForm> forms;
       for (const LaneForm& lanes : lane_forms(true)) {
         for (const bool element_fused : {true, false}) forms.push_back({0, lanes, true, element_fused});
       }
       return leaves_alive(forms, made, alive, [&](const ChannelGradientForm& form, std::vector<float>& dx) {
         const float sum = lane_sum_of_products(
             left.size(), form.sums, [&](std::size_t i) { return left[i]; }, [&](std::size_t i) { return right[i]; });
         dx = channel_result(sum, left, right, form);
       });
     }},
    {"gradient of a group norm", true, kGroup.channels,
     [](std::uint32_t round, std::vector<float>&, std::vector<float>& right) { show_sum(round, right); },
     [](float sum, std::span<const float> left, std::span<const float> right) {
       return group_result(sum, left, right, kGroup);
     },
     [](std::span<const float> left, std::span<const float> right, const std::vector<float>& made,
        std::vector<bool>& alive) {
       // One channel has no sum over channels.
       std::vector<GroupInputForm> forms;
       for (const GroupInputForm& form : group_input_forms()) {
         if (form.group_fused && form.group_rest_fused) forms.push_back(form);
       }
       return leaves_alive(forms, made, alive, [&](const GroupInputForm& form, std::vector<float>& dx) {
         const float sum = lane_sum_of_products(
             left.size(), form.channels, [&](std::size_t i) { return left[i]; },
             [&](std::size_t i) { return right[i]; });
         dx = group_result(sum, left, right, form);
       });
     }}};

// Whether the changed sum is another form's: one product behind the last vector, fused where it was not.
bool is_another_form(const ChangedSum& change, std::int32_t terms) {
  if (change.change != Change::fused) return false;
  const std::string text = order_text(change.order);
  for (const LaneForm& form : lane_forms(true)) {
    if (order_text(tree_of(form, terms, true)) == text) return true;
  }
  return false;
}

bool has_effect(const FormedSum& formed, const ChangedSum& change, std::int32_t terms) {
  return (formed.of_products || change.change != Change::fused) && !is_another_form(change, terms);
}

// Whether some form gives all of 1000 draws, of which half cancel.
bool is_taken(const FormedSum& formed, const SummationTree& order, const ChangedSum* change, std::uint64_t seed) {
  std::vector<float> left(order.terms());
  std::vector<float> right(order.terms());
  std::vector<bool> alive;
  for (std::uint32_t round = 0; round < 1000; ++round) {
    draw(seed, round, left, right);
    formed.prepare(round, left, right);
    const float sum = change == nullptr ? sum_of(order, {left, right}) : change->sum(left, right);
    if (!formed.is_some_form(left, right, formed.result(sum, left, right), alive)) return false;
  }
  return true;
}

TEST_CASE("without a change the form itself is found, in whole vectors and with a rest", "[formed]") {
  for (const FormedSum& formed : kFormed) {
    for (const std::int32_t terms : {5, 16, 24, 37}) {
      CAPTURE(formed.name, terms);
      CHECK(is_taken(formed, tree_of(formed.lanes, terms, formed.of_products), nullptr, 1));
    }
  }
}

// `orders_test "*changes of a sum in*" -s` shows the table of suites/orders.md.
TEST_CASE("none of 10,000 changes of a sum in a softmax or a norm is taken for one of their forms", "[formed]") {
  struct Counts {
    int planted = 0;
    int unnoticed = 0;
  };
  std::array<std::array<Counts, std::size(kChanges)>, std::size(kFormed)> counts;
  int made = 0;
  for (std::uint64_t seed = 1; made < 10'000; ++seed) {
    const std::size_t kind = seed % std::size(kChanges);
    const std::size_t which = seed / std::size(kChanges) % std::size(kFormed);
    const FormedSum& formed = kFormed[which];
    const auto terms = 24 + static_cast<std::int32_t>(seed % 24);
    const SummationTree order = tree_of(formed.lanes, terms, formed.of_products);
    const auto change = changed(order, kChanges[kind].change, seed);
    if (!change || !has_effect(formed, *change, terms)) continue;
    ++made;
    Counts& of_kind = counts[which][kind];
    ++of_kind.planted;
    of_kind.unnoticed += is_taken(formed, order, &*change, seed) ? 1 : 0;
  }
  for (std::size_t which = 0; which < counts.size(); ++which) {
    for (std::size_t kind = 0; kind < counts[which].size(); ++kind) {
      const Counts& of_kind = counts[which][kind];
      CAPTURE(kFormed[which].name, kChanges[kind].name, of_kind.planted);
      const bool can_be_planted = kFormed[which].of_products || kChanges[kind].change != Change::fused;
      CHECK((of_kind.planted > 200) == can_be_planted);
      CHECK(of_kind.unnoticed == 0);
    }
  }
}

}  // namespace
}  // namespace formed_changes_test
}  // namespace reprobench
