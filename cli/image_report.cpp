// The fields and texts of the reports.
#include "image_report.h"

#include <fmt/format.h>

#include "options.h"

namespace tautstring::cli {

void add_task(Json& json, const ImageTask& task) {
  json["lam"] = json_number(task.lam);
  json["direction"] = name_of(task.direction);
  if (task.direction != Direction::image) return;
  json["solver"] = {{"method", name_of(task.solver.method)},
                    {"iterations", task.solver.iterations},
                    {"tol", task.solver.tol}};
}

void add_convergence(Json& json, const std::optional<Convergence>& convergence) {
  if (!convergence) return;
  json["convergence"] = {{"iterations", convergence->iterations},
                         {"gap", json_number(convergence->gap)},
                         {"rms_bound", json_number(convergence->rms_bound)},
                         {"converged", convergence->converged}};
}

std::string words_of(const Convergence& convergence) {
  return fmt::format("{} iterations to a gap of {:.2g}", convergence.iterations, convergence.gap);
}

void note_early_stop(const ImageTask& task, const std::optional<Convergence>& convergence,
                     Notes& notes) {
  if (!convergence || convergence->converged || task.solver.tol == 0) return;
  notes.push_back(fmt::format("stopped after {}, above --tol {}; allow more --iterations",
                              words_of(*convergence), task.solver.tol));
}

}  // namespace tautstring::cli
