#include "matrix/cli/only_component.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "matrix/cli/text/component_alone_text.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

// A, the mix and B, in this order. From each to the next less is exchanged than from the first to the last.
using Three = std::array<std::string, 3>;

class Asking {
 public:
  Asking(const BisectScene& scene, const OnlyComponent& asked, Three stacks)
      : scene_(scene), asked_(asked), stacks_(std::move(stacks)), bits_(scene) {}

  void ask_for_bits(ComponentAlone& answer) {
    const std::array<PointAnswer, 3> seen = {state(0), state(1), state(2)};
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].state != PointState::untestable) continue;
      answer.problem = fmt::format("{}: {}", stacks_[i], seen[i].why);
      return;
    }
    answer.loaded = bits_.components_between(stacks_[0], stacks_[1]);
    const PointState mix = seen[1].state;
    const bool ends_are_equal = seen[2].state == PointState::as_good;
    answer.alone = between(0, 1, mix == PointState::as_good);
    answer.whole = between(0, 2, ends_are_equal);
    answer.rest = between(1, 2, mix == PointState::as_bad || (mix == PointState::as_good && ends_are_equal));
    answer.bits = explained_bits(mix, seen[2].state);
  }

  // One after the other, forwards and backwards by turns, so that a drift of the machine favours none.
  void ask_for_time(ComponentAlone& answer) {
    constexpr int kIntervals = 3;
    const SequentialPlan plan = sequential_plan(asked_.margin, kIntervals);
    answer.margin = plan.margin;
    answer.confidence = plan.confidence;
    answer.time = AloneWord::undecided;
    try {
      for (const int look : plan.looks) {
        while (static_cast<int>(times_[0].size()) < look) take_three();
        answer.alone->time = paired_ratio(times_[0], times_[1], plan.confidence_of_each);
        answer.whole->time = paired_ratio(times_[0], times_[2], plan.confidence_of_each);
        answer.rest->time = paired_ratio(times_[1], times_[2], plan.confidence_of_each);
        if (!answer.alone->time || !answer.whole->time || !answer.rest->time) return;
        answer.time = explained_time(*answer.alone->time, *answer.whole->time, *answer.rest->time, plan.margin);
        if (answer.time != AloneWord::undecided) return;
      }
    } catch (const NoTime& error) {
      scene_.announce(fmt::format("times are not known: {}", error.what()));
    }
  }

  // Whether the worker of a stack had mapped one of these.
  bool maps(std::size_t stack, const std::vector<ComponentLibrary>& libraries) {
    const Fingerprint* loaded = bits_.fingerprint(stacks_[stack]);
    return loaded != nullptr && std::ranges::any_of(libraries, [&](const ComponentLibrary& library) {
             return std::ranges::any_of(loaded->libraries, [&](const MappedLibrary& mapped) {
               // A library without a build id is known by its name: that its bytes are the stack's was checked.
               return mapped.build_id.empty() ? mapped.path.substr(mapped.path.rfind('/') + 1) == library.name
                                              : mapped.build_id == library.identity;
             });
           });
  }

 private:
  PointAnswer state(std::size_t stack) { return bits_.answer_of_stack(asked_.subject, stacks_[stack]); }

  PairEffect between(std::size_t measured, std::size_t expected, bool are_equal) {
    PairEffect effect;
    if (are_equal) return effect;
    StackChange change;
    change.before = stacks_[expected];
    change.after = stacks_[measured];
    bits_.describe(asked_.subject, change);
    effect.first_difference = change.differing.front();
    return effect;
  }

  void take_three() {
    const bool is_forwards = times_[0].size() % 2 == 0;
    scene_.announce(fmt::format("timing all three, {}", times_[0].size() + 1));
    std::array<StackTime, 3> taken;
    for (std::size_t turn = 0; turn < taken.size(); ++turn) {
      const std::size_t stack = is_forwards ? turn : taken.size() - 1 - turn;
      taken[stack] = time_on(scene_, stacks_[stack]);
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i].workload_digest != taken[0].workload_digest) throw NoTime("their inputs are not equal");
    }
    for (std::size_t i = 0; i < taken.size(); ++i) times_[i].push_back(taken[i].time_ns);
  }

  const BisectScene& scene_;
  const OnlyComponent& asked_;
  Three stacks_;
  BitsQuestion bits_;
  std::array<std::vector<double>, 3> times_;
};

const DifferingComponent& named(const std::vector<DifferingComponent>& components, const std::string& name) {
  const auto found = std::ranges::find(components, name, &DifferingComponent::name);
  if (found == components.end()) throw ProvisionError(fmt::format("{} does not differ", name));
  return *found;
}

}  // namespace

ComponentAlone effect_of_component(const BisectScene& scene, ComponentMixes& mixes, const OnlyComponent& asked) {
  const std::vector<DifferingComponent> components = mixes.components();
  const DifferingComponent& component = named(components, asked.component);
  const MixedStack mix = mixes.made_with({asked.component});
  if (mix.stack.empty()) throw ProvisionError(mix.why_not);
  ComponentAlone answer;
  answer.component = asked.component;
  answer.measured = scene.axis.front();
  answer.expected = scene.axis.back();
  answer.mix = mix.stack;
  answer.workload = asked.subject;
  Asking asking(scene, asked, {answer.measured, answer.mix, answer.expected});
  asking.ask_for_bits(answer);
  // Libraries that one side alone has more of are told by those that both have.
  if (answer.problem.empty() &&
      !(asking.maps(1, component.bad) && (component.good.empty() || asking.maps(0, component.good)))) {
    answer.alone = answer.whole = answer.rest = std::nullopt;
    answer.bits = AloneWord::undecided;
    answer.problem =
        fmt::format("this work loads no library of {} that differs, so it says nothing about it", asked.component);
  }
  if (answer.problem.empty() && asked.margin > 0) asking.ask_for_time(answer);
  if (const std::string making = mixes.making({asked.component}); !making.empty()) answer.commands.push_back(making);
  answer.sentence = component_alone_sentence(answer);
  mixes.keep_only({mix.stack});
  return answer;
}

}  // namespace reprobench
