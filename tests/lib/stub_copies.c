/*
 * In place of a program that copies: loads what CUDA_INJECTION64_PATH names, as CUDA's driver does
 * when it begins, and does the steps of its command line, which the stub of CUPTI
 * (CONTEND_LIBCUPTI, where it is one) turns into records.
 *
 *   copy:KIND:FROM_MEMORY:TO_MEMORY:DEVICE:BYTES:NS:TIMES[:COUNT of a batch]
 *   move:COUNTER:CAUSE:FROM:TO:BYTES:NS:TIMES (unified memory)
 *   ready (waits until migrations are asked for)
 *   peer:FROM:TO:BYTES:NS:TIMES   sizes:N (copies of as many kinds)   drop:N   sleep:MS
 *   taken (another tool takes CUPTI over)
 *   fork (the child copies and exits)   kill   exit:CODE   quick (leaves by _exit)
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/stub_cupti.h"

enum { WORDS = 10 };

static void (*copy)(const struct stub_copy *), (*peer)(const struct stub_copy *),
    (*migrate)(const struct stub_copy *), (*drop)(size_t), (*take_over)(void), (*await)(void);

static void *symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

static void load(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH"), *cupti = getenv("CONTEND_LIBCUPTI");
    const char *cuda = getenv("CONTEND_STUB_CUDA");
    int (*initialize)(void) = NULL;
    if (cuda && !dlopen(cuda, RTLD_NOW | RTLD_LOCAL))
        (void)fprintf(stderr, "stub_copies: %s\n", dlerror());
    void *found = path ? symbol(dlopen(path, RTLD_NOW | RTLD_LOCAL), "InitializeInjection") : NULL;
    memcpy(&initialize, &found, sizeof(initialize));
    if (path && !initialize)
        (void)fprintf(stderr, "stub_copies: %s\n", dlerror());
    if (initialize && (initialize() != 1 || initialize() != 1))
        (void)fprintf(stderr, "stub_copies: the injection does not answer\n");
    void *library = cupti ? dlopen(cupti, RTLD_NOW | RTLD_LOCAL) : NULL;
    found = symbol(library, "stub_cupti_copy");
    memcpy(&copy, &found, sizeof(copy));
    found = symbol(library, "stub_cupti_peer_copy");
    memcpy(&peer, &found, sizeof(peer));
    found = symbol(library, "stub_cupti_migration");
    memcpy(&migrate, &found, sizeof(migrate));
    found = symbol(library, "stub_cupti_await_migrations");
    memcpy(&await, &found, sizeof(await));
    found = symbol(library, "stub_cupti_drop");
    memcpy(&drop, &found, sizeof(drop));
    found = symbol(library, "stub_cupti_take_over");
    memcpy(&take_over, &found, sizeof(take_over));
}

static unsigned long number(char **words, int n, int at)
{
    return at < n ? strtoul(words[at], NULL, 10) : 0;
}

static void pause_ms(unsigned long ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left))
        continue;
}

static void do_copies(char **words, int n)
{
    const struct stub_copy told = {.kind = (unsigned)number(words, n, 1),
                                   .from_memory = (unsigned)number(words, n, 2),
                                   .to_memory = (unsigned)number(words, n, 3),
                                   .from = (int)number(words, n, 4),
                                   .bytes = number(words, n, 5),
                                   .ns = number(words, n, 6),
                                   .count = n > 8 ? number(words, n, 8) : 1};
    for (unsigned long i = 0; copy && i < number(words, n, 7); i++)
        copy(&told);
}

static void do_peers(char **words, int n)
{
    const struct stub_copy told = {.from = (int)number(words, n, 1),
                                   .to = (int)number(words, n, 2),
                                   .bytes = number(words, n, 3),
                                   .ns = number(words, n, 4)};
    for (unsigned long i = 0; peer && i < number(words, n, 5); i++)
        peer(&told);
}

static void do_moves(char **words, int n)
{
    const struct stub_copy told = {.kind = (unsigned)number(words, n, 1),
                                   .count = number(words, n, 2),
                                   .from = (int)number(words, n, 3),
                                   .to = (int)number(words, n, 4),
                                   .bytes = number(words, n, 5),
                                   .ns = number(words, n, 6)};
    for (unsigned long i = 0; migrate && i < number(words, n, 7); i++)
        migrate(&told);
}

/* More kinds than a table has room for: 40 devices to as many. */
static void do_sizes(unsigned long n)
{
    for (unsigned long i = 0; peer && i < n; i++)
        peer(&(struct stub_copy){
            .from = (int)(i % 40), .to = (int)(i / 40 % 40), .bytes = 10, .ns = 1});
}

static int is_child;
extern int __lsan_is_turned_off(void);

/* In a child of fork, LeakSanitizer may wait for ever for a lock that the library's thread held. */
int __lsan_is_turned_off(void)
{
    return is_child;
}

static void do_fork(void)
{
    pid_t child = fork();
    if (!child) {
        is_child = 1;
        if (copy)
            copy(&(struct stub_copy){.kind = 1, .from_memory = 1, .to_memory = 3, .bytes = 7});
        exit(0);
    }
    (void)waitpid(child, NULL, 0);
}

static void step(char *text)
{
    char *words[WORDS] = {""};
    int n = 0;
    for (char *word; n < WORDS && (word = strsep(&text, ":"));)
        words[n++] = word;
    if (!n)
        return;
    if (strcmp(words[0], "copy") == 0)
        do_copies(words, n);
    else if (strcmp(words[0], "peer") == 0)
        do_peers(words, n);
    else if (strcmp(words[0], "move") == 0)
        do_moves(words, n);
    else if (strcmp(words[0], "ready") == 0 && await)
        await();
    else if (strcmp(words[0], "sizes") == 0)
        do_sizes(number(words, n, 1));
    else if (strcmp(words[0], "drop") == 0 && drop)
        drop(number(words, n, 1));
    else if (strcmp(words[0], "taken") == 0 && take_over)
        take_over();
    else if (strcmp(words[0], "sleep") == 0)
        pause_ms(number(words, n, 1));
    else if (strcmp(words[0], "fork") == 0)
        do_fork();
    else if (strcmp(words[0], "kill") == 0)
        (void)raise(SIGKILL);
    else if (strcmp(words[0], "quick") == 0)
        _exit(0);
    else if (strcmp(words[0], "exit") == 0)
        exit((int)number(words, n, 1));
}

int main(int argc, char **argv)
{
    load();
    for (int i = 1; i < argc; i++)
        step(argv[i]);
    return 0;
}
