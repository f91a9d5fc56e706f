// Owns an open file.
#pragma once

#include <unistd.h>

#include <utility>

namespace tautstring::cli {

class FileDescriptor {
 public:
  explicit FileDescriptor(int file) noexcept : file_(file) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { close(); }

  [[nodiscard]] bool is_open() const noexcept { return file_ >= 0; }
  [[nodiscard]] int get() const noexcept { return file_; }

  /// False if the system could not store what was written (see errno).
  bool close() noexcept { return file_ < 0 || ::close(std::exchange(file_, -1)) == 0; }

 private:
  int file_;
};

}  // namespace tautstring::cli
