// The common part of the reports of smooth, sharpen and compare: the parameters, and how close a
// whole image is to its solution.
#pragma once

#include <optional>
#include <string>

#include "image_tv.h"
#include "report.h"

namespace tautstring::cli {

/// Adds the parameters.
void add_task(Json& json, const ImageTask& task);

/// Adds how close the result is to the solution, if that was measured.
void add_convergence(Json& json, const std::optional<Convergence>& convergence);

/// The same as a short text.
[[nodiscard]] std::string words_of(const Convergence& convergence);

/// Adds a note if the requested tolerance was not reached.
void note_early_stop(const ImageTask& task, const std::optional<Convergence>& convergence,
                     Notes& notes);

}  // namespace tautstring::cli
