/* Tells the processor that it polls: the sibling of its core gets on, and less power is used. */
#ifndef CONTEND_KERNELS_CPU_RELAX_H
#define CONTEND_KERNELS_CPU_RELAX_H

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    /* yield does nothing on most; what waits for the pipeline to run empty comes close to pause. */
    __asm__ volatile("isb" ::: "memory");
#endif
}

#endif
