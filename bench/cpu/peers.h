// Other libraries' solvers, called through the C functions of their installed modules, or through
// Python where these have none. Nothing of theirs is built in: what bench/peers/install has
// installed is loaded at run time.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// A batch as the peers see it. `edge_lam` (n - 1 a row) goes before `lam` where it is given.
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

/// An image without gaps, as the peers see it; one lam for all edges.
struct PeerImage {
  double* x = nullptr;
  double* y = nullptr;
  int height = 0;
  int width = 0;
  double lam = 0;
  int threads = 1;
};

/// Minimises 1/2 |y - x|^2 + lam (sum of |differences| along rows and columns), as we do, by as
/// many iterations as it makes where its caller does not say.
struct PeerImageSolver {
  std::string name;
  bool takes_threads = false;
  /// The pixels along its border are held to values that are not the problem's.
  bool holds_border = false;
  /// Returns whether it worked.
  std::function<bool(const PeerImage&)> solve;
};

struct Peers {
  std::vector<PeerSolver> solvers;
  std::vector<PeerImageSolver> image_solvers;
  std::string summary;  // names and versions, and what could not be loaded
};

/// Loads what `folder`/peers.tsv lists. No folder, or a module that cannot be loaded, is no error:
/// the summary says so.
[[nodiscard]] Peers load_peers(const std::string& folder);

/// A solver that does nothing, called the way all the others are.
[[nodiscard]] PeerSolver empty_call();

}  // namespace bench
