// Reading and writing .npy.
#include "npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "errors.h"
#include "support/arrays.h"

namespace tautstring::cli::test {
namespace {

using Shape = std::vector<std::int64_t>;
using Values = std::vector<double>;

SampleArray parse(const std::string& file) {
  return parse_npy(bytes_of(file));
}

std::string error_of(const std::string& file) {
  try {
    static_cast<void>(parse(file));
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

std::string format(const SampleArray& array) {
  const std::vector<std::byte> bytes = format_npy(array);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::string kFourFloats = raw_bytes(std::vector<float>{1, 2, 3, 4});

TEST(ParseNpy, reads_float32) {
  const SampleArray array = parse(npy_file(npy_header("<f4", "(2, 2)"), kFourFloats));
  EXPECT_EQ(array.dtype, DType::float32);
  EXPECT_EQ(array.shape, (Shape{2, 2}));
  EXPECT_EQ(values_of(array), (Values{1, 2, 3, 4}));
}

TEST(ParseNpy, reads_float16_with_subnormal_infinity_and_nan) {
  const std::vector<std::uint16_t> halves = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x7E00, 0x3555};
  const Values values = values_of(parse(npy_file(npy_header("<f2", "(6,)"), raw_bytes(halves))));
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -2);
  EXPECT_EQ(values[2], std::ldexp(1, -24));
  EXPECT_EQ(values[3], HUGE_VAL);
  EXPECT_TRUE(std::isnan(values[4]));
  EXPECT_EQ(values[5], 0.333251953125);
}

TEST(ParseNpy, reads_big_endian) {
  const std::string data = swapped_bytes(std::vector<double>{1.5, -2});
  EXPECT_EQ(values_of(parse(npy_file(npy_header(">f8", "(2,)"), data))), (Values{1.5, -2}));
}

TEST(ParseNpy, reads_integers_as_float64) {
  const std::string data = raw_bytes(std::vector<std::int16_t>{-5, 300});
  const SampleArray array = parse(npy_file(npy_header("<i2", "(2,)"), data));
  EXPECT_EQ(array.dtype, DType::float64);
  EXPECT_EQ(values_of(array), (Values{-5, 300}));
}

TEST(ParseNpy, reads_unsigned_big_endian_integers) {
  const std::string data = swapped_bytes(std::vector<std::uint32_t>{4000000000U});
  EXPECT_EQ(values_of(parse(npy_file(npy_header(">u4", "(1,)"), data))), (Values{4e9}));
}

TEST(ParseNpy, reads_booleans) {
  const SampleArray array = parse(npy_file(npy_header("|b1", "(3,)"), std::string("\1\0\1", 3)));
  EXPECT_EQ(values_of(array), (Values{1, 0, 1}));
}

TEST(ParseNpy, reads_versions_two_and_three) {
  for (const int version : {2, 3}) {
    const SampleArray array = parse(npy_file(npy_header("<f4", "(4,)"), kFourFloats, version));
    EXPECT_EQ(values_of(array), (Values{1, 2, 3, 4})) << version;
  }
}

TEST(ParseNpy, reads_keys_in_any_order) {
  const std::string header = "{'shape': (4,), 'fortran_order': False, 'descr': '<f4'}";
  EXPECT_EQ(values_of(parse(npy_file(header, kFourFloats))), (Values{1, 2, 3, 4}));
}

TEST(ParseNpy, gives_strides_of_fortran_order) {
  const SampleArray array = parse(npy_file(npy_header("<f4", "(2, 2)", true), kFourFloats));
  EXPECT_EQ(array.strides(), (Shape{1, 2}));
  EXPECT_EQ(index_of(array, 1), (Shape{1, 0}));
}

TEST(ParseNpy, reads_an_array_without_dimensions) {
  const std::string data = raw_bytes(std::vector<float>{7});
  const SampleArray array = parse(npy_file(npy_header("<f4", "()"), data));
  EXPECT_TRUE(array.shape.empty());
  EXPECT_EQ(values_of(array), (Values{7}));
}

TEST(ParseNpy, reads_an_empty_array) {
  EXPECT_EQ(parse(npy_file(npy_header("<f4", "(0, 3)"), "")).count(), 0);
}

TEST(ParseNpy, refuses_what_is_not_npy) {
  EXPECT_EQ(error_of("1,2,3"), "it is not an npy file");
}

TEST(ParseNpy, refuses_every_file_cut_short) {
  const std::string file = npy_file(npy_header("<f4", "(4,)"), kFourFloats);
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(error_of(file.substr(0, size)), "no error") << size;
  }
}

TEST(ParseNpy, refuses_data_that_is_too_long) {
  EXPECT_EQ(error_of(npy_file(npy_header("<f4", "(3,)"), kFourFloats)),
            "the npy file is too long: 16 bytes of data, 12 expected for shape (3,)");
}

TEST(ParseNpy, refuses_a_header_longer_than_the_file) {
  std::string file = npy_file(npy_header("<f4", "(4,)"), "", 2);
  file[8] = file[9] = file[10] = file[11] = '\xFF';
  EXPECT_EQ(error_of(file), "the npy file ends within its header");
}

TEST(ParseNpy, refuses_a_shape_that_overflows) {
  for (const char* const shape : {"(4611686018427387904, 4611686018427387904)",
                                  "(0, 9223372036854775807, 3)", "(3037000500, 3037000500)"}) {
    EXPECT_EQ(error_of(npy_file(npy_header("<f8", shape), "")),
              "the shape in the npy header is too large");
  }
}

TEST(ParseNpy, refuses_negative_and_unreadable_sizes) {
  for (const char* const shape : {"(-1,)", "(x,)", "(99999999999999999999,)", "(1 2)", "(,)"}) {
    EXPECT_NE(error_of(npy_file(npy_header("<f4", shape), kFourFloats)), "no error") << shape;
  }
}

TEST(ParseNpy, refuses_more_dimensions_than_a_view_has) {
  std::string shape = "(1";
  for (int d = 0; d < kMaxDims; ++d) shape += ", 1";
  EXPECT_EQ(error_of(npy_file(npy_header("<f4", shape + ")"), "1234")),
            "33 dimensions are not supported (at most 32 are)");
}

TEST(ParseNpy, refuses_element_types_it_does_not_know) {
  for (const char* const descr : {"<c8", "|O", "<U4", "f4", "<f16", "|f4", "=f4", ""}) {
    EXPECT_NE(error_of(npy_file(npy_header(descr, "(4,)"), kFourFloats)), "no error") << descr;
  }
}

TEST(ParseNpy, refuses_structured_arrays) {
  EXPECT_EQ(error_of(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
                              "1234")),
            "structured npy arrays are not supported");
}

TEST(ParseNpy, refuses_missing_doubled_and_unknown_keys) {
  for (const char* const header :
       {"{'descr': '<f4', 'shape': (4,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'x': 1}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}", "{", "",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x"}) {
    EXPECT_NE(error_of(npy_file(header, kFourFloats)), "no error") << header;
  }
}

TEST(ParseNpy, refuses_unknown_versions) {
  EXPECT_EQ(error_of(npy_file(npy_header("<f4", "(4,)"), kFourFloats, 4)),
            "npy format version 4 is not supported (1 to 3 are)");
}

TEST(FormatNpy, gives_back_type_byte_order_and_element_order) {
  const std::string data = swapped_bytes(std::vector<float>{1, 2, 3, 4, 5, 6});
  const SampleArray array = parse(npy_file(npy_header(">f4", "(3, 2)", true), data));
  const std::string written = format(array);
  EXPECT_NE(written.find("{'descr': '>f4', 'fortran_order': True, 'shape': (3, 2), }"),
            std::string::npos);
  EXPECT_EQ(written.substr(written.size() - data.size()), data);
}

TEST(FormatNpy, aligns_the_data_to_64_bytes) {
  const SampleArray array = parse(npy_file(npy_header("<f4", "(4,)"), kFourFloats));
  EXPECT_EQ((format(array).size() - kFourFloats.size()) % 64, 0U);
}

TEST(FormatNpy, is_read_back_as_it_was) {
  const SampleArray array = parse(npy_file(npy_header("<f4", "(2, 2)"), kFourFloats));
  const SampleArray again = parse(format(array));
  EXPECT_EQ(again.shape, array.shape);
  EXPECT_EQ(again.data, array.data);
}

}  // namespace
}  // namespace tautstring::cli::test
