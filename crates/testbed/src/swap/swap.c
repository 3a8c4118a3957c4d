/* A swap server, after Koh et al., "From C to Interaction Trees" (CPP 2019): it keeps the last message that it received, and answers
 * each message with the one before it, whoever sent that. One thread serves all connections with select().
 *
 * A message has SIZE bytes. Requests may arrive in pieces, and a response is written in pieces of at most PIECE bytes, one in each
 * round of select(), so that a client that reads slowly delays nobody else.
 *
 * MUTANT selects a bug at compile time; 0 is the correct server. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIZE 256
#define PIECE 100

enum { CORRECT, OWN, ROUND, TORN, PARTIAL, ALIAS };

#ifndef MUTANT
#define MUTANT CORRECT
#endif

struct connection {
    int fd;
    /* Bytes of the request that were received, and of the response that were sent. */
    size_t received, sent;
    /* The connection has a response to send. It receives nothing until the response is sent. */
    int responding;
    char in[SIZE], out[SIZE];
};

static struct connection *connections[FD_SETSIZE];
static char last[SIZE];
/* Bug ROUND: the last message as it was before this round of select(). */
static char before[SIZE];
/* Bug ALIAS: the buffer of the connection that sent the last message. */
static const char *alias = last;

static void leave(struct connection *connection)
{
    connections[connection->fd] = NULL;
    close(connection->fd);
    /* With ALIAS the buffer is still in use. */
    if (MUTANT != ALIAS)
        free(connection);
}

/* A request is complete: its response is the message before it. */
static void swap(struct connection *connection)
{
    const char *previous = last;

    if (MUTANT == OWN)
        previous = connection->in;
    if (MUTANT == ROUND)
        previous = before;
    if (MUTANT == ALIAS)
        previous = alias;
    memcpy(connection->out, previous, SIZE);
    memcpy(last, connection->in, SIZE);
    alias = connection->in;
    connection->received = connection->sent = 0;
    connection->responding = 1;
}

static void receive(struct connection *connection)
{
    ssize_t count = recv(connection->fd, connection->in + connection->received, SIZE - connection->received, 0);

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        leave(connection);
        return;
    }
    connection->received += count;
    if (MUTANT == PARTIAL) {
        memset(connection->in + connection->received, 0, SIZE - connection->received);
        connection->received = SIZE;
    }
    if (connection->received == SIZE)
        swap(connection);
}

static void respond(struct connection *connection)
{
    const char *from = MUTANT == TORN && connection->sent > 0 ? last : connection->out;
    size_t left = SIZE - connection->sent;
    ssize_t count = send(connection->fd, from + connection->sent, left < PIECE ? left : PIECE, MSG_NOSIGNAL);

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count < 0) {
        leave(connection);
        return;
    }
    connection->sent += count;
    if (connection->sent == SIZE)
        connection->responding = 0;
}

static void welcome(int listener)
{
    int yes = 1, fd = accept(listener, NULL, NULL);
    struct connection *connection;

    if (fd < 0)
        return;
    connection = fd < FD_SETSIZE ? calloc(1, sizeof *connection) : NULL;
    if (connection == NULL) {
        close(fd);
        return;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    connection->fd = fd;
    connections[fd] = connection;
}

static void serve(int listener)
{
    fd_set readable, writable;
    int fd, most = listener;

    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_SET(listener, &readable);
    for (fd = 0; fd < FD_SETSIZE; fd++) {
        if (connections[fd] == NULL)
            continue;
        FD_SET(fd, connections[fd]->responding ? &writable : &readable);
        if (fd > most)
            most = fd;
    }
    if (select(most + 1, &readable, &writable, NULL, NULL) < 0)
        return;
    memcpy(before, last, SIZE);
    for (fd = 0; fd <= most; fd++) {
        struct connection *connection = connections[fd];

        if (connection != NULL && FD_ISSET(fd, &writable))
            respond(connection);
        else if (connection != NULL && FD_ISSET(fd, &readable))
            receive(connection);
    }
    if (FD_ISSET(listener, &readable))
        welcome(listener);
}

/* Listens on a port of the loopback interface, and prints its number. */
int main(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 128) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0) {
        perror("swap");
        return 1;
    }
    fcntl(listener, F_SETFL, O_NONBLOCK);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;)
        serve(listener);
}
