#include "peers.h"

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <utility>

#include "embedded_python.h"

namespace bench {
namespace {

/// Solves a batch row by row, since no peer has a faster batched function; `call` solves a row.
template <class Call>
PeerSolver uniform(std::string name, Call call) {
  const auto solve = [call](const PeerBatch& batch) {
    for (int r = 0; r < batch.rows; ++r) {
      const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(r) * batch.n;
      call(batch.x + start, batch.y + start, batch.n, batch.lam);
    }
  };
  return {.name = std::move(name), .takes_edge_lam = false, .solve = solve};
}

template <class Call>
PeerSolver weighted(std::string name, Call call) {
  const auto solve = [call](const PeerBatch& batch) {
    for (int r = 0; r < batch.rows; ++r) {
      const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(r) * batch.n;
      call(batch.x + start, batch.y + start, batch.n, batch.edge_lam + (start - r));
    }
  };
  return {.name = std::move(name), .takes_edge_lam = true, .solve = solve};
}

/// A module that stays loaded as long as the process runs.
class Module {
 public:
  Module(const std::string& path, int mode)
      : handle_(path.empty() ? nullptr : dlopen(path.c_str(), mode)) {}
  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }

  /// If the module has the function, adds the solver that `make` makes from it.
  template <class Function, class Solver, class Make>
  void add(std::vector<Solver>& solvers, const char* function, Make make) const {
    auto* const found = reinterpret_cast<Function*>(dlsym(handle_, function));
    if (found != nullptr) solvers.push_back(make(found));
  }

 private:
  void* handle_;
};

constexpr double kDefaultDescent = 0.05;  // `sigma` of projected Newton in prox_tv's own interface

// The declarations follow the peers' documented interfaces. Each function minimises
// 1/2 |y - x|^2 + lam TV(y), as we do; the trials check that.

void add_prox_tv(const Module& module, Peers& peers) {
  std::vector<PeerSolver>& solvers = peers.solvers;
  module.add<void(double*, int, double, double*)>(solvers, "hybridTautString_TV1", [](auto* f) {
    return uniform("prox_tv:hybrid_taut_string",
                   [f](double* x, double* y, int n, double lam) { f(x, n, lam, y); });
  });
  module.add<int(double*, int, double, double*)>(solvers, "classicTautString_TV1", [](auto* f) {
    return uniform("prox_tv:classic_taut_string",
                   [f](double* x, double* y, int n, double lam) { f(x, n, lam, y); });
  });
  module.add<int(double*, double, double*, int)>(solvers, "linearizedTautString_TV1", [](auto* f) {
    return uniform("prox_tv:linearized_taut_string",
                   [f](double* x, double* y, int n, double lam) { f(x, lam, y, n); });
  });
  module.add<void(double*, double*, int, double)>(solvers, "TV1D_denoise", [](auto* f) {
    return uniform("prox_tv:condat",
                   [f](double* x, double* y, int n, double lam) { f(x, y, n, lam); });
  });
  module.add<void(double*, double*, int, double)>(solvers, "TV1D_denoise_tautstring", [](auto* f) {
    return uniform("prox_tv:condat_taut_string",
                   [f](double* x, double* y, int n, double lam) { f(x, y, n, lam); });
  });
  module.add<void(int, double*, double, double*)>(solvers, "dp", [](auto* f) {
    return uniform("prox_tv:johnson",
                   [f](double* x, double* y, int n, double lam) { f(n, x, lam, y); });
  });
  module.add<void(int, double*, double, double*)>(
      solvers, "SolveTVConvexQuadratic_a1_nw", [](auto* f) {
        return uniform("prox_tv:kolmogorov",
                       [f](double* x, double* y, int n, double lam) { f(n, x, lam, y); });
      });
  module.add<int(double*, double, double*, double*, int, double, void*)>(
      solvers, "PN_TV1", [](auto* f) {
        return uniform("prox_tv:projected_newton", [f](double* x, double* y, int n, double lam) {
          double info[8] = {};  // iterations, gap, code
          f(x, lam, y, info, n, kDefaultDescent, nullptr);
        });
      });

  module.add<int(double*, double*, double*, int)>(solvers, "tautString_TV1_Weighted", [](auto* f) {
    return weighted("prox_tv:weighted_taut_string",
                    [f](double* x, double* y, int n, double* lam) { f(x, lam, y, n); });
  });
  module.add<void(int, double*, double*, double*)>(
      solvers, "SolveTVConvexQuadratic_a1", [](auto* f) {
        return weighted("prox_tv:weighted_kolmogorov",
                        [f](double* x, double* y, int n, double* lam) { f(n, x, lam, y); });
      });
  module.add<int(double*, double*, double*, double*, int, double, void*)>(
      solvers, "PN_TV1_Weighted", [](auto* f) {
        return weighted("prox_tv:weighted_projected_newton",
                        [f](double* x, double* y, int n, double* lam) {
                          double info[8] = {};
                          f(x, lam, y, info, n, kDefaultDescent, nullptr);
                        });
      });

  using Image = int(std::size_t, std::size_t, double*, double, double, double, double, double*, int,
                    int, double*);
  module.add<Image>(peers.image_solvers, "DR2_TV", [](auto* f) {
    const auto solve = [f](const PeerImage& image) {
      constexpr double kAbsolute = 1;      // the norm of the differences, along both directions
      constexpr int kUsualIterations = 0;  // 35
      double info[8] = {};
      // It reads column by column; with one lam for all, the transposed image is equivalent.
      f(static_cast<std::size_t>(image.width), static_cast<std::size_t>(image.height), image.x,
        image.lam, image.lam, kAbsolute, kAbsolute, image.y, image.threads, kUsualIterations, info);
      return true;
    };
    return PeerImageSolver{
        .name = "prox_tv:douglas_rachford", .takes_threads = true, .solve = solve};
  });
}

void add_condat_tv(const Module& module, Peers& peers) {
  module.add<void(double*, double*, unsigned, double)>(
      peers.solvers, "TV1D_denoise_v2", [](auto* f) {
        return uniform("condat_tv:v2", [f](double* x, double* y, int n, double lam) {
          f(x, y, static_cast<unsigned>(n), lam);
        });
      });
}

/// Minimises the sum of |differences| + weight / 2 |y - x|^2, although its documentation defines
/// `weight` differently: so weight is 1 / lam. Beyond the border it uses fixed copies of the
/// samples.
constexpr const char* kSplitBregman = R"(
import ctypes
import numpy
from skimage.restoration import denoise_tv_bregman

def image_at(address, height, width):
    memory = (ctypes.c_double * (height * width)).from_address(address)
    return numpy.frombuffer(memory).reshape(height, width)

def split_bregman(x, y, height, width, lam):
    image_at(y, height, width)[...] = denoise_tv_bregman(
        image_at(x, height, width), weight=1 / lam, isotropic=False)
)";

void add_scikit_image(const EmbeddedPython& python, Peers& peers) {
  const auto solve = [python](const PeerImage& image) {
    std::ostringstream call;
    call << std::setprecision(17) << "split_bregman(" << reinterpret_cast<std::uintptr_t>(image.x)
         << ", " << reinterpret_cast<std::uintptr_t>(image.y) << ", " << image.height << ", "
         << image.width << ", " << image.lam << ")";
    return python.run(kSplitBregman, call.str());
  };
  peers.image_solvers.push_back(
      {.name = "scikit_image:split_bregman", .holds_border = true, .solve = solve});
}

struct Installed {
  std::string version;
  std::string path;
};

std::map<std::string, Installed> read_list(const std::string& file) {
  std::map<std::string, Installed> list;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    Installed installed;
    std::getline(fields, name, '\t');
    std::getline(fields, installed.version, '\t');
    std::getline(fields, installed.path, '\t');
    list[name] = installed;
  }
  return list;
}

}  // namespace

Peers load_peers(const std::string& folder) {
  Peers peers;
  auto list = read_list(folder + "/peers.tsv");
  const auto report = [&](const std::string& name, bool loaded) {
    const Installed& installed = list[name];
    const std::string state = loaded                   ? installed.version
                              : installed.path.empty() ? "not installed"
                                                       : "could not be loaded";
    peers.summary.append(peers.summary.empty() ? "" : ", ").append(name).append(" ").append(state);
  };
  // The modules need Python's symbols, but never call any of them.
  const Module python(list["python"].path, RTLD_LAZY | RTLD_GLOBAL);
  const std::pair<const char*, void (*)(const Module&, Peers&)> known[] = {
      {"prox_tv", add_prox_tv}, {"condat_tv", add_condat_tv}};
  for (const auto& [name, add] : known) {
    const Module module(list[name].path, RTLD_LAZY | RTLD_LOCAL);
    if (module.loaded()) add(module, peers);
    report(name, module.loaded());
  }
  const std::filesystem::path package = list["scikit_image"].path;  // .../skimage/__init__.py
  const EmbeddedPython interpreter(list["python"].path, package.parent_path().parent_path());
  const bool has_package = interpreter.available() && !package.empty();
  if (has_package) add_scikit_image(interpreter, peers);
  report("scikit_image", has_package);
  return peers;
}

PeerSolver empty_call() {
  void (*nothing)(double*, double*, int, double) = [](double*, double*, int, double) {};
  benchmark::DoNotOptimize(nothing);  // hidden from the compiler, like a function found by name
  return uniform("empty_call",
                 [nothing](double* x, double* y, int n, double lam) { nothing(x, y, n, lam); });
}

}  // namespace bench
