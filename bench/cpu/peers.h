// Solvers of other libraries, called through the C functions of their installed modules, or through
// Python if these have none. No code of theirs is built in: what bench/peers/install has installed
// is loaded at run time.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// A batch in the form that peers take. If `edge_lam` (n - 1 per row) is given, it replaces `lam`.
struct PeerBatch {
  double* x = nullptr;
  double* y = nullptr;
  int rows = 0;
  int n = 0;
  double lam = 0;
  double* edge_lam = nullptr;
};

struct PeerSolver {
  std::string name;
  bool takes_edge_lam = false;
  std::function<void(const PeerBatch&)> solve;
};

/// A contiguous image in the form that peers take; one lam for all edges.
struct PeerImage {
  double* x = nullptr;
  double* y = nullptr;
  int height = 0;
  int width = 0;
  double lam = 0;
  int threads = 1;
};

/// Minimises 1/2 |y - x|^2 + lam (sum of |differences| along rows and columns), as we do, with its
/// default number of iterations.
struct PeerImageSolver {
  std::string name;
  bool takes_threads = false;
  /// Whether pixels along the border are tied to values that are not part of the problem.
  bool holds_border = false;
  /// Returns whether it worked.
  std::function<bool(const PeerImage&)> solve;
};

struct Peers {
  std::vector<PeerSolver> solvers;
  std::vector<PeerImageSolver> image_solvers;
  std::string summary;  // names and versions, and what could not be loaded
};

/// Loads what `folder`/peers.tsv lists. A missing folder, or a module that cannot be loaded, is not
/// an error: the summary says so.
[[nodiscard]] Peers load_peers(const std::string& folder);

/// A solver that does nothing, called in the same way as the others.
[[nodiscard]] PeerSolver empty_call();

}  // namespace bench
