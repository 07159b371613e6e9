#include "suites/worker/record/implementation_rows.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace reprobench {
namespace {

constexpr std::string_view kOwnKernel = "aten ";

// Of an operator's name: those that LibTorch may hand to oneDNN or to a BLAS. A word too many makes a row unknown where
// it could be known, one too few would take a library's work for LibTorch's own.
constexpr std::string_view kOfLibraries[] = {"mm",        "mv",     "dot",  "matmul", "linear", "conv",
                                             "attention", "mkldnn", "lstm", "gru",    "rnn",    "fft"};

// LibTorch may hand these to MKL's vector functions, which its verbose mode leaves out.
constexpr std::string_view kVectorFunctions[] = {"acos",   "asin", "atan",  "cos",    "cosh", "erf",   "erfc",
                                                 "erfinv", "exp",  "expm1", "lgamma", "log",  "log10", "log1p",
                                                 "log2",   "sin",  "sinh",  "sqrt",   "tan",  "tanh",  "trunc"};

std::string cut(std::string text) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= kLongestImplementationText) return text;
  text.resize(kLongestImplementationText - kEllipsis.size());
  return text + std::string(kEllipsis);
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// Threads of a parallel operator write their lines in any order.
std::string calls_text(LibraryText said) {
  std::ranges::sort(said.calls);
  for (std::string& call : said.calls) {
    if (call.starts_with("mkl ") && !said.mkl_processors.empty()) call += " for " + said.mkl_processors;
  }
  return joined(said.calls, " + ");
}

// "aten::exp_" is one too.
bool is_vector_function(std::string_view operation) {
  const std::size_t scope = operation.rfind("::");
  if (scope != std::string_view::npos) operation.remove_prefix(scope + 2);
  if (operation.ends_with('_')) operation.remove_suffix(1);
  return std::ranges::find(kVectorFunctions, operation) != std::end(kVectorFunctions);
}

bool may_be_of_library(std::string_view operation) {
  return std::ranges::any_of(kOfLibraries,
                             [&](std::string_view word) { return operation.find(word) != std::string_view::npos; });
}

bool is_own_kernel(const OperationImplementation& row) { return row.implementation.starts_with(kOwnKernel); }

std::string why_unknown(const SeenOperation& seen, const std::string& unheard) {
  if (seen.said.unread_lines > 0) {
    const std::string reason = not_understood(seen.said);
    return seen.said.calls.empty() ? reason : reason + "; beside them " + calls_text(seen.said);
  }
  if (!seen.said.calls.empty()) return "";
  if (is_vector_function(seen.operation)) return "MKL's vector functions, which may do it, tell nothing";
  return may_be_of_library(seen.operation) ? unheard : "";
}

}  // namespace

OperationImplementation implementation_of(const SeenOperation& seen, const std::string& capability,
                                          const std::string& unheard) {
  OperationImplementation row{cut(seen.operation), cut(seen.operands), cut(seen.dtype), ""};
  row.unknown = cut(why_unknown(seen, unheard));
  if (!row.unknown.empty()) return row;
  if (!seen.said.calls.empty()) {
    row.implementation = cut(calls_text(seen.said));
  } else if (seen.operation.find("nnpack") != std::string::npos) {
    row.implementation = "nnpack";
  } else {
    row.implementation = std::string(kOwnKernel) + (capability.empty() ? "kernel" : capability);
  }
  return row;
}

void ImplementationRows::add(OperationImplementation row) {
  const Key key{row.operation, row.operands, row.dtype, row.implementation, row.unknown};
  const auto [found, is_new] = rows_.try_emplace(key, row);
  if (!is_new) found->second.calls += row.calls;
}

StepImplementations ImplementationRows::take() const {
  StepImplementations step;
  std::size_t room = kMostImplementations;
  std::vector<const OperationImplementation*> kept;
  for (const bool own : {false, true}) {
    for (const auto& [key, row] : rows_) {
      if (is_own_kernel(row) != own) continue;
      if (room == 0) {
        ++step.left_out;
        continue;
      }
      --room;
      kept.push_back(&row);
    }
  }
  const auto key_of = [](const OperationImplementation* row) {
    return std::tie(row->operation, row->operands, row->dtype, row->implementation, row->unknown);
  };
  std::ranges::sort(kept, {}, key_of);
  for (const OperationImplementation* row : kept) step.operations.push_back(*row);
  if (step.operations.empty()) step.unknown = "no operation was seen";
  return step;
}

}  // namespace reprobench
