/* Tells the CPU that this loop polls: leaves the core to the SMT sibling and saves power. */
#ifndef CONTEND_KERNELS_CPU_RELAX_H
#define CONTEND_KERNELS_CPU_RELAX_H

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    /* yield does nothing on most CPUs; isb drains the pipeline, which is close to x86's pause. */
    __asm__ volatile("isb" ::: "memory");
#endif
}

#endif
