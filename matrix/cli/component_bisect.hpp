// A bisect over the components in which two stacks of wheels differ: mixes are hybrids, made when they are asked about.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/cli/bisect_questions.hpp"
#include "matrix/cli/project.hpp"
#include "matrix/inquiry/bisect/component_document.hpp"

namespace reprobench {

// Whether a bisect of these two can be one of components: both are of wheels, and installed.
bool are_of_components(const Project& project, const std::string& good, const std::string& bad);

class ComponentBisect {
 public:
  // `log`: a line for people. `command`: the words of a bisect or comparison that shows the good end and a hybrid.
  // Throws UsageError where an end is not of wheels or not installed.
  ComponentBisect(const Project& project, BisectScene scene, std::function<void(const std::string&)> log);

  // Those that differ, by name.
  std::vector<DifferingComponent> components() const;

  using CommandFor = std::function<std::string(const std::string& subject, const StackChange& change)>;

  // Each throws ReplayInterrupted and StoreError.
  ComponentAnswer ask_for_bits(BitsQuestion& bits, const std::string& subject, const CommandFor& command);
  ComponentAnswer ask_for_speed(SpeedQuestion& speed, BitsQuestion& bits, const std::string& subject,
                                const CommandFor& command);

  // Hybrids that no answer names are gone; those that are named stay, for the commands that show them.
  void remove_needless(const std::vector<ComponentAnswer>& answers);

 private:
  struct Mixed {
    std::string stack;    // empty: it cannot be made
    std::string why_not;  // and why
  };
  const Mixed& mixed(const std::vector<std::size_t>& from_bad);
  std::vector<std::string> names_of(const std::vector<std::size_t>& set) const;
  ComponentSearch searched(const std::string& subject,
                           const std::function<PointAnswer(const std::string& stack, bool is_confirmation)>& evaluate);
  void complete(ComponentAnswer& answer, const ComponentSearch& search, BitsQuestion& bits, bool is_of_bits,
                const CommandFor& command);

  const Project& project_;
  BisectScene scene_;
  std::function<void(const std::string&)> log_;
  std::vector<std::string> names_;  // of the components that differ
  std::map<std::vector<std::size_t>, Mixed> mixes_;
  std::vector<std::string> made_;  // hybrids that were not there before
};

}  // namespace reprobench
