// `run --untrusted`: a matrix that somebody else wrote, such as that of a pull request, is run where it can do no harm.
// Workers see programs and libraries of this host, their stack and their data, and write to their own attempt alone.
// There is no network but the loopback.
#pragma once

#include <map>
#include <set>
#include <string>

#include "matrix/cli/project.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/spec/policy_spec.hpp"

namespace reprobench {

// The policy of that file; the defaults if no file is named. Throws UsageError if it lies in the checkout of the
// matrix, whose author could change it, or if another user may write to it or swap it
// through a folder above it. Throws SpecError for what it says.
UntrustedPolicy untrusted_policy(const std::string& file, const std::string& matrix);

// Throws UsageError for a plan that asks for more than the policy allows, or for a GPU, which no enclosure hands in.
void require_modest(const Plan& plan, const UntrustedPolicy& policy);

// What an attempt may take of the disk, and what it leaves to others.
inline DiskBound untrusted_disk(const UntrustedPolicy& policy) {
  return {.attempt_bytes = policy.attempt_disk_bytes, .free_bytes = std::int64_t{2} << 30};
}

// Throws UsageError if less than that is left on the disk of the store.
void require_free_disk(const Project& project);

// Throws UsageError if somebody else than this user or root owns the stack's folder or worker, or may write to them, or
// may put others in their place through a folder above them.
void require_own_stacks(const std::set<std::string>& stacks, const Project& project);

// Throws UsageError with the kernel's reason where no worker can be enclosed.
void require_enclosure(const Project& project);

// Encloses the workers that are not inside an image already, and bounds the size of their files. Their answers about
// memory are kept nowhere, because that would be beside the stack.
void enclose_workers(std::map<std::string, WorkerCommand>& workers, const Project& project,
                     const UntrustedPolicy& policy);

}  // namespace reprobench
