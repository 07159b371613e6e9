// A bisect over the components in which two ends differ. A mix is made only when it is needed (component_mixes.hpp).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/cli/bisect_questions.hpp"
#include "matrix/cli/check_question.hpp"
#include "matrix/cli/component_mixes.hpp"
#include "matrix/inquiry/bisect/component_document.hpp"

namespace reprobench {

class ComponentBisect {
 public:
  // `log` writes a line for people. All arguments must outlive this object.
  ComponentBisect(const BisectScene& scene, ComponentMixes& mixes, std::function<void(const std::string&)> log)
      : scene_(scene), mixes_(mixes), log_(std::move(log)), names_(mixes.names()) {}

  // Makes the command that shows the difference between the good end and a mix.
  using CommandFor = std::function<std::string(const std::string& subject, const StackChange& change)>;

  // Answers for each subject: by its bits or, if `slower_rel` is given, by whether its time becomes slower by more than
  // that. Mixes that no answer names are not kept. The caller fills in the ends' names. Throws ReplayInterrupted and
  // StoreError.
  ComponentBisectDocument answered(BitsQuestion& bits, const std::vector<std::string>& subjects,
                                   std::optional<double> slower_rel, const CommandFor& command);

  // The same by a check that failed in a run.
  ComponentBisectDocument answered(CheckQuestion& check, const AskedCheck& asked, const CommandFor& command);

 private:
  // How one stack is asked, and what is said of a change between two that were.
  struct Question {
    std::function<PointAnswer(const std::string& stack, bool is_confirmation)> answer;
    std::function<void(StackChange& change, const PointAnswer& after)> describe;
    std::function<std::vector<SideDifference>(const std::string& before, const std::string& after)> components_between;
  };
  ComponentAnswer ask(const std::string& subject, const Question& question, const CommandFor& command);
  ComponentAnswer ask_for_bits(BitsQuestion& bits, const std::string& subject, const CommandFor& command);
  ComponentAnswer ask_for_speed(SpeedQuestion& speed, BitsQuestion& bits, const std::string& subject,
                                const CommandFor& command);
  ComponentBisectDocument begun(const char* asked) const;
  void keep_named(const ComponentBisectDocument& document);
  const MixedStack& mixed(const std::vector<std::size_t>& from_bad);
  std::vector<std::string> names_of(const std::vector<std::size_t>& set) const;
  ComponentSearch searched(const std::string& subject,
                           const std::function<PointAnswer(const std::string& stack, bool is_confirmation)>& evaluate);
  void complete(ComponentAnswer& answer, const ComponentSearch& search, const Question& question,
                const CommandFor& command);

  const BisectScene& scene_;
  ComponentMixes& mixes_;
  std::function<void(const std::string&)> log_;
  std::vector<std::string> names_;  // of the components that differ
  std::map<std::vector<std::size_t>, MixedStack> made_;
};

}  // namespace reprobench
