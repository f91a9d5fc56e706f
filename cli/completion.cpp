// tautstring completion: scripts with which shells complete subcommands, options and their values.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "commands_text.h"
#include "output.h"
#include "text.h"

namespace tautstring::cli {
namespace {

std::vector<std::string> names_of_commands(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  for (const CommandText& command : commands) {
    if (command.name != "tautstring") names.push_back(command.name);
  }
  return names;
}

std::vector<std::string> names_of_options(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    if (!option.is_argument) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

/// Text between single quotes, for all three shells.
std::string in_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

/// bash splits `--lam=1` at the equals sign, which then is a word of its own.
constexpr const char* kBashStart = R"(_tautstring() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=tautstring word
  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || { command=$word; break; }
  done
  local values= options= arguments=
  case $command,$previous in
)";

std::string bash_script(const std::vector<CommandText>& commands) {
  std::string script = kBashStart;
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (option.is_argument || option.value.empty() || option.takes_file()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(command.name + "," + name);
      script += fmt::format("    {}) values={} ;;\n", joined(patterns, "|"),
                            in_quotes(option.choices.empty() ? " " : joined(option.choices, " ")));
    }
  }
  script += "  esac\n  case $command in\n";
  for (const CommandText& command : commands) {
    std::vector<std::string> words = names_of_options(command);
    if (command.name == "tautstring") {
      for (const std::string& name : names_of_commands(commands)) words.push_back(name);
    }
    script += fmt::format("    {}) options={}", command.name, in_quotes(joined(words, " ")));
    for (const OptionText& option : command.options) {
      if (!option.is_argument || option.choices.empty()) continue;
      script += " arguments=" + in_quotes(joined(option.choices, " "));
    }
    script += " ;;\n";
  }
  return script + R"(  esac
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current == -* || $command == tautstring ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n $arguments ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$arguments" -- "$current")
  else
    compopt -o default 2> /dev/null  # file names
    COMPREPLY=()
  fi
}
complete -F _tautstring tautstring
)";
}

/// A description within the brackets of zsh's _arguments.
std::string in_brackets(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "[" + escaped + "]";
}

std::string zsh_argument(const OptionText& option) {
  const std::string candidates = option.takes_file()      ? "_files"
                                 : option.choices.empty() ? ""
                                                          : "(" + joined(option.choices, " ") + ")";
  if (option.is_argument) {
    return in_quotes((option.is_required ? ":" : "*:") + option.names[0] + ":" + candidates);
  }
  const std::string value = option.value.empty() ? "" : ":" + option.value + ":" + candidates;
  std::vector<std::string> all;
  for (const std::string& name : option.names) {
    std::string text = name;
    if (!value.empty() && name.rfind("--", 0) == 0) text += "=";
    text += in_brackets(option.description);
    text += value;
    all.push_back(in_quotes(text));
  }
  return joined(all, " ");
}

std::string zsh_script(const std::vector<CommandText>& commands) {
  std::string script = "#compdef tautstring\n_tautstring() {\n  local -a commands=(\n";
  for (const CommandText& command : commands) {
    if (command.name == "tautstring") continue;
    script += "    " + in_quotes(command.name + ":" + command.description) + "\n";
  }
  script +=
      "  )\n  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  if (( CURRENT > 2 )); then\n"
      "    shift words\n    (( CURRENT-- ))\n  fi\n  case $command in\n";
  for (const CommandText& command : commands) {
    std::vector<std::string> arguments;
    for (const OptionText& option : command.options) arguments.push_back(zsh_argument(option));
    script += fmt::format("    {}) _arguments {} ;;\n",
                          command.name == "tautstring" ? "-*" : command.name,
                          joined(arguments, " \\\n      "));
  }
  // The shell runs the file to complete if it lies in $fpath, else the user has sourced it.
  return script +
         "  esac\n}\nif [[ $funcstack[1] == _tautstring ]]; then _tautstring \"$@\"; else compdef "
         "_tautstring tautstring; fi\n";
}

/// `-l lam` for --lam, `-s r` for -r; nothing for an argument.
std::string fish_name(const std::string& name) {
  if (name.rfind("--", 0) == 0) return " -l " + name.substr(2);
  return name.rfind('-', 0) == 0 ? " -s " + name.substr(1) : "";
}

std::string fish_script(const std::vector<CommandText>& commands) {
  std::string script = "complete -c tautstring -n __fish_use_subcommand -f\n";
  for (const CommandText& command : commands) {
    const bool is_whole = command.name == "tautstring";
    const std::string where =
        is_whole ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command.name;
    if (!is_whole) {
      script += fmt::format("complete -c tautstring -n __fish_use_subcommand -a {} -d {}\n",
                            command.name, in_quotes(command.description));
    }
    for (const OptionText& option : command.options) {
      if (option.is_argument && option.choices.empty()) continue;
      script += fmt::format("complete -c tautstring -n {}", in_quotes(where));
      for (const std::string& name : option.names) script += fish_name(name);
      if (option.is_argument) script += " -f";
      if (!option.value.empty()) script += option.takes_file() ? " -r" : " -x";
      if (!option.choices.empty()) script += " -a " + in_quotes(joined(option.choices, " "));
      script += " -d " + in_quotes(option.description) + "\n";
    }
  }
  return script;
}

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* const command = app.add_subcommand(
      "completion", "Print a script with which bash, zsh or fish completes this command");
  command->add_option("SHELL", *shell, "The shell that reads the script")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check([](const std::string& text) {
        const bool is_known = text == "bash" || text == "zsh" || text == "fish";
        return is_known ? "" : "must be one of bash|zsh|fish, got '" + excerpt(text) + "'";
      });
  command->callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      const std::vector<CommandText> commands = texts_of(app);
      write_stdout(*shell == "bash"  ? bash_script(commands)
                   : *shell == "zsh" ? zsh_script(commands)
                                     : fish_script(commands));
      return ExitCode::done;
    };
  });
}

}  // namespace tautstring::cli
