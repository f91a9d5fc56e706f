// Reading with plain POSIX calls: they say why a file cannot be read, and treat
// files, pipes and devices alike.
#include "input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "errors.h"
#include "file_descriptor.h"
#include "text.h"

namespace tautstring::cli {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw Failure(ExitCode::input,
                fmt::format("cannot read {}: {}", input_name(path), std::strerror(errno)));
}

/// The length of a regular file: enough room to read it in one go.
std::size_t size_hint(int file) {
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::size_t>(status.st_size);
}

std::vector<std::byte> read_all(int file, const std::string& path) {
  constexpr std::size_t step = std::size_t{1} << 16;
  std::vector<std::byte> bytes(size_hint(file) + 1);  // one more, to see the end at once
  std::size_t size = 0;
  while (true) {
    if (size == bytes.size()) bytes.resize(size + size / 2 + step);
    const ssize_t count = read(file, &bytes[size], bytes.size() - size);
    if (count == 0) break;
    if (count < 0 && errno != EINTR) fail(path);
    if (count > 0) size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::string input_name(const std::string& path) {
  return path == kStandardStream ? "standard input" : fmt::format("'{}'", printable(path));
}

std::vector<std::byte> read_input(const std::string& path) {
  if (path == kStandardStream) return read_all(STDIN_FILENO, path);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) fail(path);
  return read_all(file.get(), path);
}

}  // namespace tautstring::cli
