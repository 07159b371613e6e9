// What a process may see and do inside an enclosure. Every function says in one line what failed, and is empty where
// nothing did.
#pragma once

#include <string>

#include <sys/types.h>

namespace reprobench {

// "mount /usr: Operation not permitted", of errno.
std::string failed(const std::string& what);

// New user (unless this process may do without), network, mount, PID, IPC and host name namespaces; the PID namespace
// is that of children. `network_of`: a process whose network is joined, once it has one of its own; 0: a new one,
// with nothing but its loopback.
std::string leave_namespaces(pid_t network_of);

// For ever: no capability, no way to one, and so many processes at most.
std::string give_up_privileges();

}  // namespace reprobench
