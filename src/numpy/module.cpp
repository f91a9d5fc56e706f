// The extension module tautstring._numpy, private to tautstring.numpy: direct calls of the core on
// NumPy arrays. The Python side parses arguments, allocates results and has the documentation; the
// core checks sizes and values and computes.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "signals.h"
#include "tautstring/tautstring.h"
#include "threads.h"
#include "tv1d.h"
#include "tv2d.h"

NB_MODULE(_numpy, module) {
  const tautstring::Capabilities capabilities = tautstring::capabilities();
  module.attr("version") = capabilities.version;
  module.attr("compiler") = capabilities.compiler;
  module.attr("cpu_target") = capabilities.cpu_target;
  nanobind::list targets;
  for (const char* target : tautstring::cpu_targets()) targets.append(target);
  module.attr("cpu_targets") = nanobind::tuple(targets);
  module.def("hardware_threads", [] { return tautstring::numpy::CallThreads().concurrency(); });
  module.def("release_scratch", &tautstring::release_scratch);
  module.def("raise_stop_reason", &tautstring::numpy::raise_stop_reason);
  // A function address, for the op library (see _extension.py).
  module.attr("stops_for_signal") =
      reinterpret_cast<std::uintptr_t>(&tautstring::numpy::stops_for_signal);
  tautstring::numpy::add_tv1d(module);
  tautstring::numpy::add_tv2d(module);
}
