// Reading with plain POSIX calls: they report why a file cannot be read, and treat files, pipes and
// devices alike.
#include "input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include "errors.h"
#include "file_descriptor.h"
#include "text.h"

namespace tautstring::cli {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Failure(ExitCode::input, fmt::format("cannot read {}: {}", input_name(path), why));
}

/// The length of a regular file, to read it in one go.
std::optional<std::size_t> regular_size(int file) {
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::size_t>(status.st_size);
}

std::vector<std::byte> read_all(int file, const std::string& path, std::size_t pipe_limit) {
  constexpr std::size_t step = std::size_t{1} << 16;
  const std::optional<std::size_t> expected = regular_size(file);
  const std::size_t limit = expected ? std::numeric_limits<std::size_t>::max() - 1 : pipe_limit;
  std::vector<std::byte> bytes(expected.value_or(0) + 1);  // one more, to detect the end at once
  std::size_t size = 0;
  while (true) {
    if (size == bytes.size()) bytes.resize(std::min(size + size / 2 + step, limit + 1));
    const ssize_t count = read(file, &bytes[size], bytes.size() - size);
    if (count == 0) break;
    if (count < 0 && errno != EINTR) fail(path, std::strerror(errno));
    if (count > 0) size += static_cast<std::size_t>(count);
    if (size > limit) {
      fail(path, fmt::format("it provides more than {} bytes, the limit for all but regular files; "
                             "save it to a file, which may have any size",
                             limit));
    }
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::string input_name(const std::string& path) {
  return path == kStandardStream ? "standard input" : fmt::format("'{}'", printable(path));
}

std::vector<std::byte> read_input(const std::string& path, std::size_t pipe_limit) {
  if (path == kStandardStream) return read_all(STDIN_FILENO, path, pipe_limit);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) fail(path, std::strerror(errno));
  return read_all(file.get(), path, pipe_limit);
}

}  // namespace tautstring::cli
