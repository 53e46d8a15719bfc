/* A free port, and who answers there. The servers are this test's own. */
#include "harness/lib/sys/net.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/lib/sys/process.h"
#include "tests/lib/unit.h"

static int listen_at(unsigned port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 9), 0);
    return fd;
}

TEST(net_finds_a_free_port)
{
    int port = net_free_port();
    assert_true(port > 0 && port < 65536);
    assert_false(net_accepts((unsigned)port));
    int fd = listen_at((unsigned)port);
    assert_true(net_accepts((unsigned)port));
    (void)close(fd);
}

struct answer {
    int fd;
    const char *text;
};

static int give_answer(void *arg)
{
    const struct answer *answer = arg;
    char asked[200];
    int fd = accept(answer->fd, NULL, NULL);
    (void)!read(fd, asked, sizeof(asked));
    (void)!write(fd, answer->text, strlen(answer->text));
    return 0;
}

TEST(net_knows_a_good_answer)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"HTTP/1.1 200 OK\r\n\r\nx", true},   {"HTTP/1.0 204 No Content\r\n\r\n", true},
                 {"HTTP/1.1 503 Busy\r\n\r\n", false}, {"HTTP/1.1 2", false},
                 {"HELLO 200 OK 200 OK", false},       {"", false}};
    int port = net_free_port();
    struct answer answer = {.fd = listen_at((unsigned)port)};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct process process;
        int status;
        answer.text = cases[i].text;
        assert_int_equal(process_start(&process, false, give_answer, &answer), 0);
        assert_int_equal(net_answers_get((unsigned)port, "/health", 20), cases[i].good);
        process_wait(&process, &status);
    }
    assert_false(net_answers_get((unsigned)port, "/", 0.05)); /* nobody answers */
    (void)close(answer.fd);
}
