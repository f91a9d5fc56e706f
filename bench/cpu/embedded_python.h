// A Python interpreter in this process, for peers without C functions: so their repetitions are
// interleaved with all others and timed by the same clock.
#pragma once

#include <filesystem>
#include <string>

namespace bench {

class EmbeddedPython {
 public:
  /// `library` is Python's shared library; `packages` comes first in the module search path.
  EmbeddedPython(const std::string& library, std::filesystem::path packages);

  [[nodiscard]] bool available() const { return initialize_ != nullptr && run_ != nullptr; }

  /// Runs a statement after the definitions that it needs. These run once, like the start of the
  /// interpreter, which lives as long as the process. Returns false on an error; Python prints the
  /// details.
  [[nodiscard]] bool run(const std::string& definitions, const std::string& statement) const;

 private:
  std::filesystem::path packages_;
  void (*initialize_)(int with_signal_handlers) = nullptr;
  int (*run_)(const char* statements) = nullptr;
};

}  // namespace bench
