/*
 * Tells code that waits by its instructions, around the address of a sample.
 *
 * One for spin loops: `pause` (Intel's manual, volume 2), on aarch64 `yield` or `isb` (as in Linux'
 * cpu_relax and Rust's spin_loop). Four `nop` in a row: OpenBLAS on ARM, and in numpy's wheels. A
 * call of sched_yield, as OpenBLAS, TBB and crowded teams of libomp wait, or of futex, by which
 * threads sleep and wake each other. The aarch64 part was never tried.
 */
#ifndef CONTEND_DOCTOR_READER_SAMPLES_H
#define CONTEND_DOCTOR_READER_SAMPLES_H

#include <stdint.h>

enum waits { WAITS_NOT, WAITS_PAUSE, WAITS_CALL };

enum { WAIT_CODE_BYTES = 64 }; /* the sample is in the middle */

enum waits wait_code_find(const uint8_t code[static WAIT_CODE_BYTES]);

#endif
