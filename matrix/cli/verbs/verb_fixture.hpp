// What tests of verbs share: a small project with two stacks, of which one can be installed by a stroke of the pen, and
// a verb run in this process, with what it wrote.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/cli/project.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/provision/stack_manifest.hpp"
#include "matrix/provision/worker_build.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

// What is written to a descriptor goes into a file as long as this lives.
class Caught {
 public:
  explicit Caught(int descriptor) : descriptor_(descriptor), before_(dup(descriptor)) {
    const int file = open((folder_.path / "text").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, descriptor_);
    close(file);
  }
  ~Caught() {
    dup2(before_, descriptor_);
    close(before_);
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;

  std::string text() const { return read_file(folder_.path / "text"); }

 private:
  TemporaryFolder folder_;
  int descriptor_;
  int before_;
};

using Declare = std::function<ExitCode()> (*)(CLI::App& app, Context& context);

struct Said {
  ExitCode code = ExitCode::passed;
  std::string out;
  std::string err;
};

inline Said said_by(Declare declare, const std::string& store, std::vector<std::string> words, bool quiet = false) {
  Context context;
  context.store = store;
  context.command_line = words;
  context.terminal.configure(ColorChoice::never, quiet);
  CLI::App app;
  const std::function<ExitCode()> action = declare(app, context);
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  app.parse(words);
  const Caught out(STDOUT_FILENO);
  const Caught err(STDERR_FILENO);
  const ExitCode code = action();
  return {code, out.text(), err.text()};
}

// The file with `text` in it; folders above it are made.
inline std::filesystem::path written_file(const std::filesystem::path& path, const std::string& text,
                                          bool is_program = false) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  if (is_program) std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

inline std::string small_stack(const std::string& name, const std::string& torch) {
  return fmt::format(
      "schema: 1\nname: {0}\nsummary: PyTorch {1}\nsource: wheel\ncomponents: {{torch: \"{1}+cu128\", cuda: "
      "\"12.8\"}}\n"
      "cxx11_abi: 1\ncxx_standard: 17\nwheel: {{python: \"3.12\", lock: {0}.lock, cpu_wheels: [torch]}}\n",
      name, torch);
}

// The project's files as this verb finds them: the stacks `new` and `old`, the suite `short` of two models, its facts.
class SmallProject {
 public:
  SmallProject() : root_setting_("REPROBENCH_ROOT", (folder_.path / "root").string()) {
    const std::filesystem::path source = REPROBENCH_SOURCE_ROOT;
    for (const auto& [name, torch] : {std::pair{"new", "2.9.0"}, {"old", "2.8.0"}}) {
      add_stack(name, small_stack(name, torch));
    }
    std::filesystem::create_directory_symlink(source / "matrix/facts", root() / "matrix/facts");
    std::filesystem::create_directories(root() / "suites/worker");
    std::filesystem::create_directories(root() / "kernels");
    written_file(root() / "models/mlp/model.cpp", "");
    written_file(root() / "models/gpt2/model.cpp", "");
    std::filesystem::create_directories(root() / "models/data");
    add_suite("short",
              "schema: 1\nname: short\ndescription: Two short trainings.\n"
              "workloads:\n  - {model: mlp, preset: base, steps: 6, batch_size: 32}\n"
              "  - {model: gpt2, preset: tiny, steps: 6, batch_size: 4}\n"
              "knobs: {threads: 1}\ntrace: step\nrepeat: 2\ntimeout: 5m\n"
              "thresholds:\n  numerics.final_loss: {max: 2.4, where: {workload: mlp}}\n"
              "  memory.peak_rss: {max_regression: 5%, vs: reference, gate: record_only}\n");
  }

  std::filesystem::path root() const { return folder_.path / "root"; }
  std::filesystem::path store() const { return folder_.path / "store"; }
  std::filesystem::path operator/(const std::string& name) const { return folder_.path / name; }
  Project project() const { return Project(store()); }

  std::filesystem::path add_stack(const std::string& name, const std::string& text) const {
    written_file(root() / "matrix/stacks" / (name + ".lock"),
                 fmt::format("torch==1.0 --hash=sha256:{}  # torch-1.0.whl 5 bytes\n", std::string(64, '0')));
    return written_file(root() / "matrix/stacks" / (name + ".yaml"), text);
  }
  std::filesystem::path add_suite(const std::string& name, const std::string& text) const {
    return written_file(root() / "suites/definitions" / (name + ".yaml"), text);
  }

  // Both stacks on the CPU, `old` the reference.
  std::string matrix(const std::string& more = "") const {
    return written_file(folder_.path / "matrix.yaml",
                        "schema: 1\nname: small\nsuites: [short]\naxes:\n  stack: [new, old]\n  device: [cpu]\n"
                        "reference: {stack: old}\n" +
                            more);
  }

  // The stack as if it were installed: its worker says `capability` when it is asked, trains as the fake one does, and
  // says then that it has mapped the torch that is installed, or `loaded`.
  InstalledStack install(const std::string& name, const Capability& capability, bool with_worker = true,
                         const std::string& loaded = "site/torch/lib/libtorch_cpu.so") const {
    const StackSpec spec = project().stacks().at(name);
    const InstalledStack stack = project().stack_store().find(spec);
    std::filesystem::create_directories(stack.folder);
    StackManifest manifest;
    manifest.name = name;
    manifest.digest = stack.digest;
    manifest.size_bytes = 1000;
    written_file(stack.folder / "site/torch/lib/libtorch_cpu.so", "torch of " + name);
    manifest.files = {{"torch/lib/libtorch_cpu.so", 0, sha256_of_text("torch of " + name)}};
    write_manifest(stack.folder, manifest);
    if (!with_worker) return project().stack_store().find(spec);
    const std::string key = fmt::format("{}\n{}\n", stack.digest, worker_sources_digest(root()));
    const auto folder = stack.folder / "workers" / sha256_of_text(key).substr(0, 12);
    written_file(folder / "describe.json", to_json(capability).dump());
    written_file(folder / "reprobench-worker",
                 fmt::format("#!/bin/sh\n[ \"$1\" = describe ] && exec cat '{}'\n"
                             "exec '{}/reprobench-fake-worker' \"$@\" --loaded '{}'\n",
                             (folder / "describe.json").string(), REPROBENCH_BINARY_DIR, loaded),
                 /*is_program=*/true);
    written_file(folder / "reprobench-worker.sha256", sha256_of_file(folder / "reprobench-worker"));
    return project().stack_store().find(spec);
  }

  // Puts another program in the place of an installed worker, as if it had been built so.
  static void replace_worker(const InstalledStack& stack, const std::string& script) {
    written_file(stack.worker, script, /*is_program=*/true);
    written_file(stack.worker.string() + ".sha256", sha256_of_file(stack.worker));
  }

 private:
  TemporaryFolder folder_;
  TemporaryVariable root_setting_;
  TemporaryVariable stacks_setting_{"REPROBENCH_STACKS", std::nullopt};
};

// What the worker of a stack says that is as its file declares it.
inline Capability small_capability(const std::string& torch = "2.9.0") {
  Capability capability;
  capability.torch_version = torch;
  capability.devices = {"cpu"};
  capability.gpu_problem = "built without CUDA";
  for (const Knob& knob : knobs()) {
    capability.knobs.push_back({std::string(knob.name), {knob.values.begin(), knob.values.end()}, ""});
  }
  capability.workloads = {{"mlp", "three layers", {{"base", 101'770, 32}, {"wide", 2'000'000, 64}}}};
  capability.fingerprint.blas_provider = "mkl";
  capability.fingerprint.cpu_capability = "AVX2";
  capability.fingerprint.compiler = "g++ 12";
  capability.fingerprint.cxx11_abi = 1;
  capability.fingerprint.components = {{"torch", torch + "+cu128", torch, "/stack/libtorch.so"}};
  return capability;
}

}  // namespace reprobench
