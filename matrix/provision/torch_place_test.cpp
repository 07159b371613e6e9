#include "matrix/provision/torch_place.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/environment_fixture.hpp"
#include "matrix/provision/provision_error.hpp"

using namespace reprobench;
using namespace reprobench::test;
using Catch::Matchers::StartsWith;

namespace {

void make_program(const std::filesystem::path& path, const std::string& text) {
  write_file(path, text);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("a Python is asked where its PyTorch lies, and imports nothing for that", "[provision]") {
  const FakeEnvironment environment;
  write_file(environment.torch() / "__init__.py", "raise SystemExit('imported')\n");
  const TemporaryVariable path("PYTHONPATH", environment.site().string());
  const TorchPlace place = torch_of_python("python3");
  CHECK(place.lib == (environment.torch() / "lib").string());
  CHECK(place.include == (environment.torch() / "include").string());
  CHECK(place.site == environment.site().string());
  CHECK_THAT(place.python, StartsWith("3."));
}

TEST_CASE("a Python that says more than it is asked is understood", "[provision]") {
  const FakeEnvironment environment;
  write_file(environment.site() / "sitecustomize.py",
             "import atexit\nprint('Welcome to the cluster', end='')\natexit.register(print, '{}')\n");
  const TemporaryVariable path("PYTHONPATH", environment.site().string());
  CHECK(torch_of_python("/usr/bin/python3").lib == (environment.torch() / "lib").string());
}

TEST_CASE("a Python without PyTorch, or that is none, says so", "[provision]") {
  const TemporaryFolder folder;
  const TemporaryVariable path("PYTHONPATH", folder.path.string());
  std::filesystem::create_directories(folder.path / "torch");  // any folder of that name is none
  const std::string none = message_of<ProvisionError>([] { torch_of_python("/usr/bin/python3"); });
  CHECK_THAT(none,
             StartsWith("Python 3.") && ContainsSubstring(" has no PyTorch; it looks in " + folder.path.string()));
  make_program(folder.path / "python", "#!/bin/sh\necho broken >&2\nexit 3\n");
  CHECK_THAT(message_of<ProvisionError>([&] { torch_of_python((folder.path / "python").string()); }),
             ContainsSubstring("cannot be asked for its PyTorch (exit code 3): broken"));
  CHECK(message_of<ProvisionError>([] { torch_of_python("no-such-python"); }) ==
        "no-such-python is not on PATH; name a Python with its path");
}

TEST_CASE("a PyTorch without libraries says what may be the matter", "[provision]") {
  const FakeEnvironment environment;
  std::filesystem::remove(environment.torch() / "lib/libtorch_cpu.so");
  const TemporaryVariable path("PYTHONPATH", environment.site().string());
  CHECK_THAT(message_of<ProvisionError>([] { torch_of_python("/usr/bin/python3"); }),
             StartsWith(environment.torch().string() + " is a PyTorch without libtorch_cpu.so: "));
}

TEST_CASE("below a prefix there must be one PyTorch", "[provision]") {
  const FakeEnvironment environment;
  CHECK(torch_below(environment.root()).lib == (environment.torch() / "lib").string());
  CHECK(torch_below(environment.root() / "./").prefix == environment.root().string());

  const TemporaryFolder root;
  CHECK_THAT(message_of<ProvisionError>([&] { torch_below(root.path); }),
             StartsWith("no PyTorch below " + root.path.string() + ": "));
  // Debian's layout, in a root whose /lib is a link.
  write_file(root.path / "usr/lib/x86_64-linux-gnu/libtorch_cpu.so", "");
  std::filesystem::create_directory_symlink("usr/lib", root.path / "lib");
  const TorchPlace debian = torch_below(root.path);
  CHECK(debian.lib == (root.path / "usr/lib/x86_64-linux-gnu").string());
  CHECK(debian.include == (root.path / "usr/include").string());
  CHECK(debian.site.empty());

  write_file(root.path / "opt/conda/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "");
  CHECK(message_of<ProvisionError>([&] { torch_below(root.path); }) ==
        "2 PyTorch are below " + root.path.string() + ": " +
            (root.path / "opt/conda/lib/python3.11/site-packages/torch/lib").string() + ", " +
            (root.path / "usr/lib/x86_64-linux-gnu").string() + "; choose one with --libtorch");
  CHECK(torch_in_folder(root.path / "usr/lib/x86_64-linux-gnu").lib == debian.lib);
}

TEST_CASE("a virtual environment of an image is found where images have it", "[provision]") {
  const std::string torch =
      GENERATE("venv/lib/python3.11/site-packages/torch/lib", "app/.venv/lib/python3.12/site-packages/torch/lib");
  const TemporaryFolder root;
  write_file(root.path / torch / "libtorch_cpu.so", "");
  const TorchPlace place = torch_below(root.path);
  CHECK(place.lib == (root.path / torch).string());
  CHECK(place.include == (root.path / torch).parent_path() / "include");
}

TEST_CASE("a folder is LibTorch's if it has the library", "[provision]") {
  const TemporaryFolder folder;
  CHECK_THAT(message_of<ProvisionError>([&] { torch_in_folder(folder.path); }),
             ContainsSubstring("holds neither lib/libtorch_cpu.so"));
  write_file(folder.path / "libtorch/lib/libtorch_cpu.so", "");
  std::filesystem::create_directory_symlink(folder.path / "libtorch", folder.path / "link");
  const TorchPlace place = torch_in_folder(folder.path / "link");
  CHECK(place.lib == (folder.path / "libtorch/lib").string());
  CHECK(place.include == (folder.path / "libtorch/include").string());
  CHECK(place.site.empty());
}
