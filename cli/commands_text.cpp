#include "commands_text.h"

#include <sstream>

namespace tautstring::cli {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, by);) parts.push_back(part);
  return parts;
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  text.is_argument = option.get_positional();
  if (text.is_argument) {
    text.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  }
  const bool is_flag = option.get_items_expected_max() == 0;
  const std::string type = is_flag ? "" : option.get_type_name();
  if (type.find('|') != std::string::npos) text.choices = split(type, '|');
  if (!text.is_argument) text.value = type;
  text.description = option.get_description();
  text.default_value = option.get_default_str();
  text.is_required = option.get_required();
  text.is_list = option.get_items_expected_max() > 1;
  return text;
}

CommandText text_of(const CLI::App& command) {
  CommandText text = {command.get_name(), command.get_description(), {}};
  for (const CLI::Option* const option : command.get_options()) {
    text.options.push_back(text_of(*option));
  }
  return text;
}

}  // namespace

std::vector<CommandText> texts_of(const CLI::App& app) {
  std::vector<CommandText> texts = {text_of(app)};
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    texts.push_back(text_of(*command));
  }
  return texts;
}

std::string joined(const std::vector<std::string>& words, const std::string& by) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : by) + word;
  return text;
}

}  // namespace tautstring::cli
