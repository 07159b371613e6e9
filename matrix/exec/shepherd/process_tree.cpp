#include "matrix/exec/shepherd/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace reprobench {
namespace {

constexpr int kMostProcesses = 1 << 16;
constexpr int kLargestTree = 4096;

struct Process {
  pid_t pid;
  pid_t parent;
  pid_t session;
  bool is_zombie;
  bool in_tree;
};

// /proc/PID/stat: "PID (NAME) STATE PPID PGRP SESSION ..."; NAME may hold anything, so the last ')' ends it.
bool read_process(pid_t pid, Process& process) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[512];
  const ssize_t count = read(fd, text, sizeof text - 1);
  close(fd);
  if (count <= 0) return false;
  text[count] = '\0';
  const char* name_end = strrchr(text, ')');
  char state = 0;
  int parent = 0;
  int group = 0;
  int session = 0;
  if (name_end == nullptr || sscanf(name_end + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4) return false;
  process = {pid, parent, session, state == 'Z' || state == 'X', false};
  return true;
}

int read_all_processes(Process* processes) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = readdir(proc)) {
    const int pid = atoi(entry->d_name);
    if (pid > 0 && count < kMostProcesses && read_process(pid, processes[count])) ++count;
  }
  closedir(proc);
  return count;
}

Process* process_table() {
  static Process processes[kMostProcesses];  // untouched pages cost nothing
  return processes;
}

}  // namespace

int visit_descendants(pid_t root, void (*visit)(pid_t, void*), void* context) {
  Process* processes = process_table();
  const int count = read_all_processes(processes);
  pid_t tree[kLargestTree] = {root};
  int tree_size = 1;
  int living = 0;
  for (int member = 0; member < tree_size; ++member) {
    for (int i = 0; i < count; ++i) {
      Process& process = processes[i];
      if (process.in_tree || process.pid == root || process.parent != tree[member]) continue;
      process.in_tree = true;
      if (tree_size < kLargestTree) tree[tree_size++] = process.pid;
      if (process.is_zombie) continue;
      ++living;
      visit(process.pid, context);
    }
  }
  return living;
}

int visit_session(pid_t session, void (*visit)(pid_t, void*), void* context) {
  Process* processes = process_table();
  const int count = read_all_processes(processes);
  int living = 0;
  for (int i = 0; i < count; ++i) {
    if (processes[i].session != session || processes[i].is_zombie) continue;
    ++living;
    visit(processes[i].pid, context);
  }
  return living;
}

}  // namespace reprobench
