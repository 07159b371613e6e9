#include "matrix/exec/enclosed_command.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

void add(std::vector<std::string>& command, const char* option, const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    command.emplace_back(option);
    command.push_back(fs::absolute(path).lexically_normal().string());
  }
}

void add_if_named(std::vector<fs::path>& paths, const std::string& path) {
  if (!path.empty()) paths.emplace_back(path);
}

}  // namespace

Enclosure host_enclosure(const fs::path& shepherd) {
  Enclosure enclosure{
      .program = shepherd.parent_path() / "reprobench-enclosure", .shepherd = shepherd, .root = {}, .readable = {}};
  // Debian chooses between libraries of one name by links to /etc/alternatives.
  for (const char* path : {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives"}) {
    if (fs::exists(path)) enclosure.readable.emplace_back(path);
  }
  return enclosure;
}

EnclosedPaths paths_of_rank(const CellRequest& request, const fs::path& rank_folder) {
  EnclosedPaths paths;
  paths.writable = {rank_folder.parent_path()};
  // A segment that goes on needs the checkpoints, which are in the folder of the attempt, beside those of its segments.
  if (request.checkpoint) paths.writable.push_back(fs::path(request.checkpoint->folder).parent_path());
  for (const OwnFileField& own : kOwnFiles) add_if_named(paths.readable, request.workload.*own.file);
  for (const std::string& shard : request.workload.weights_shards) {
    paths.readable.push_back(fs::path(request.workload.weights_file).parent_path() / shard);
  }
  if (request.replay) {
    add_if_named(paths.readable, request.replay->from_state);
    if (request.replay->substituted_inputs) add_if_named(paths.readable, request.replay->substituted_inputs->file);
  }
  return paths;
}

std::vector<std::string> enclosed_command(const Enclosure& enclosure, const EnclosedPaths& paths, int network_of,
                                          const std::vector<std::string>& command) {
  std::vector<std::string> enclosed = {enclosure.program.string()};
  if (!enclosure.root.empty()) enclosed.insert(enclosed.end(), {"--root", enclosure.root.string()});
  add(enclosed, "--read", {enclosure.shepherd});
  add(enclosed, "--read", enclosure.readable);
  add(enclosed, "--read", paths.readable);
  add(enclosed, "--write", paths.writable);
  add(enclosed, "--device", enclosure.gpu.devices);
  add(enclosed, "--driver", enclosure.gpu.libraries);
  if (network_of != 0) enclosed.insert(enclosed.end(), {"--network-of", std::to_string(network_of)});
  if (enclosure.file_bytes > 0) enclosed.insert(enclosed.end(), {"--file-bytes", std::to_string(enclosure.file_bytes)});
  enclosed.emplace_back("--");
  enclosed.insert(enclosed.end(), command.begin(), command.end());
  return enclosed;
}

void enclose(SubprocessOptions& options, const std::optional<Enclosure>& enclosure, const EnclosedPaths& paths) {
  if (!enclosure) return;
  options.enclosure = enclosed_command(*enclosure, paths, 0, {});
  options.shepherd = enclosure->shepherd.string();
}

}  // namespace reprobench
