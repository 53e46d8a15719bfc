/* A 32-bit word in shared memory on which processes sleep. Linux futex(2), not private. */
#ifndef CONTEND_LIB_SYS_FUTEX_H
#define CONTEND_LIB_SYS_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps until *word != value. */
void futex_wait_while(_Atomic uint32_t *word, uint32_t value);

/* Stores the value and wakes every sleeper. */
void futex_set(_Atomic uint32_t *word, uint32_t value);

#endif
