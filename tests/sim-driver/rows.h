// Tables of driver calls and what they return, one after the other in one process.
#pragma once
#include <cstdio>
#include <functional>

#include "tests/sim-driver/cuda.h"

namespace egpu::sim {

struct Case {
  const char *name;
  int expected;
  std::function<int()> call;
  bool is_undefined = false;  // freed handles and such: a real driver may do anything, so it is not asked
};

/// For each row whose result is another one, `report(row, got)`.
inline void for_each_wrong(const std::vector<Case> &cases,
                           const std::function<void(const Case &, int)> &report) {
  for (const Case &row : cases) {
    if (row.is_undefined && is_real_driver()) continue;
    if (const int got = row.call(); got != row.expected) report(row, got);
  }
}

inline void expect_all(const std::vector<Case> &cases) {
  for_each_wrong(cases, [](const Case &row, int got) { EXPECT_EQ(got, row.expected) << row.name; });
}

/// Does the test in a process of its own: a fault stays for good.
template <class Body>
void in_own_process(Body body) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto end = [&body] {
    body();
    std::fflush(nullptr);
    std::_Exit(testing::Test::HasFailure());
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

/// For a process of its own, whose exit status it is: the number of wrong rows, which stderr names.
inline int wrong_rows(const std::vector<Case> &cases) {
  int count = 0;
  for_each_wrong(cases, [&](const Case &row, int got) {
    std::fprintf(stderr, "%s: %d, not %d\n", row.name, got, row.expected);
    ++count;
  });
  return count;
}

}  // namespace egpu::sim
