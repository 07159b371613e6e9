// matrix/NAME.yaml: what to run (design, section 6). Every scalar stays text until this schema gives it a type.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/spec/repeat_reader.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {

struct Axis {
  std::string name;
  std::vector<std::string> values;
  Mark mark;
  std::vector<Mark> value_marks;
};

// A rule that selects cells: `exclude`, `required`.
struct SelectionRule {
  Selector where;
  Mark mark;
  bool of_present_devices = false;  // `device: present`: of a required cell whose device this host has
};

// Adds cells that have every given coordinate; the axes' cross product is not used for the others.
struct IncludeRule {
  Coordinates coordinates;
  Mark mark;
};

struct InjectRule {
  Selector where;
  int repeat = 0;
  Injection injection;
  Mark mark;
};

struct MatrixSpec {
  std::string name;
  std::vector<std::string> suites;
  std::vector<Mark> suite_marks;
  std::vector<Axis> axes;  // in file order, which is the order of cells: the last axis varies fastest
  KnobValues defaults;     // knobs of every cell that no suite sets otherwise; an axis of the same name overrides them
  std::vector<std::vector<std::string>> zip;  // groups of axes that advance together
  std::vector<IncludeRule> include;
  std::vector<SelectionRule> exclude;
  std::vector<SelectionRule> required;
  std::map<std::string, std::string> reference;  // coordinate -> value in the cells that others are compared with
  Mark axes_mark;                                // of the key `axes`
  Mark defaults_mark;
  Mark reference_mark;
  RepeatsStated repeats;  // with `repeat` it overrides both values of the suites
  LimitOverrides limits;  // preferred to the suites'
  std::vector<ThresholdRule> thresholds;
  std::vector<InjectRule> inject;
  std::string data;  // file of instructions for workloads whose models take one; empty: each uses its own data
  Mark data_mark;
  std::string weights;  // file or folder of weights for models that take them; empty: weights are drawn
  Mark weights_mark;
  std::string package;  // AOTInductor package for the probe of that name; empty: its cells are skipped
  Mark package_mark;
  std::string file;
  std::string text;  // the text as read, kept with the run
};

// Throws SpecError.
MatrixSpec parse_matrix(const std::string& text, const std::string& file, const Vocabulary& vocabulary);
MatrixSpec load_matrix(const std::string& path, const Vocabulary& vocabulary);

// "stack=torch-2.9.0-cu128,repeat=1,step=20,tensor=fc1.weight,element=5,kind=weight_ulp": one entry of `inject` as the
// command line writes it. Throws SpecError with file "--inject".
InjectRule parse_inject_option(const std::string& text);

}  // namespace reprobench
