// How fast is a checkpoint written, beside what dd with fsync reaches in the same folder? And what does a small one take, in fsyncs?
//
//   bench_checkpoint FOLDER [MIB [RUNS]]    256 MiB, 7 runs of each, in turn; the first of each is not counted; medians
//
// What is timed is all that a first rank does to save itself: the copy out of the device, checksums, the file, the manifest.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "core/math/cpu_kernels.hpp"
#include "core/rank_main/checkpoint_tensors.hpp"
#include "exec/host/cpu_device.hpp"
#include "exec/host/file_storage.hpp"

namespace {

using namespace xdc;
namespace fs = std::filesystem;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class SavingRank {
 public:
  SavingRank(const fs::path& folder, int64_t elements) : path_(folder / "saved"), storage_(path_), checkpoints_(storage_) {
    stream_ = device_.make_stream("bench");
    buffer_ = device_.allocate(Space::device, static_cast<size_t>(elements) * sizeof(float)).value();
    tensor_ = Tensor::flat(buffer_->bytes(), DType::f32, elements);
    // No disk is to find zeros.
    RandomStream random(1, "bench");
    const auto staging = device_.allocate(Space::pinned, buffer_->bytes().size).value();
    auto* values = reinterpret_cast<float*>(staging->bytes().host().data());
    for (int64_t i = 0; i < elements; ++i) values[i] = random.uniform_float();
    device_.copy(stream_, buffer_->bytes(), staging->bytes());
  }
  ~SavingRank() { fs::remove_all(path_); }
  SavingRank(const SavingRank&) = delete;
  SavingRank& operator=(const SavingRank&) = delete;

  void save() {
    Manifest manifest;
    manifest.step = ++step_;
    manifest.dealt.deals = {{0, {{1, 1, 1}}}};
    const auto piece = write_tensors(device_, stream_, checkpoints_, {step_, "rank0.bench", kParametersFile},
                                     {{"parameters", {tensor_.elements()}}}, {tensor_});
    if (piece.ok()) manifest.files = {piece.value()};
    const Status written = piece.ok() ? checkpoints_.write(manifest) : piece.status();
    if (!written.ok()) {
      fmt::print(stderr, "bench_checkpoint: {}\n", written.error().message);
      std::exit(1);
    }
  }
  // Outside of what is timed.
  void forget() {
    if (!checkpoints_.prune({}, step_).ok()) std::exit(1);
  }

 private:
  fs::path path_;
  CpuKernels kernels_;
  CpuDevice device_{"cpu", kernels_};
  FileStorage storage_;
  CheckpointFolder checkpoints_;
  Stream stream_;
  std::unique_ptr<Buffer> buffer_;
  Tensor tensor_;
  int64_t step_ = 0;
};

double dd(const fs::path& file, int64_t mib) {
  const auto command = fmt::format("dd if=/dev/zero of='{}' bs=1M count={} conv=fsync 2>'{}.log'", file.native(), mib, file.native());
  const double taken = seconds_of([&] {
    if (std::system(command.c_str()) != 0) std::exit(1);
  });
  fs::remove(file);
  fs::remove(file.native() + ".log");
  return taken;
}

// One block written into a new file, and synced.
double one_fsync(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  const std::string block(4096, 'x');
  if (fd < 0 || ::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) std::exit(1);
  const double taken = seconds_of([&] {
    if (::fsync(fd) != 0) std::exit(1);
  });
  ::close(fd);
  fs::remove(file);
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "bench_checkpoint FOLDER [MIB [RUNS]]\n");
    return 2;
  }
  const fs::path folder = argv[1];
  const int64_t mib = argc > 2 ? std::atoll(argv[2]) : 256;
  const int runs = argc > 3 ? std::atoi(argv[3]) : 7;
  if (mib < 1 || runs < 2 || !fs::is_directory(folder)) {
    fmt::print(stderr, "bench_checkpoint: a folder that is there, at least 1 MiB, at least 2 runs\n");
    return 2;
  }
  const double mb = static_cast<double>(mib << 20) / 1e6;
  std::vector<double> ours, theirs, small, syncs;
  {
    SavingRank rank(folder, (mib << 20) / 4);
    for (int run = 0; run <= runs; ++run) {
      const double saved = seconds_of([&] { rank.save(); });
      rank.forget();
      const double copied = dd(folder / "bench_dd", mib);
      fmt::print("{} checkpoint {:.0f} MB/s, dd {:.0f} MB/s\n", run == 0 ? "not counted:" : "run", mb / saved, mb / copied);
      if (run > 0) ours.push_back(saved), theirs.push_back(copied);
    }
  }
  SavingRank rank(folder, 10'000);
  for (int run = 0; run <= 5 * runs; ++run) {
    const double saved = seconds_of([&] { rank.save(); });
    rank.forget();
    const double synced = one_fsync(folder / "bench_fsync");
    if (run > 0) small.push_back(saved), syncs.push_back(synced);
  }
  fmt::print("{} MiB: checkpoint {:.0f} MB/s, dd with fsync {:.0f} MB/s: {:.2f} of it (medians of {})\n", mib, mb / median(ours),
             mb / median(theirs), median(theirs) / median(ours), runs);
  fmt::print("40 kB: {:.2f} ms, an fsync {:.2f} ms: {:.1f} fsyncs (medians of {})\n", 1e3 * median(small), 1e3 * median(syncs),
             median(small) / median(syncs), 5 * runs);
  return 0;
}
