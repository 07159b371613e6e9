// Every key that a file may have, from the tables that read it. keys.md is written from here (`reprobench schema
// keys`), and a test compares it with these tables.
#pragma once

#include <string>
#include <vector>

namespace reprobench {

struct KeyInfo {
  std::string key;
  bool is_required = false;
  std::string meaning;
};

struct KeyTable {
  std::string title;  // "Matrix files", "`wheel` of a stack"
  std::vector<KeyInfo> keys;
};

// The tables, each by the kind of file that it reads.
std::vector<KeyTable> matrix_keys();
std::vector<KeyTable> suite_keys();
std::vector<KeyTable> stack_keys();
std::vector<KeyTable> threshold_keys();
std::vector<KeyTable> limit_keys();
std::vector<KeyTable> fault_keys();
std::vector<KeyTable> call_list_keys();
std::vector<KeyTable> policy_keys();

// The output of `reprobench schema NAME` for matrix, suite, stack, threshold, limits, faults, calls and policy;
// `keys` stands for all of them. Empty for any other name.
std::string key_reference(const std::string& name);
std::vector<std::string> key_reference_names();

}  // namespace reprobench
