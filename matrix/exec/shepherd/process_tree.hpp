// Finds the members of a process tree in /proc. Uses only libc, because it is part of the shepherd.
#pragma once

#include <sys/types.h>

namespace reprobench {

// Calls `visit(pid, context)` for every living (not zombie) process that descends from `root`, except `root` itself,
// and returns their number. Descendants are found through their parents, so setsid() and setpgid() hide none as long as
// `root` is the subreaper. At most 4096 processes of a tree are seen.
int visit_descendants(pid_t root, void (*visit)(pid_t pid, void* context), void* context);

// The same for all living processes of session `session`.
int visit_session(pid_t session, void (*visit)(pid_t pid, void* context), void* context);

}  // namespace reprobench
