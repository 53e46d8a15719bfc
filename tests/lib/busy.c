/*
 * A process with a fault, for tests of `contend doctor`: threads compute until they are killed, or
 * for three minutes.
 *
 *   busy [threads=N] [on=CPU] [map=FILE] [log=FILE] [steps=N] [spinners=N] [lives=SECONDS]
 *
 * on: the threads bind themselves to CPU, while the first thread, which sleeps, keeps its mask.
 * map: maps FILE as code, as the loader does with a library. log: each step of the work, some
 * milliseconds of CPU time, appends a line to FILE ("-": prints it). steps: the process ends after
 * so many steps. lives: ends after so many seconds, not three minutes, in a test that surely
 * kills it. Without threads= the first thread itself computes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STEP = 1 << 23 };
static _Thread_local volatile unsigned long sink;
static int log_fd = -1;
static long last_step;

static void *spin(void *arg)
{
    (void)arg;
    for (unsigned long i = 0;; i++)
        sink = i;
    return NULL;
}

static void *compute(void *on)
{
    const int *cpu = on;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (*cpu >= 0)
        CPU_SET((size_t)*cpu, &cpus);
    if (*cpu >= 0 && sched_setaffinity(0, sizeof(cpus), &cpus))
        _exit(1);
    long steps = 0;
    for (unsigned long i = 1;; i++) {
        sink = i;
        if (i % STEP)
            continue;
        if (log_fd >= 0 && write(log_fd, "step\n", 5) != 5)
            _exit(1);
        if (++steps == last_step)
            _exit(0);
    }
    return NULL;
}

static long value_of(int argc, char **argv, const char *name, long otherwise)
{
    size_t length = strlen(name);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, length) == 0)
            return strtol(argv[i] + length, NULL, 10);
    return otherwise;
}

static int map_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    return at == MAP_FAILED;
}

int main(int argc, char **argv)
{
    long threads = value_of(argc, argv, "threads=", 0);
    int cpu = (int)value_of(argc, argv, "on=", -1);
    (void)alarm((unsigned)value_of(argc, argv, "lives=", 180));
    last_step = value_of(argc, argv, "steps=", 0);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "map=", 4) == 0 && map_file(argv[i] + 4))
            return 1;
        if (strcmp(argv[i], "log=-") == 0)
            log_fd = STDOUT_FILENO;
        else if (strncmp(argv[i], "log=", 4) == 0)
            log_fd = open(argv[i] + 4, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    for (long i = value_of(argc, argv, "spinners=", 0); i > 0; i--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin, NULL))
            return 1;
    }
    if (!threads)
        (void)compute(&cpu);
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, compute, &cpu))
            return 1;
    }
    for (;;)
        (void)pause();
}
