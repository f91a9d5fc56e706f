// Other libraries' exact 1D solvers, called through the C functions of their installed modules.
// Nothing of theirs is built in: what bench/peers/install has installed is loaded at run time.
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

struct Peers {
  std::vector<PeerSolver> solvers;
  std::string summary;  // names and versions, and what could not be loaded
};

/// Loads what `folder`/peers.tsv lists. No folder, or a module that cannot be loaded, is no error:
/// the summary says so.
[[nodiscard]] Peers load_peers(const std::string& folder);

/// A solver that does nothing, called the way all the others are.
[[nodiscard]] PeerSolver empty_call();

}  // namespace bench
