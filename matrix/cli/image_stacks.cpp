#include "matrix/cli/image_stacks.hpp"

#include <cerrno>
#include <cstring>
#include <sstream>
#include <unordered_map>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "matrix/base/pending_file.hpp"
#include "matrix/cli/image_staging.hpp"
#include "matrix/cli/kept_image.hpp"
#include "matrix/cli/text/install_progress.hpp"
#include "matrix/image/unpacked_image.hpp"
#include "matrix/provision/cuda_header_wheels.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnpacked = "root.digest";  // of what was unpacked beside it

bool every_file(std::string_view, std::int64_t) { return true; }

// "sha256:3f9c..." as the name of a folder.
std::string folder_of_digest(std::string digest) {
  for (char& letter : digest) {
    if (letter == ':') letter = '-';
  }
  return digest;
}

std::vector<std::string> folders_of(const std::map<std::string, std::string>& environment, const char* name) {
  std::vector<std::string> folders;
  const auto found = environment.find(name);
  std::istringstream text(found == environment.end() ? "" : found->second);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (folder.starts_with('/')) folders.push_back(folder);
  }
  return folders;
}

}  // namespace

fs::path images_folder(const fs::path& store) { return store / "images"; }

ImageStacks::ImageStacks(const Project& project) : project_(project), folder_(images_folder(project.store())) {
  fs::create_directories(folder_);
  const fs::path lock = folder_ / "lock";
  lock_ = FileDescriptor(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_.is_open()) throw StoreError(fmt::format("{}: cannot be written: {}", lock.string(), std::strerror(errno)));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw StoreError(
        fmt::format("{}: held by another `reprobench qualify`; wait for it, or name another --store", lock.string()));
  }
  fs::remove_all(folder_ / "staging");  // of one that was killed
}

ImageStacks::~ImageStacks() {
  std::error_code ignored;
  fs::remove_all(folder_ / "staging", ignored);
}

std::string ImageStacks::digest_of(const fs::path& root) const {
  const ImageStaging staging(folder_ / "staging");
  return digest_of_root(read_image(root, staging.path(), every_file));
}

InspectedImage ImageStacks::inspect(const NamedImage& named, const std::vector<ClaimsFile>& claims) {
  InspectedImage inspected{.named = named, .path = named.name, .digest = "", .library_path = {}, .inspection = {}};
  if (is_kept_image(named.name)) {
    inspected.path = fetch_kept_image(named.name, folder_ / "staging" / named.role, project_.shepherd());
  }
  std::error_code is_none;  // a link may lead elsewhere when the root is used
  if (fs::is_directory(inspected.path, is_none)) inspected.path = fs::canonical(inspected.path);
  const ImageStaging staging(folder_ / "staging");
  const Image image = read_image(inspected.path, staging.path(), is_evidence, named.tag);
  inspected.inspection = inspect_image(image, claims, project_.facts());
  inspected.inspection.image = named.name;
  inspected.library_path = folders_of(image.config.environment, "LD_LIBRARY_PATH");
  inspected.digest = image.form == ImageForm::root ? digest_of_root(image) : image.digest;
  return inspected;
}

// A root is used where it lies.
fs::path ImageStacks::root_of(const InspectedImage& image) {
  if (image.inspection.form == ImageForm::root) return image.path;
  const fs::path place = folder_ / folder_of_digest(image.digest);
  if (fs::exists(place / "root")) {
    const fs::path root = fs::canonical(place / "root");
    if (read_file(place / kUnpacked) == digest_of(root)) return root;
    throw ProvisionError(fmt::format("{} is no longer what was unpacked of {}; remove {}, so that it is unpacked again",
                                     root.string(), image.named.name, place.string()));
  }
  const ImageStaging staging(folder_ / "staging");
  const ImageStaging made(folder_ / "staging");
  const Image read = read_image(image.path, staging.path(), every_file, image.named.tag);
  if (read.digest != image.digest) {
    throw ProvisionError(fmt::format("{} was changed while it was read", image.named.name));
  }
  fs::create_directories(made.path() / "root");
  write_root(read, made.path() / "root");
  const FileDescriptor disk(open(made.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!disk.is_open() || syncfs(disk.get()) != 0) {
    throw fs::filesystem_error("cannot be written", made.path(), {errno, std::generic_category()});
  }
  fs::create_directories(place);
  PendingFile unpacked(place / kUnpacked, 0644);
  unpacked.append(digest_of(made.path() / "root"));
  unpacked.publish();
  fs::rename(made.path() / "root", place / "root");
  return fs::canonical(place / "root");
}

bool ImageStacks::is_changed(const InspectedImage& image) const {
  const bool is_root = image.inspection.form == ImageForm::root;
  const fs::path place = is_root ? fs::path() : folder_ / folder_of_digest(image.digest);
  try {
    return is_root ? digest_of(image.path) != image.digest : digest_of(place / "root") != read_file(place / kUnpacked);
  } catch (const std::exception&) {
    return true;  // gone, or another's
  }
}

ImageStack ImageStacks::make_stack(const InspectedImage& image, const CudaHeaderSource& cuda_headers) {
  const ImageIdentity identity{image.named.name, image.digest, image.library_path};
  ImageStack stack = find_image_stack(image.named.role, identity, root_of(image), cuda_headers);
  PendingFile file(folder_ / (image.named.role + ".yaml"), 0644);
  file.append(stack.spec.text);
  file.publish();
  return stack;
}

CudaHeaderSource cuda_headers_of(const Project& project, const Terminal& terminal) {
  return [&project, &terminal](const std::string& cuda) {
    const std::string name = "headers of CUDA " + cuda;
    InstallProgress progress(terminal);
    HostCudaHeaders headers =
        host_cuda_headers(cuda, project.stacks(), project.stacks_home(), project.shepherd(),
                          [&](const std::string& phase, double fraction) { progress.show(name, phase, fraction); });
    progress.finish(name, "");
    return headers;
  };
}

void require_pair_of_images(const Plan& plan) {
  std::unordered_map<std::string, std::string> stack_of;
  bool asks_candidate = false;
  for (const PlannedCell& planned : plan.cells) {
    const std::string& stack = planned.cell.request.stack;
    stack_of.emplace(planned.cell.request.cell_id, stack);
    asks_candidate = asks_candidate || (stack == "candidate" && planned.cell.required);
    if (plan.images.contains(stack)) continue;
    throw UsageError(fmt::format("{}: cells of {}, and two images are the stacks `candidate` and `reference` alone",
                                 plan.matrix_file, stack));
  }
  if (!asks_candidate) throw UsageError(plan.matrix_file + ": no cell of `candidate` is required");
  for (const PlannedCell& planned : plan.cells) {
    const auto& reference = planned.cell.reference_cell_id;
    if (planned.cell.request.stack != "candidate" || (reference && stack_of[*reference] == "reference")) continue;
    throw UsageError(fmt::format("{}: {} is not held against `reference`", plan.matrix_file, planned.cell.slug));
  }
}

}  // namespace reprobench
