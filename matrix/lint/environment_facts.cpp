#include "matrix/lint/environment_facts.hpp"

#include <fmt/format.h>

#include "matrix/lint/memory_estimate.hpp"

namespace reprobench {
namespace {

std::string gpus_text(const std::vector<GpuFacts>& gpus) {
  if (gpus.empty()) return "none";
  std::string text;
  for (std::size_t first = 0, next = 0; first < gpus.size(); first = next) {
    while (next < gpus.size() && gpus[next].name == gpus[first].name) ++next;
    text += fmt::format("{}{} x {} ({}, compute capability {})", text.empty() ? "" : ", ", next - first,
                        gpus[first].name, gibibytes(gpus[first].memory_bytes), gpus[first].compute_capability);
  }
  return text;
}

std::string stack_text(const StackNeeds& stack) {
  std::string text = fmt::format("{}: torch {}", stack.name, stack.torch);
  if (!stack.cuda_toolkit.empty()) text += ", CUDA " + stack.cuda_toolkit;
  if (!stack.driver_floor.empty()) text += fmt::format(" (driver {} or newer)", stack.driver_floor);
  return text;
}

}  // namespace

std::vector<EnvironmentFact> environment_facts(const LintSituation& situation) {
  std::vector<EnvironmentFact> facts;
  if (situation.host) {
    const HostFacts& host = *situation.host;
    facts.push_back({"host", fmt::format("{}, {} cores, {}", host.os, host.cores, gibibytes(host.memory_bytes))});
    facts.push_back({"GPUs", gpus_text(host.gpus)});
    facts.push_back(
        {"driver", host.driver.empty() ? "none" : fmt::format("{}, CUDA up to {}", host.driver, host.driver_cuda)});
  }
  if (situation.stack) facts.push_back({"stack", stack_text(*situation.stack)});
  std::string variables;
  for (const auto& [name, value] : situation.environment) {
    variables += fmt::format("{}{}={}", variables.empty() ? "" : " ", name, value);
  }
  facts.push_back({"rendezvous", variables.empty() ? "no variable is set" : variables});
  if (situation.master_port_is_taken) {
    facts.push_back({"master port", *situation.master_port_is_taken ? "in use" : "free"});
  }
  if (situation.shared_memory_bytes) facts.push_back({"/dev/shm", gibibytes(*situation.shared_memory_bytes)});
  return facts;
}

}  // namespace reprobench
