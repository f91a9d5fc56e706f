// The subcommands as texts describe them: the manual page and the shells' completions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tautstring::cli {

struct OptionText {
  std::vector<std::string> names;  // "--lam", or the name of an argument, which is alone
  std::string value;               // what it takes; empty for a flag
  std::vector<std::string> choices;
  std::string description;
  std::string default_value;
  bool is_argument = false;
  bool is_required = false;
  bool is_list = false;

  [[nodiscard]] bool takes_file() const {
    return choices.empty() && (is_argument || value == "FILE");
  }
};

struct CommandText {
  std::string name;
  std::string description;
  std::vector<OptionText> options;  // --help included
};

/// The command without a subcommand first.
[[nodiscard]] std::vector<CommandText> texts_of(const CLI::App& app);

/// Joins words by a separator.
[[nodiscard]] std::string joined(const std::vector<std::string>& words, const std::string& by);

}  // namespace tautstring::cli
