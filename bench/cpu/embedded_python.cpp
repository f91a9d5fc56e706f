#include "embedded_python.h"

#include <dlfcn.h>

#include <map>
#include <utility>

namespace bench {

EmbeddedPython::EmbeddedPython(const std::string& library, std::filesystem::path packages)
    : packages_(std::move(packages)) {
  void* const handle = library.empty() ? nullptr : dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (handle == nullptr) return;
  initialize_ = reinterpret_cast<decltype(initialize_)>(dlsym(handle, "Py_InitializeEx"));
  run_ = reinterpret_cast<decltype(run_)>(dlsym(handle, "PyRun_SimpleString"));
}

bool EmbeddedPython::run(const std::string& definitions, const std::string& statement) const {
  static const bool started = [this] {
    initialize_(0);
    return run_(("import sys; sys.path.insert(0, r'" + packages_.string() + "')").c_str()) == 0;
  }();
  static std::map<std::string, bool> defined;
  const auto [place, is_new] = defined.try_emplace(definitions);
  if (is_new) place->second = started && run_(definitions.c_str()) == 0;
  return place->second && run_(statement.c_str()) == 0;
}

}  // namespace bench
