// The subcommands. Each function adds one to the application; if the command line names it,
// `chosen` is set to its action.
#pragma once

#include "options.h"

namespace tautstring::cli {

void add_smooth_and_sharpen(CLI::App& app, Action& chosen);
void add_signal(CLI::App& app, Action& chosen);
void add_compare(CLI::App& app, Action& chosen);
void add_info(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);
void add_manual(CLI::App& app, Action& chosen);

}  // namespace tautstring::cli
