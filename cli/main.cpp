// The tautstring command.
#include "app.h"

int main(int argc, char** argv) {
  return static_cast<int>(tautstring::cli::run(argc, argv));
}
