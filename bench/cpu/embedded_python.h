// A Python interpreter in this process, for peers without C functions: so their repetitions are
// mixed with all others, and timed by the same clock.
#pragma once

#include <filesystem>
#include <string>

namespace bench {

class EmbeddedPython {
 public:
  /// `library` is Python's shared library; `packages` goes first where modules are looked for.
  EmbeddedPython(const std::string& library, std::filesystem::path packages);

  [[nodiscard]] bool available() const { return initialize_ != nullptr && run_ != nullptr; }

  /// Runs a statement after the definitions that it needs; these, like the interpreter, are
  /// started once, for the rest of the process's life. What Python has to say about an error it
  /// prints; here it is false.
  [[nodiscard]] bool run(const std::string& definitions, const std::string& statement) const;

 private:
  std::filesystem::path packages_;
  void (*initialize_)(int with_signal_handlers) = nullptr;
  int (*run_)(const char* statements) = nullptr;
};

}  // namespace bench
