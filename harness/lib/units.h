/* Numbers with units, in and out: sizes (K/M/G binary), durations (ns to h), SI formatting. */
#ifndef CONTEND_LIB_UNITS_H
#define CONTEND_LIB_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

/* "4K", "1M", "2GiB", "512" -> bytes. -EINVAL quotes the text; overflow is an error, not a wrap. */
int units_parse_size(const char *text, uint64_t *size_bytes, struct err *err);

/* "1.5", "1.5s", "200ms", "50us", "10ns", "2m" or "2min", "1h30m" -> seconds, finite and >= 0. */
int units_parse_duration(const char *text, double *seconds, struct err *err);

/* 0.00213 -> "2.13 ms": three significant digits; NaN -> "-". */
const char *units_seconds(double seconds);

/* 1234567 -> "1.23 M": three significant digits, decimal prefix; NaN -> "-". */
const char *units_si(double value);

/* As %.*g, but never with an exponent: 12345 -> "12345", 0.00002 -> "0.00002". */
const char *units_plain(double value, int digits);

/* 8388608 -> "8 MiB" when whole, else "8.1 MiB". */
const char *units_bytes(uint64_t size_bytes);

#endif
