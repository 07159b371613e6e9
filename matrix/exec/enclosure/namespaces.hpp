// The things that a process may see and do inside an enclosure. Every function returns one line on what failed, or an
// empty text.
#pragma once

#include <string>

#include <sys/types.h>

namespace reprobench {

// "mount /usr: Operation not permitted", from errno.
std::string failed(const std::string& what);

// Enters new network, mount, PID, IPC and host name namespaces, and a new user namespace unless this process may do
// without. The PID namespace is that of children. `network_of` is a process whose network is joined, once it has one of
// its own; 0 stands for a new one, with nothing but its loopback.
std::string leave_namespaces(pid_t network_of);

// Gives up, for ever, every capability and every way to get one, and limits the number of processes.
std::string give_up_privileges();

}  // namespace reprobench
