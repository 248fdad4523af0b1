// A service of THREADS threads in C: a request takes a mutex for MICROSECONDS, of which SPIN are processor time.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int listener;
static long held, spun;

static long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000L + at.tv_nsec / 1000;
}

static void *serve(void *unused) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
    for (;;) {
        int one = accept(listener, NULL, NULL), yes = 1;
        if (one < 0) continue;
        setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        char text[4096];
        long have = 0, more;
        while ((more = read(one, text + have, sizeof text - 1 - have)) > 0) {
            have += more;
            text[have] = 0;
            if (!strstr(text, "\r\n\r\n")) continue;
            have = 0;
            pthread_mutex_lock(&mutex);
            for (long end = now() + spun; now() < end;);
            if (held > spun) usleep(held - spun);
            pthread_mutex_unlock(&mutex);
            if (write(one, answer, sizeof answer - 1) < 0) break;
        }
        close(one);
    }
    return unused;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    held = atol(words[3]), spun = atol(words[4]);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (void *)&place, sizeof place) || listen(listener, 512)) return perror("listen"), 1;
    pthread_t thread;
    for (int at = 0; at < atoi(words[2]); at++) pthread_create(&thread, NULL, serve, NULL);
    pthread_join(thread, NULL);
}
