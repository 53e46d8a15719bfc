/*
 * What the caller says that this server has, `contend validate --expect gpus=8,cpus=128`: no rule
 * can know what never was on the bus. Pure.
 */
#ifndef CONTEND_VALIDATE_RULES_EXPECT_H
#define CONTEND_VALIDATE_RULES_EXPECT_H

#include "harness/validate/rules/rules.h"

/*
 * "gpus=8,memory=2T" into the request; NULL = nothing is expected. -EINVAL names the part: no such
 * name, no count of 0 to 1,000,000 (of memory no size), or twice the same.
 */
int expect_parse(const char *text, struct rules_request *request, struct err *err);

/* What is expected of GPUs, which may be none; NULL = nothing. */
const struct rule_expected *expect_of_gpus(const struct rules_request *request);

#endif
