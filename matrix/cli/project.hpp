// Where things are: the project's own files (stacks, suites, facts, report generator) and the user's store.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "matrix/base/usage_error.hpp"
#include "matrix/plan/compat_facts.hpp"
#include "matrix/plan/resolve.hpp"
#include "matrix/provision/stack_store.hpp"
#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {

class Project {
 public:
  // `store`: the --store option. Throws UsageError if the project's files cannot be found.
  explicit Project(std::filesystem::path store);

  const std::filesystem::path& root() const { return root_; }
  const std::filesystem::path& store() const { return store_; }

  // $REPROBENCH_STACKS, or STORE/stacks.
  std::filesystem::path stacks_home() const;
  std::filesystem::path shepherd() const;  // beside this executable
  std::filesystem::path schemas() const;   // those that the build wrote, beside the folder of this executable
  std::filesystem::path data() const { return root_ / "models" / "data"; }

  Vocabulary vocabulary() const;

  // Throws SpecError, and UsageError for a file of another checkout, whose suites may ask something else than those
  // that lie beside it. Not where REPROBENCH_ROOT says which project is meant.
  MatrixSpec matrix(const std::string& file, const Vocabulary& vocabulary) const;
  std::map<std::string, SuiteSpec> suites() const;
  StackFiles stack_files() const;
  std::map<std::string, StackSpec> stacks() const { return stack_files().stacks; }  // those that can be read
  CompatFacts facts() const;
  StackStore stack_store() const { return stack_store_; }

  // Every stack file with what this host has of it.
  StackCatalog catalog() const;

 private:
  std::filesystem::path root_;
  std::filesystem::path store_;
  StackStore stack_store_;  // its copies read the worker's sources once between them
};

// The stack of that name. Throws UsageError that tells the nearest one, and SpecError if its file cannot be read.
const StackSpec& stack_named(const StackFiles& files, const std::string& name);

}  // namespace reprobench
