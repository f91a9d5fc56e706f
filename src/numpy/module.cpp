// The extension module tautline._numpy, private to tautline.numpy: raw calls of
// the core on NumPy arrays. The Python side reads arguments, allocates results
// and documents; the core checks sizes and values and computes.
#include <nanobind/nanobind.h>

#include "tautline/tautline.h"
#include "tv1d.h"
#include "tv2d.h"

NB_MODULE(_numpy, module) {
  const tautline::Capabilities capabilities = tautline::capabilities();
  module.attr("version") = capabilities.version;
  module.attr("compiler") = capabilities.compiler;
  module.attr("cpu_target") = capabilities.cpu_target;
  nanobind::list targets;
  for (const char* target : tautline::cpu_targets()) targets.append(target);
  module.attr("cpu_targets") = nanobind::tuple(targets);
  module.def("hardware_threads", [] { return tautline::ThreadExecutor().concurrency(); });
  tautline::numpy::add_tv1d(module);
  tautline::numpy::add_tv2d(module);
}
