/*
 * A job that counts its work, for tests of `contend doctor`; it ends when killed, or after a few
 * minutes.
 *
 *   job KIND count=FILE [threads=N] [on=CPU] [mpi=LIBRARY] [page=FILE] [ranks=N]
 *
 * KIND: compute: independent threads. omp: teams of OpenMP that meet after each piece of work. own:
 * threads that spin at a barrier of the program's own. rank: one of N processes that meet after
 * each piece of work, by a stand-in for MPI (stub_mpi.c) and the shared file `page`. blas: matrix
 * products by OpenBLAS. lock: threads that do most of their work under one lock. sleep: a
 * millisecond of work, nine of sleep. FILE holds the number of finished pieces, a native uint64_t.
 * on: the threads bind themselves to CPU.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t *done;
static int nthreads, on_cpu = -1;
static atomic_int arrived, turn;

static void work(unsigned loops)
{
    for (volatile unsigned i = 0; i < loops; i++)
        ;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static void bind_to(int cpu)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (cpu >= 0)
        CPU_SET((size_t)cpu, &cpus);
    if (cpu >= 0 && sched_setaffinity(0, sizeof(cpus), &cpus))
        _exit(1);
}

static void *compute(void *arg)
{
    bind_to(on_cpu);
    for (;; atomic_fetch_add(done, 1))
        work(100000);
    return arg;
}

static void *meet(void *arg)
{
    for (;;) {
        work(200000 / (unsigned)nthreads);
        int now = atomic_load(&turn);
        if (atomic_fetch_add(&arrived, 1) == nthreads - 1) {
            atomic_fetch_add(done, 1);
            atomic_store(&arrived, 0);
            atomic_fetch_add(&turn, 1);
        } else
            while (atomic_load(&turn) == now)
                relax();
    }
    return arg;
}

static void *lock(void *arg)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    for (;; atomic_fetch_add(done, 1)) {
        (void)pthread_mutex_lock(&one);
        work(500000);
        (void)pthread_mutex_unlock(&one);
        work(50000); /* else it takes the lock again before a thread that waits has woken */
    }
    return arg;
}

static void run_omp(void)
{
    for (;; atomic_fetch_add(done, 1)) {
#pragma omp parallel
        work(200000 / (unsigned)omp_get_num_threads());
    }
}

static int run_rank(const char *library, const char *file, const char *ranks)
{
    enum { PAGE = 4096 };
    int (*barrier)(void *, int) = NULL;
    void *mpi = library ? dlopen(library, RTLD_NOW) : NULL;
    int fd = file ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (!mpi || fd < 0 || ftruncate(fd, PAGE))
        return 1;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *(void **)&barrier = dlsym(mpi, "stub_barrier");
    while (barrier && ranks && page != MAP_FAILED) {
        work(20000);
        atomic_fetch_add(done, (unsigned)barrier(page, atoi(ranks)));
    }
    return 1;
}

static int run_blas(void)
{
    enum { SIZE = 128 };
    static double a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    void (*gemm)(int, int, int, int, int, int, double, const double *, int, const double *, int,
                 double, double *, int) = NULL;
    if (library)
        *(void **)&gemm = dlsym(library, "cblas_dgemm");
    for (; gemm; atomic_fetch_add(done, 1))
        gemm(101, 111, 111, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE);
    return 77;
}

static const char *value_of(int argc, char **argv, const char *name)
{
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], name, strlen(name)) == 0)
            return argv[i] + strlen(name);
    return NULL;
}

static void *run_threads(void *(*body)(void *))
{
    for (int i = 0; i < nthreads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, body, NULL))
            _exit(1);
    }
    for (;;)
        (void)pause();
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "", *file = value_of(argc, argv, "count=");
    const char *threads = value_of(argc, argv, "threads="), *on = value_of(argc, argv, "on=");
    (void)alarm(300);
    nthreads = threads ? atoi(threads) : 1;
    on_cpu = on ? atoi(on) : -1;
    int fd = file ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, sizeof(*done)))
        return 1;
    done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (done == MAP_FAILED)
        return 1;
    if (strcmp(kind, "omp") == 0)
        run_omp();
    if (strcmp(kind, "blas") == 0)
        return run_blas();
    if (strcmp(kind, "rank") == 0)
        return run_rank(value_of(argc, argv, "mpi="), value_of(argc, argv, "page="),
                        value_of(argc, argv, "ranks="));
    for (; strcmp(kind, "sleep") == 0; atomic_fetch_add(done, 1)) {
        work(500000);
        (void)usleep(9000);
    }
    if (strcmp(kind, "own") == 0)
        (void)run_threads(meet);
    if (strcmp(kind, "lock") == 0)
        (void)run_threads(lock);
    if (strcmp(kind, "compute") == 0)
        (void)(nthreads > 1 || on_cpu >= 0 ? run_threads(compute) : compute(NULL));
    return 2;
}
