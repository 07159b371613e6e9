// Installed stacks: fetched by lock and unpacked, or found on the system; each with a worker built for it.
//
//   HOME/NAME-DIGEST/            DIGEST: 12 hex digits over stack file and lock
//     stack.json                 written last: its presence means that the installation is complete
//     adopted.json               hashes of the libraries of an environment that was adopted
//     libraries.json             hashes of files in site/ and their times (library_check.hpp); may be deleted
//     site/                      unpacked wheels: torch/ nvidia/ (absent for system stacks)
//     workers/KEY/reprobench-worker, describe.json    KEY: digest of stack and worker sources. The compiler that built
//                                it is part of its description; only a build needs one
//     workers/KEY/reprobench-worker.sha256    of the program as it was built
//     workers/KEY/predictions.json    its answers about memory so far (exec/kept_predictions.hpp); may be deleted
//   HOME/hybrids/NAME.yaml       stack files of hybrids, whose site/ is links to files of other stacks here
//   HOME/cuda-headers/CUDA-DIGEST/   for images that lack some (cuda_header_wheels.hpp); may be deleted
//   HOME/downloads/              wheels by file name, hash-checked before every use; may be deleted at any time
//   HOME/staging/NAME-DIGEST.*/  unfinished work of an installation; left over only by a killed one, and then removed
//                                by the next
//   HOME/locks/NAME-DIGEST       held (flock) while that stack is installed or removed
//   HOME/logs/NAME-worker.log    output of the last build of a stack's worker
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/exec/enclosed_command.hpp"
#include "matrix/provision/library_check.hpp"
#include "matrix/provision/progress.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/stack_verify.hpp"
#include "matrix/provision/worker_build.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// Why the lock of a wheel stack cannot be read; nothing if it can, or if the stack has none.
std::optional<SpecError> find_lock_error(const StackSpec& spec);

struct InstalledStack {
  StackSpec spec;
  std::string digest;  // of stack file and lock
  std::filesystem::path folder;
  bool complete = false;             // stack.json is there
  std::filesystem::path worker;      // empty: not built for the present worker sources, or linked for another place
  std::filesystem::path moved_from;  // the other place for which it is linked; empty: none, or there is no worker
  std::int64_t size_bytes = 0;
};

// Reads the worker's sources only once, when it or a copy of it is first asked for a worker. A store that lives longer
// does not see them change. For one thread at a time.
class StackStore {
 public:
  // `home` is the folder above. `source_root` is the project's root, with the worker's sources. pip and the compilers
  // run under `shepherd`, so that they end whenever and however this process ends.
  StackStore(const std::filesystem::path& home, std::filesystem::path source_root, std::filesystem::path shepherd);

  InstalledStack find(const StackSpec& spec) const;

  // Why this host cannot offer a system stack; empty if it can, and for wheel stacks.
  std::string system_problem(const StackSpec& spec) const;

  // Idempotent. `with_gpu` stands for all wheels of the lock, not only the CPU part. Waits while another process
  // installs the same stack. Throws ProvisionError, and SpecError for a damaged lock.
  InstalledStack install(const StackSpec& spec, bool with_gpu, const ProgressSink& progress);

  // Asks the installed worker what it really loaded; it finds the CUDA driver as in an attempt (exec/driver_path.hpp).
  // Throws ProvisionError.
  Capability describe(const InstalledStack& stack) const;

  // The worker's description of itself from when it was built; nothing if no worker is built for the present sources.
  std::optional<Capability> description(const InstalledStack& stack) const;

  // Every finding where declared, compiled and loaded versions or files disagree. The stack is verified if all findings
  // are settled. Checks wheel hashes again.
  std::vector<StackFinding> verify(const InstalledStack& stack) const;

  // Checks the files as `verify` does, in milliseconds if they did not change, and returns the libraries that a worker
  // has to load. These are the unpacked libraries or, for a system stack, those of its file. For torch they are those
  // that its worker loaded when it was built.
  LibraryCheck check(const InstalledStack& stack) const;

  // The worker and the stack's libraries, as far as their folders have them: what processes of the stack may map.
  std::vector<std::filesystem::path> mapped_files(const InstalledStack& stack) const;

  void remove(const InstalledStack& stack) const;

  // The image that a worker of this stack runs inside; nothing: it runs on this host itself.
  std::optional<Enclosure> enclosure(const InstalledStack& stack) const;

  // The variables a worker of this stack needs (LD_LIBRARY_PATH for a system stack's own libraries, or nothing).
  std::map<std::string, std::string> environment(const InstalledStack& stack) const;

 private:
  Capability described(const InstalledStack& built, const Compiler& compiler) const;
  void install_files(const InstalledStack& present, bool with_gpu, const std::filesystem::path& staging,
                     const PhaseSink& progress) const;
  void install_worker(const InstalledStack& stack, bool with_gpu, const std::filesystem::path& staging,
                      const PhaseSink& progress) const;

  void place_worker(const InstalledStack& stack, const std::filesystem::path& program, const Compiler& compiler,
                    const PhaseSink& progress) const;

  // A copy of a worker that was built from the present sources for the same torch, linked for this stack. For a hybrid
  // it is that of the stack from which it has its torch; for a store that was moved it is its own. Empty if there is
  // none.
  std::filesystem::path taken_worker(const InstalledStack& stack, const std::filesystem::path& staging) const;

  // The folder of a worker of the present sources, built or not, for a stack in this folder with that digest.
  std::filesystem::path worker_folder(const std::filesystem::path& folder, const std::string& digest) const;

  // The folder of a worker of the present sources, built or not.
  std::filesystem::path worker_folder(const InstalledStack& stack) const;

  std::filesystem::path home_;
  std::filesystem::path source_root_;
  std::filesystem::path shepherd_;
  std::shared_ptr<std::string> sources_digest_ = std::make_shared<std::string>();  // empty: not read yet
};

}  // namespace reprobench
