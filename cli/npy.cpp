// Reading and writing .npy. The header of such a file is a Python dictionary:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// Only this form is accepted; nothing is ever evaluated.
#include "npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "errors.h"
#include "text.h"

namespace tautstring::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data in files that NumPy writes
constexpr bool kNativeBigEndian = std::endian::native == std::endian::big;

/// The content of the header.
struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    Header header;
    std::optional<std::string> descr;
    std::optional<bool> order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      const std::string key = parse_string();
      expect(':');
      if (key == "descr") {
        set_once(descr, key, parse_string());
      } else if (key == "fortran_order") {
        set_once(order, key, parse_bool());
      } else if (key == "shape") {
        set_once(shape, key, parse_shape());
      } else {
        throw FormatError(fmt::format("the npy header has an unknown key '{}'", excerpt(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty()) throw FormatError("the npy header continues after its closing brace");
    if (!descr || !order || !shape) {
      throw FormatError("the npy header needs 'descr', 'fortran_order' and 'shape'");
    }
    return {*std::move(descr), *order, *std::move(shape)};
  }

 private:
  template <class T>
  static void set_once(std::optional<T>& value, const std::string& key, T parsed) {
    if (value) throw FormatError(fmt::format("the npy header has '{}' twice", key));
    value = std::move(parsed);
  }

  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
  }

  bool accept(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (accept(c)) return;
    throw FormatError(
        fmt::format("the npy header is damaged: expected '{}' before '{}'", c, excerpt(text_)));
  }

  std::string parse_string() {
    if (accept('[')) throw FormatError("structured npy arrays are not supported");
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) throw FormatError("the npy header is damaged: open string");
    std::string value(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return value;
  }

  bool parse_bool() {
    skip_blanks();
    for (const auto& [word, value] :
         {std::pair{std::string_view("True"), true}, std::pair{std::string_view("False"), false}}) {
      if (text_.substr(0, word.size()) == word) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    throw FormatError("'fortran_order' in the npy header must be True or False");
  }

  std::int64_t parse_size() {
    skip_blanks();
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
    if (error != std::errc{} || size < 0) {
      throw FormatError(
          fmt::format("'shape' in the npy header has a bad size at '{}'", excerpt(text_)));
    }
    text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()));
    return size;
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(parse_size());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
};

/// The two parts of the file.
struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};

Parts split(std::span<const std::byte> bytes) {
  constexpr std::size_t version_at = kMagic.size();
  if (!has_npy_magic(bytes)) throw FormatError("it is not an npy file");
  if (bytes.size() < version_at + 2) throw FormatError("the npy file ends within its header");
  const int version = std::to_integer<int>(bytes[version_at]);
  if (version < 1 || version > 3) {
    throw FormatError(fmt::format("npy format version {} is not supported (1 to 3 are)", version));
  }
  const std::size_t length_size = version == 1 ? 2 : 4;
  const std::size_t header_at = version_at + 2 + length_size;
  if (bytes.size() < header_at) throw FormatError("the npy file ends within its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_size; ++i) {
    length |= std::to_integer<std::size_t>(bytes[version_at + 2 + i]) << (8 * i);
  }
  if (bytes.size() - header_at < length) throw FormatError("the npy file ends within its header");
  return {as_text(bytes.subspan(header_at, length)), bytes.subspan(header_at + length)};
}

/// How one element is stored.
struct ElementType {
  char kind = 'f';  // f, i, u or b
  std::size_t size = 8;
  bool big_endian = false;
};

ElementType parse_element_type(const std::string& descr) {
  static constexpr std::array<std::string_view, 12> known = {"f2", "f4", "f8", "i1", "i2", "i4",
                                                             "i8", "u1", "u2", "u4", "u8", "b1"};
  const std::string_view type =
      std::string_view(descr).substr(std::min<std::size_t>(1, descr.size()));
  const bool is_known = std::find(known.begin(), known.end(), type) != known.end();
  const bool one_byte = is_known && type[1] == '1';
  const char order = descr.empty() ? '?' : descr[0];
  const bool has_order = order == '<' || order == '>' || (one_byte && order == '|');
  if (!is_known || !has_order) {
    throw FormatError(
        fmt::format("npy element type '{}' is not supported (float16, float32, float64, "
                    "integers and booleans are)",
                    excerpt(descr)));
  }
  return {type[0], static_cast<std::size_t>(type[1] - '0'), order == '>'};
}

/// Number of elements; throws unless even the strides of an empty array fit.
std::size_t checked_count(const std::vector<std::int64_t>& shape, std::size_t element_size) {
  if (shape.size() > static_cast<std::size_t>(kMaxDims)) {
    throw FormatError(
        fmt::format("{} dimensions are not supported (at most {} are)", shape.size(), kMaxDims));
  }
  std::uint64_t room = std::numeric_limits<std::int64_t>::max() / element_size;
  bool empty = false;
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    empty = empty || size == 0;
    const std::uint64_t factor = size == 0 ? 1 : static_cast<std::uint64_t>(size);
    if (factor > room) throw FormatError("the shape in the npy header is too large");
    room /= factor;
    count *= factor;
  }
  return empty ? 0 : count;
}

void swap_bytes(std::vector<std::byte>& data, std::size_t element_size) {
  for (auto at = data.begin(); at != data.end(); at += static_cast<std::ptrdiff_t>(element_size)) {
    std::reverse(at, at + static_cast<std::ptrdiff_t>(element_size));
  }
}

template <class Integer>
std::vector<std::byte> to_float64(const std::vector<std::byte>& data) {
  const std::size_t count = data.size() / sizeof(Integer);
  std::vector<std::byte> result(count * sizeof(double));
  for (std::size_t i = 0; i < count; ++i) {
    Integer integer;
    std::memcpy(&integer, &data[i * sizeof(Integer)], sizeof(Integer));
    const auto number = static_cast<double>(integer);
    std::memcpy(&result[i * sizeof(double)], &number, sizeof(double));
  }
  return result;
}

template <class I1, class I2, class I4, class I8>
std::vector<std::byte> integers_to_float64(const std::vector<std::byte>& data, std::size_t size) {
  switch (size) {
    case 1: return to_float64<I1>(data);
    case 2: return to_float64<I2>(data);
    case 4: return to_float64<I4>(data);
    default: return to_float64<I8>(data);
  }
}

void convert_elements(const ElementType& type, SampleArray& array) {
  switch (type.kind) {
    case 'f':
      array.dtype = type.size == 2   ? DType::float16
                    : type.size == 4 ? DType::float32
                                     : DType::float64;
      return;
    case 'i':
      array.data = integers_to_float64<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(
          array.data, type.size);
      return;
    default:  // a boolean is one byte, 0 or 1
      array.data = integers_to_float64<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
          array.data, type.size);
  }
}

void append_text(std::vector<std::byte>& bytes, std::string_view text) {
  const auto source = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), source.begin(), source.end());
}

std::string header_text(const SampleArray& array) {
  std::string header = fmt::format("{{'descr': '{}f{}', 'fortran_order': {}, 'shape': {}, }}",
                                   array.big_endian ? '>' : '<', size_of(array.dtype),
                                   array.fortran_order ? "True" : "False", tuple_text(array.shape));
  const std::size_t before = kMagic.size() + 4;
  const std::size_t total = (before + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(total - before - 1, ' ');
  return header + '\n';
}

}  // namespace

bool has_npy_magic(std::span<const std::byte> bytes) {
  return as_text(bytes).substr(0, kMagic.size()) == kMagic;
}

SampleArray parse_npy(std::span<const std::byte> bytes) {
  const Parts parts = split(bytes);
  Header header = HeaderParser(parts.header).parse();
  const ElementType type = parse_element_type(header.descr);
  const std::size_t expected = checked_count(header.shape, type.size) * type.size;
  if (parts.data.size() != expected) {
    throw FormatError(fmt::format("the npy file is {}: {} bytes of data, {} expected for shape {}",
                                  parts.data.size() < expected ? "truncated" : "too long",
                                  parts.data.size(), expected, tuple_text(header.shape)));
  }
  SampleArray array;
  array.shape = std::move(header.shape);
  array.fortran_order = header.fortran_order;
  array.big_endian = type.big_endian;
  array.data.assign(parts.data.begin(), parts.data.end());
  if (type.big_endian != kNativeBigEndian) swap_bytes(array.data, type.size);
  convert_elements(type, array);
  return array;
}

std::vector<std::byte> format_npy(const SampleArray& array) {
  const std::string header = header_text(array);
  std::vector<std::byte> bytes;
  bytes.reserve(kMagic.size() + 4 + header.size() + array.data.size());
  append_text(bytes, kMagic);
  const std::array<std::byte, 4> version_and_length = {std::byte{1}, std::byte{0},
                                                       static_cast<std::byte>(header.size() & 0xFF),
                                                       static_cast<std::byte>(header.size() >> 8)};
  bytes.insert(bytes.end(), version_and_length.begin(), version_and_length.end());
  append_text(bytes, header);
  std::vector<std::byte> data = array.data;
  if (array.big_endian != kNativeBigEndian) {
    swap_bytes(data, static_cast<std::size_t>(size_of(array.dtype)));
  }
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

}  // namespace tautstring::cli
