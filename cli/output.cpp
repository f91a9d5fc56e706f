// Atomic writing: temporary file, then rename. See output.h for the promises.
#include "output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <system_error>

#include "errors.h"
#include "file_descriptor.h"
#include "input.h"
#include "text.h"

namespace tautstring::cli {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) {
  return printable(path.string());
}

[[noreturn]] void fail_write(const fs::path& path, int error) {
  throw Failure(ExitCode::output,
                fmt::format("cannot write '{}': {}", shown(path), std::strerror(error)));
}

[[noreturn]] void fail_folder(const fs::path& folder, int error) {
  throw Failure(ExitCode::output,
                fmt::format("cannot write to {}: {}", shown(folder), std::strerror(error)));
}

[[noreturn]] void fail_exists(const fs::path& path) {
  throw Failure(ExitCode::output,
                fmt::format("'{}' already exists (use --force to overwrite it)", shown(path)));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// False on failure, with errno set.
bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

/// The current temporary file, for the signal handler. Null: none.
std::atomic<const char*> pending_file = nullptr;
static_assert(std::atomic<const char*>::is_always_lock_free, "a signal handler reads it");

extern "C" void remove_pending_file(int signal_number) {
  if (const char* const path = pending_file) unlink(path);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void remove_pending_file_when_interrupted() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // A signal that is ignored (nohup) stays ignored.
    if (signal(number, remove_pending_file) == SIG_IGN) signal(number, SIG_IGN);
  }
}

/// A file in `folder` with a unique name, removed unless it is renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& folder) : file_(create(folder)) {
    if (!file_.is_open()) fail_folder(folder, errno);
    pending_file = path_.c_str();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!moved_) unlink(path_.c_str());
    pending_file = nullptr;
  }

  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] bool close() noexcept { return file_.close(); }

  /// Gives the file its final name. False on failure, with errno set (EEXIST: the name exists and
  /// may not be replaced).
  [[nodiscard]] bool move_to(const fs::path& target, Overwrite overwrite) {
    moved_ = overwrite == Overwrite::yes ? std::rename(path_.c_str(), target.c_str()) == 0
                                         : rename_to_free_name(target);
    return moved_;
  }

 private:
  /// Sets path_. If a name exists, it belongs to another program, and the next one is tried.
  FileDescriptor create(const fs::path& folder) {
    static const bool handler_is_set = (remove_pending_file_when_interrupted(), true);
    static_cast<void>(handler_is_set);
    std::random_device random;
    int file = -1;
    for (int attempt = 0; file < 0 && attempt < kMostAttempts; ++attempt) {
      path_ = folder / fmt::format(".tautstring-{:08x}{:08x}.tmp", random(), random());
      file = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file < 0 && errno != EEXIST) break;
    }
    return FileDescriptor(file);
  }

  bool rename_to_free_name(const fs::path& target) {
    if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) {
      return true;
    }
    if (errno != EINVAL && errno != ENOSYS) return false;
    // Some file systems do not support RENAME_NOREPLACE. A hard link never replaces a file either;
    // without hard links, use a check and a rename.
    if (link(path_.c_str(), target.c_str()) == 0) return unlink(path_.c_str()) == 0;
    if (errno == EEXIST) return false;
    if (would_overwrite(target)) {
      errno = EEXIST;
      return false;
    }
    return std::rename(path_.c_str(), target.c_str()) == 0;
  }

  static constexpr int kMostAttempts = 100;

  fs::path path_;  // before file_, whose initialization sets it
  FileDescriptor file_;
  bool moved_ = false;
};

void write_device(const fs::path& path, std::span<const std::byte> bytes) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || !write_all(file.get(), bytes) || !file.close()) fail_write(path, errno);
}

}  // namespace

std::string output_name(const std::string& path) {
  return path == kStandardStream ? "standard output" : fmt::format("'{}'", printable(path));
}

void write_stdout(std::string_view text) {
  if (write_all(STDOUT_FILENO, std::as_bytes(std::span(text)))) return;
  throw Failure(ExitCode::output,
                fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void write_file(const fs::path& path, std::span<const std::byte> bytes, Overwrite overwrite) {
  struct stat old = {};
  const bool exists = stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) fail_write(path, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    write_device(path, bytes);
    return;
  }
  if (overwrite == Overwrite::no && would_overwrite(path)) fail_exists(path);

  // A link to a file stays a link: its target is replaced.
  std::error_code unresolved;
  const fs::path resolved = exists ? fs::canonical(path, unresolved) : path;
  const fs::path& target = unresolved ? path : resolved;

  TemporaryFile file(folder_of(target));
  // The replacement of a private file is private.
  if (exists && fchmod(file.descriptor(), old.st_mode & 07777) != 0) fail_write(path, errno);
  if (!write_all(file.descriptor(), bytes) || !file.close()) fail_write(path, errno);
  if (file.move_to(target, overwrite)) return;
  if (errno == EEXIST) fail_exists(path);
  fail_write(path, errno);
}

void write_output(const std::string& path, std::span<const std::byte> bytes, Overwrite overwrite,
                  Content content) {
  if (path != kStandardStream) {
    write_file(path, bytes, overwrite);
    return;
  }
  if (content == Content::binary && isatty(STDOUT_FILENO) != 0) {
    throw Failure(ExitCode::usage,
                  "standard output is a terminal; redirect it to a file or a pipe");
  }
  write_stdout({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void check_output(const std::string& path, Overwrite overwrite) {
  if (path == kStandardStream || overwrite == Overwrite::yes) return;
  if (would_overwrite(path)) fail_exists(path);
}

bool would_overwrite(const fs::path& path) {
  std::error_code ignored;  // errors are reported when the file is written
  const fs::file_type type = fs::symlink_status(path, ignored).type();
  if (type == fs::file_type::symlink)
    return fs::is_regular_file(path, ignored) || !fs::exists(path, ignored);
  return type == fs::file_type::regular;
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error) fail_folder(folder, error.value());
}

}  // namespace tautstring::cli
