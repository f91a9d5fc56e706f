// tautstring manual: the manual page, made from the same descriptions as --help.
#include <fmt/format.h>

#include <string>

#include "commands.h"
#include "commands_text.h"
#include "output.h"
#include "tautstring/version.h"

namespace tautstring::cli {
namespace {

/// Text that roff prints as it is.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";  // a plain one may become a hyphen, which cannot be copied
    } else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += std::string("\\&") + c;  // else a request at the start of a line
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string entry(const OptionText& option) {
  std::string head = "\\fB" + roff(joined(option.names, ", ")) + "\\fR";
  if (!option.value.empty()) head += " \\fI" + roff(option.value) + "\\fR";
  std::string text = roff(option.description);
  if (!option.default_value.empty()) text += " (default: " + roff(option.default_value) + ")";
  if (option.is_required && !option.is_argument) text += " (required)";
  return ".TP\n" + head + "\n" + text + ".\n";
}

std::string synopsis(const CommandText& command) {
  std::string line = ".B tautstring";
  if (command.name != "tautstring") line += " " + roff(command.name);
  std::string arguments;
  for (const OptionText& option : command.options) {
    if (!option.is_argument) continue;
    const std::string name = option.names[0] + (option.is_list ? "..." : "");
    arguments += option.is_required ? " " + name : " [" + name + "]";
  }
  return line + "\n[\\fIoptions\\fR]" + roff(arguments) + "\n";
}

std::string manual_page(const CLI::App& app) {
  const std::vector<CommandText> commands = texts_of(app);
  std::string page = fmt::format(
      ".TH TAUTSTRING 1 \"\" \"tautstring {}\" \"User Commands\"\n.SH NAME\n"
      "tautstring \\- total variation smoothing and sharpening of images and signals\n"
      ".SH SYNOPSIS\n",
      roff(kVersion));
  for (const CommandText& command : commands) {
    if (command.name == "tautstring") continue;
    page += synopsis(command) + ".br\n";
  }
  page += ".SH DESCRIPTION\n" + roff(commands[0].description) + "\n";
  for (const CommandText& command : commands) {
    page += command.name == "tautstring" ? ".SH OPTIONS\n"
                                         : ".SH \"tautstring " + roff(command.name) + "\"\n" +
                                               roff(command.description) + ".\n";
    for (const OptionText& option : command.options) page += entry(option);
  }
  page +=
      ".SH ENVIRONMENT\n.TP\n.B TAUTSTRING_CPU\nThe instruction set to use: one that "
      "\\fBtautstring info\\fR lists.\n";
  page += ".SH \"EXIT STATUS\"\n.nf\n" + roff(kExitCodeHelp) + "\n.fi\n";
  return page;
}

}  // namespace

void add_manual(CLI::App& app, Action& chosen) {
  CLI::App* const command =
      app.add_subcommand("manual", "Print the manual page: tautstring manual | man -l -");
  command->callback([&app, &chosen] {
    chosen = [&app] {
      write_stdout(manual_page(app));
      return ExitCode::done;
    };
  });
}

}  // namespace tautstring::cli
