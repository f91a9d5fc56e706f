// The tautline command.
#include "app.h"

int main(int argc, char** argv) {
  return static_cast<int>(tautline::cli::run(argc, argv));
}
