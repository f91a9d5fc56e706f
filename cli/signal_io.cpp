// From files to samples and weights, and back.
#include "signal_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "errors.h"
#include "input.h"
#include "npy.h"
#include "text.h"

namespace tautstring::cli {
namespace {

constexpr std::array<std::string_view, 1> kNpyExtensions = {".npy"};
constexpr std::array<std::string_view, 3> kCsvExtensions = {".csv", ".txt", ".tsv"};
constexpr std::array<FileFormat, 2> kFormats = {{{"npy", kNpyExtensions}, {"csv", kCsvExtensions}}};
constexpr const FileFormat& kNpy = kFormats[0];
constexpr const FileFormat& kCsv = kFormats[1];

Failure unreadable(const std::string& path, const std::string& why) {
  return {ExitCode::input, fmt::format("cannot read {}: {}", input_name(path), why)};
}

/// The place of a sample, as its file counts it.
std::string place_of(const Signal& signal, std::int64_t offset) {
  return "index " + tuple_text(index_of(signal.samples, offset));
}

Signal decode(std::span<const std::byte> bytes, const std::string& path) {
  Signal signal;
  if (has_npy_magic(bytes) || format_of_path(kFormats, path) == &kNpy) {
    signal.samples = parse_npy(bytes);
  } else {
    CsvTable table = parse_csv(as_text(bytes));
    signal.samples = std::move(table.samples);
    signal.csv = std::move(table.style);
  }
  return signal;
}

void count_missing(Signal& signal) {
  const std::int64_t count = signal.samples.count();
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = signal.samples.at(i);
    if (std::isinf(value)) {
      throw FormatError(fmt::format("the sample at {} is infinite", place_of(signal, i)));
    }
    if (std::isnan(value)) ++signal.missing_count;
  }
}

CsvStyle style_for(const Signal& signal, const std::string& output_path) {
  CsvStyle style = signal.csv.value_or(CsvStyle{});
  if (lower_case(output_path).ends_with(".tsv")) style.delimiter = '\t';
  return style;
}

/// The weights of a file and how they broadcast to the samples.
class SpreadWeights {
 public:
  SpreadWeights(const SampleArray& samples, int dim, const std::string& path)
      : path_(path), weights_(load_signal(path)), steps_(samples.shape.size(), 0) {
    std::vector<std::int64_t>& shape = weights_.samples.shape;
    if (weights_.csv && shape[1] == 1) shape.pop_back();  // a table of one column is a list
    const std::vector<std::int64_t> strides = weights_.samples.strides();
    const std::size_t ndim = samples.shape.size();
    const bool is_list = shape.size() == 1;
    // A list runs along the signal; other shapes are aligned with the samples' last dimensions.
    const std::size_t first =
        is_list ? static_cast<std::size_t>(dim) : ndim - std::min(ndim, shape.size());
    bool fits = shape.size() <= ndim;
    for (std::size_t d = 0; fits && d < shape.size(); ++d) {
      if (shape[d] != 1) steps_[first + d] = strides[d];
      fits = shape[d] == 1 || shape[d] == samples.shape[first + d];
    }
    if (!fits) {
      throw Failure(
          ExitCode::input,
          fmt::format(
              "the weights in {} have shape {}, which does not broadcast to the samples' {}",
              input_name(path), tuple_text(shape), tuple_text(samples.shape)));
    }
  }

  [[nodiscard]] double at(const std::vector<std::int64_t>& index) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * steps_[d];
    const double weight = weights_.samples.at(offset);
    if (weight >= 0) return weight;
    throw Failure(ExitCode::input,
                  fmt::format("the weights in {} must be >= 0, got {} at {}", input_name(path_),
                              weight, place_of(weights_, offset)));
  }

 private:
  const std::string& path_;
  Signal weights_;
  std::vector<std::int64_t> steps_;  // along each dimension of the samples
};

}  // namespace

FormatTable signal_formats() {
  return kFormats;
}

const FileFormat& Signal::format() const {
  return csv ? kCsv : kNpy;
}

Signal load_signal(const std::string& path) {
  return decode_signal(read_input(path), path);
}

Signal decode_signal(std::span<const std::byte> bytes, const std::string& path) {
  try {
    Signal signal = decode(bytes, path);
    count_missing(signal);
    return signal;
  } catch (const FormatError& error) {
    throw unreadable(path, error.what());
  }
}

std::vector<std::byte> encode_signal(const Signal& signal, const FileFormat& format,
                                     const std::string& output_path) {
  if (&format == &kNpy) return format_npy(signal.samples);
  try {
    const std::string text = format_csv(signal.samples, style_for(signal, output_path));
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  } catch (const FormatError& error) {
    throw Failure(ExitCode::output, fmt::format("cannot write csv: {}", error.what()));
  }
}

std::vector<double> sample_weights(const Signal& signal, int dim, const std::string& weights_path) {
  std::optional<SpreadWeights> spread;
  if (!weights_path.empty()) spread.emplace(signal.samples, dim, weights_path);
  std::vector<double> weights(static_cast<std::size_t>(signal.samples.count()), 1.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto offset = static_cast<std::int64_t>(i);
    if (spread) weights[i] = spread->at(index_of(signal.samples, offset));
    if (std::isnan(signal.samples.at(offset))) weights[i] = 0;
  }
  return weights;
}

}  // namespace tautstring::cli
