#include "tests/lib/fixture_comparison.h"

const struct comparison fixture_slower = {.base = "base",
                                          .other = "new",
                                          .arm = "pipeline, partition, 2 workers",
                                          .metric = "throughput",
                                          .unit = "items/s",
                                          .better = "higher",
                                          .base_median = 200,
                                          .other_median = 150,
                                          .ratio = 0.75,
                                          .low = 0.7,
                                          .high = 0.8,
                                          .outcome = OUTCOME_SLOWER,
                                          .gating = true,
                                          .reason = "25% slower."};
