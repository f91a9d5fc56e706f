// What smooth, sharpen and compare tell alike: what was asked for, and how near a
// whole image came to its solution.
#pragma once

#include <optional>
#include <string>

#include "image_tv.h"
#include "report.h"

namespace tautstring::cli {

/// Adds what was asked for.
void add_task(Json& json, const ImageTask& task);

/// Adds how near the solution is, where there is something to tell.
void add_convergence(Json& json, const std::optional<Convergence>& convergence);

/// The same in a few words.
[[nodiscard]] std::string words_of(const Convergence& convergence);

/// Adds a note where the tolerance that was asked for was not reached.
void note_early_stop(const ImageTask& task, const std::optional<Convergence>& convergence,
                     Notes& notes);

}  // namespace tautstring::cli
