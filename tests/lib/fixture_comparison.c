#include "tests/lib/fixture_comparison.h"

const struct comparison fixture_slower = {.base = "base",
                                          .other = "new",
                                          .arm = "pipeline, partition, 2 workers",
                                          .metric = "throughput",
                                          .unit = "items/s",
                                          .better = "higher",
                                          .evidence.base = 200,
                                          .evidence.other = 150,
                                          .evidence.ratio = 0.75,
                                          .evidence.low = 0.7,
                                          .evidence.high = 0.8,
                                          .evidence.outcome = OUTCOME_SLOWER,
                                          .gating = true,
                                          .reason = "25% slower."};
