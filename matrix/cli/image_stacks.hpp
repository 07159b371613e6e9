// Images that are the stacks `candidate` and `reference` of a store: inspected, unpacked, each with its stack file.
//
//   STORE/images/candidate.yaml, reference.yaml    stack files; the next `qualify` writes others
//   STORE/images/DIGEST/root                       an archive, unpacked; its presence means that it is whole
//   STORE/images/DIGEST/root.digest                of every byte of it, held again each time it is used
//   STORE/images/staging/                          what is being read or unpacked
//   STORE/images/lock                              held (flock) by the one `qualify` of the store that goes on
#pragma once

#include <filesystem>
#include <string>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/cli/project.hpp"
#include "matrix/image/inspection.hpp"
#include "matrix/provision/image_stack.hpp"

namespace reprobench {

// The folder above. No part of it needs to exist.
std::filesystem::path images_folder(const std::filesystem::path& store);

// An image as the user named it.
struct NamedImage {
  std::string role;  // "candidate", "reference": the name of its stack
  std::string name;  // path, or that of a kept image (kept_image.hpp)
  std::string tag;   // which of an archive that holds several
};

struct InspectedImage {
  NamedImage named;
  std::filesystem::path path;  // where its bytes are
  std::string digest;
  std::vector<std::string> library_path;  // of its configuration
  Inspection inspection;
};

class ImageStacks {
 public:
  // Throws StoreError while another process has the store's images.
  explicit ImageStacks(const Project& project);
  ~ImageStacks();
  ImageStacks(const ImageStacks&) = delete;
  ImageStacks& operator=(const ImageStacks&) = delete;

  // Inspects an image and runs nothing of it. Throws SpecError if it is no image, UsageError if it cannot be fetched.
  InspectedImage inspect(const NamedImage& named, const std::vector<ClaimsFile>& claims);

  // Unpacks the image unless that was done before, finds its PyTorch and writes its stack file. Throws ProvisionError.
  ImageStack make_stack(const InspectedImage& image, const CudaHeaderSource& cuda_headers = {});

  // Whether what its stack ran in has other bytes by now than were inspected, or cannot be read any more.
  bool is_changed(const InspectedImage& image) const;

 private:
  std::string digest_of(const std::filesystem::path& root) const;
  std::filesystem::path root_of(const InspectedImage& image);

  const Project& project_;
  std::filesystem::path folder_;
  FileDescriptor lock_;
};

// Where a worker with a part for GPUs gets headers of CUDA from that its image lacks. Both outlive it.
CudaHeaderSource cuda_headers_of(const Project& project, const Terminal& terminal);

// A verdict on two images needs cells of these two stacks, of which one is compared with the other, and some of the
// cells must be required. Throws UsageError for the plan of a matrix without such cells.
void require_pair_of_images(const Plan& plan);

}  // namespace reprobench
