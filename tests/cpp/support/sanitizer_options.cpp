// One test asks for more memory than there is: sanitizers must allow that.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_options();  // NOLINT(bugprone-reserved-identifier)

const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
