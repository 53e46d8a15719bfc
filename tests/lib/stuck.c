/*
 * A process whose threads wait, for tests of `contend doctor`: for ever, or only as threads do that
 * are well. Ends by itself after two or three minutes.
 *
 *   stuck KIND
 *
 * Prints "NAME TID" of each thread, and then "ready". Deadlocks: abba, abc (of three threads),
 * behind (abba, and a third one waits for it), self, recursive, adaptive, robust, inherit and
 * inherit3 (PTHREAD_PRIO_INHERIT), join, lead (of the first thread, which has ended), two (of two
 * pairs). Lost locks: ended, forked. All is well with: busy (a pair that works), condition,
 * semaphore, chain (who holds the lock sleeps), timed (abba with time-outs), shared (a lock that
 * another process holds), reading (a lock for reading and writing), stack (waits on its own stack
 * for somebody, with locks that inherit).
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4 };

static pthread_mutex_t locks[MOST];
static pthread_barrier_t all_hold;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t reading = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t threads[MOST];
static volatile unsigned long sink;
static sem_t nobody_posts;

struct job {
    const char *name;
    int holds, wants; /* of locks; -1 = none */
    void (*then)(void);
};

static void die(const char *what)
{
    perror(what);
    _exit(1);
}

static void must(int rc, const char *what)
{
    if (rc)
        die(what);
}

static void sleep_long(void)
{
    for (;;)
        (void)pause();
}

static void tell(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name);
    (void)printf("%s %d\n", name, (int)gettid());
    (void)fflush(stdout);
}

static void *work(void *arg)
{
    const struct job *job = arg;
    tell(job->name);
    if (job->holds >= 0)
        must(pthread_mutex_lock(&locks[job->holds]), "lock");
    (void)pthread_barrier_wait(&all_hold);
    if (job->wants >= 0)
        (void)pthread_mutex_lock(&locks[job->wants]);
    if (job->then)
        job->then();
    return NULL;
}

static void start(struct job *jobs, unsigned n)
{
    must(pthread_barrier_init(&all_hold, NULL, n), "barrier");
    for (unsigned i = 0; i < n; i++)
        must(pthread_create(&threads[i], NULL, work, &jobs[i]), "thread");
}

/* Each holds one and wants that of the next. */
static void make_circle(unsigned n)
{
    static struct job jobs[] = {{"first", 0, 1, 0}, {"second", 1, 2, 0}, {"third", 2, 3, 0}};
    jobs[n - 1].wants = 0;
    start(jobs, n);
}

static void lock_for_a_moment(void)
{
    for (;;) {
        must(pthread_mutex_lock(&locks[0]), "lock");
        for (unsigned long i = 0; i < 100000; i++)
            sink = i;
        must(pthread_mutex_unlock(&locks[0]), "unlock");
    }
}

static void wait_for_condition(void)
{
    for (;;)
        (void)pthread_cond_wait(&never, &locks[0]);
}

static void wait_for_post(void)
{
    for (;;)
        (void)sem_wait(&nobody_posts);
}

static void lock_with_time_out(pthread_mutex_t *lock)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    (void)pthread_mutex_timedlock(lock, &until);
}

static void take_first_for_a_time(void)
{
    lock_with_time_out(&locks[0]);
}

static void take_second_for_a_time(void)
{
    lock_with_time_out(&locks[1]);
}

static void read_and_write(void)
{
    (void)pthread_rwlock_wrlock(&reading);
    sleep_long();
}

/* What is on this stack names the lock, and is no wait for it. */
static void wait_on_stack(void)
{
    pthread_mutex_t *volatile near[] = {&locks[0], &locks[1], &locks[0], &locks[1]};
    sem_t post;
    must(sem_init(&post, 0, 0), "semaphore");
    for (;;) {
        (void)sem_wait(&post);
        sink = (unsigned long)near[1];
    }
}

static void join_first(void)
{
    (void)pthread_join(threads[0], NULL);
}

static void make_locks(const char *kind)
{
    pthread_mutexattr_t how;
    must(pthread_mutexattr_init(&how), "attributes");
    if (strncmp(kind, "inherit", 7) == 0 || strcmp(kind, "stack") == 0)
        must(pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT), "inherit");
    if (strcmp(kind, "robust") == 0)
        must(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST), "robust");
    if (strcmp(kind, "recursive") == 0)
        must(pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE), "recursive");
    if (strcmp(kind, "adaptive") == 0)
        must(pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ADAPTIVE_NP), "adaptive");
    for (int i = 0; i < MOST; i++)
        must(pthread_mutex_init(&locks[i], &how), "mutex");
    must(sem_init(&nobody_posts, 0, 0), "semaphore");
}

/* Held by another process, which is this one's child. */
static void share(void)
{
    pthread_mutexattr_t how;
    pthread_mutex_t *lock =
        mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ready[2];
    char byte;
    if (lock == MAP_FAILED || pipe(ready))
        die("memory");
    must(pthread_mutexattr_init(&how), "attributes");
    must(pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "shared");
    must(pthread_mutex_init(lock, &how), "mutex");
    if (fork() == 0) {
        (void)alarm(180);
        (void)pthread_mutex_lock(lock);
        if (write(ready[1], "", 1) != 1)
            die("pipe");
        sleep_long();
    }
    if (read(ready[0], &byte, 1) != 1)
        die("pipe");
    (void)puts("ready");
    (void)fflush(stdout);
    (void)pthread_mutex_lock(lock);
}

/* Another thread holds the lock when this one forks. */
static void fork_with_lock(void)
{
    static struct job job = {"holder", 0, -1, sleep_long};
    must(pthread_barrier_init(&all_hold, NULL, 2), "barrier");
    must(pthread_create(&threads[0], NULL, work, &job), "thread");
    (void)pthread_barrier_wait(&all_hold);
    if (fork() == 0) {
        (void)alarm(180);
        tell("child");
        (void)pthread_mutex_lock(&locks[0]);
    }
}

static void make(const char *kind)
{
    static struct job busy[] = {{"one", -1, -1, lock_for_a_moment},
                                {"other", -1, -1, lock_for_a_moment}};
    static struct job behind[] = {{"first", 0, 1, 0}, {"second", 1, 0, 0}, {"third", -1, 0, 0}};
    static struct job two[] = {{"a", 0, 1, 0}, {"b", 1, 0, 0}, {"c", 2, 3, 0}, {"d", 3, 2, 0}};
    static struct job self[] = {{"only", 0, 0, 0}};
    static struct job join[] = {{"worker", -1, 0, 0}, {"parent", 0, -1, join_first}};
    static struct job ended[] = {{"ended", 0, -1, 0}, {"left", -1, 0, 0}};
    static struct job condition[] = {{"waiter", 0, -1, wait_for_condition},
                                     {"idle", 1, -1, sleep_long}};
    static struct job semaphore[] = {{"waiter", 0, -1, wait_for_post}, {"next", -1, 0, 0}};
    static struct job chain[] = {
        {"holder", 0, -1, sleep_long}, {"next", 1, 0, 0}, {"last", -1, 1, 0}};
    static struct job timed[] = {{"first", 0, -1, take_second_for_a_time},
                                 {"second", 1, -1, take_first_for_a_time}};
    static struct job readers[] = {{"one", -1, -1, read_and_write},
                                   {"other", -1, -1, read_and_write}};
    static struct job stack[] = {{"first", 0, -1, wait_on_stack}, {"second", 1, 0, 0}};
    static const struct {
        const char *kind;
        struct job *jobs;
        unsigned n;
    } all[] = {{"busy", busy, 2},           {"behind", behind, 3}, {"two", two, 4},
               {"self", self, 1},           {"join", join, 2},     {"ended", ended, 2},
               {"condition", condition, 2}, {"chain", chain, 3},   {"semaphore", semaphore, 2},
               {"timed", timed, 2},         {"stack", stack, 2},   {"reading", readers, 2}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(kind, all[i].kind) == 0) {
            start(all[i].jobs, all[i].n);
            return;
        }
    if (strcmp(kind, "shared") == 0)
        share();
    else if (strcmp(kind, "forked") == 0)
        fork_with_lock();
    else
        make_circle(strcmp(kind, "abc") == 0 || strcmp(kind, "inherit3") == 0 ? 3 : 2);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "abba";
    (void)alarm(180);
    make_locks(kind);
    make(kind);
    (void)puts("ready");
    (void)fflush(stdout);
    if (strcmp(kind, "lead") == 0)
        pthread_exit(NULL);
    sleep_long();
}
