/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "http_server.h"

enum { REQUESTS_MAX = 256, BODY_MAX = 16 << 20, WAIT_SECONDS = 60, PART = 4096 };

struct http_server {
	int listener, connection, stop[2];
	unsigned port;
	pthread_t thread;
	const struct http_answer *answers;
	size_t nr_answers;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct http_request request[REQUESTS_MAX];
	size_t begun, nr;
};

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits until the socket can be read or written. Returns false if the server stops. */
static bool ready(struct http_server *server, int fd, short events, int timeout)
{
	struct pollfd polled[] = { { fd, events, 0 }, { server->stop[0], POLLIN, 0 } };

	return poll(polled, 2, timeout) >= 0 && !polled[1].revents;
}

static bool send_bytes(struct http_server *server, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t put;

		if (!ready(server, server->connection, POLLOUT, -1))
			return false;
		put = send(server->connection, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (put < 0 && errno == EAGAIN)
			continue;
		if (put <= 0)
			return false;
		at += put;
		size -= (size_t)put;
	}
	return true;
}

static ssize_t receive(struct http_server *server, void *bytes, size_t size)
{
	if (!ready(server, server->connection, POLLIN, -1))
		return -1;
	return recv(server->connection, bytes, size, 0);
}

/* Reads the head, and what comes with it of the body. Returns false if there is none. */
static bool read_head(struct http_server *server, struct http_request *request)
{
	size_t have = 0;
	char *end = NULL;

	while (!end) {
		ssize_t got;

		if (have == sizeof(request->head) - 1)
			return false;
		/* one byte at a time: the body is read by read_body() */
		got = receive(server, request->head + have, 1);
		if (got <= 0)
			return false;
		have += (size_t)got;
		request->head[have] = 0;
		end = strstr(request->head, "\r\n\r\n");
	}
	return true;
}

static void read_body(struct http_server *server, struct http_request *request, size_t most)
{
	const char *length = strcasestr(request->head, "\r\nContent-Length:");
	size_t size = length ? strtoul(length + strlen("\r\nContent-Length:"), NULL, 10) : 0;

	if (size > BODY_MAX)
		size = BODY_MAX;
	request->body = malloc(size + 1);
	while (request->body && request->size < size && request->size < most) {
		ssize_t got = receive(server, request->body + request->size, size - request->size);

		if (got <= 0)
			return;
		request->size += (size_t)got;
	}
	request->complete = request->size == size;
}

/* Waits until the client ends the connection. */
static void wait_for_end(struct http_server *server)
{
	char byte;

	while (ready(server, server->connection, POLLRDHUP, -1) &&
	       recv(server->connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
		;
}

static void answer(struct http_server *server, const struct http_answer *how)
{
	char head[512], lines[1024];
	int length = snprintf(head, sizeof(head), "HTTP/1.1 %d Answer\r\n%s", how->code,
			      how->headers ? how->headers : "");

	memset(lines, 'x', sizeof(lines));
	if (how->how == HTTP_ENDLESS_HEADS) {
		memcpy(lines, "A: ", 3);
		memcpy(lines + sizeof(lines) - 2, "\r\n", 2);
		send_bytes(server, head, (size_t)length);
		while (send_bytes(server, lines, sizeof(lines)))
			;
	} else if (how->how == HTTP_ENDLESS_BODY) {
		send_bytes(server, head, (size_t)length);
		send_bytes(server, "\r\n", 2);
		while (send_bytes(server, lines, sizeof(lines)))
			;
	} else if (how->how == HTTP_DRIP) {
		do
			ready(server, -1, 0, 20);
		while (send_bytes(server, "H", 1));
	} else {
		bool hangs = how->how == HTTP_HANG_IN_BODY;

		length += snprintf(head + length, sizeof(head) - (size_t)length,
				   "Content-Length: %zu\r\n\r\n", how->size + hangs);
		if (send_bytes(server, head, (size_t)length))
			send_bytes(server, how->body, how->size);
		if (hangs)
			wait_for_end(server);
		shutdown(server->connection, SHUT_WR);
	}
}

static void count(struct http_server *server, size_t *number)
{
	pthread_mutex_lock(&server->mutex);
	++*number;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->mutex);
}

static void serve(struct http_server *server)
{
	size_t index = server->nr < server->nr_answers ? server->nr : server->nr_answers - 1;
	const struct http_answer *how = &server->answers[index];
	struct http_request *request = &server->request[server->nr];

	*request = (struct http_request){ .time = now_seconds() };
	if (!read_head(server, request))
		return;
	count(server, &server->begun);
	read_body(server, request, how->how == HTTP_STOP_READING ? PART : SIZE_MAX);
	count(server, &server->nr);
	if (how->how == HTTP_HANG || how->how == HTTP_STOP_READING)
		wait_for_end(server);
	else if (how->how != HTTP_CLOSE)
		answer(server, how);
}

static void *run_server(void *context)
{
	struct http_server *server = context;

	while (server->nr < REQUESTS_MAX && ready(server, server->listener, POLLIN, -1)) {
		server->connection = accept(server->listener, NULL, NULL);
		if (server->connection < 0)
			continue;
		serve(server);
		close(server->connection);
	}
	return NULL;
}

/* Returns a socket that is bound, and its port. */
static int bind_port(unsigned *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

unsigned http_free_port(void)
{
	unsigned port = 0;

	close(bind_port(&port));
	return port;
}

struct http_server *http_server_start_at(unsigned port, const struct http_answer *answers,
					 size_t nr)
{
	struct http_server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	server->port = port;
	server->answers = answers;
	server->nr_answers = nr;
	server->listener = bind_port(&server->port);
	assert_int_equal(listen(server->listener, 16), 0);
	assert_int_equal(pipe(server->stop), 0);
	pthread_mutex_init(&server->mutex, NULL);
	pthread_cond_init(&server->changed, NULL);
	assert_int_equal(pthread_create(&server->thread, NULL, run_server, server), 0);
	return server;
}

struct http_server *http_server_start(const struct http_answer *answers, size_t nr)
{
	return http_server_start_at(0, answers, nr);
}

unsigned http_server_port(const struct http_server *server)
{
	return server->port;
}

static void wait_for(struct http_server *server, const size_t *number, size_t nr)
{
	struct timespec end;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_SECONDS;
	pthread_mutex_lock(&server->mutex);
	while (*number < nr && !rc)
		rc = pthread_cond_timedwait(&server->changed, &server->mutex, &end);
	pthread_mutex_unlock(&server->mutex);
	if (rc)
		fail_msg("%zu requests came, not %zu", *number, nr);
}

void http_server_wait_begun(struct http_server *server, size_t nr)
{
	wait_for(server, &server->begun, nr);
}

void http_server_wait(struct http_server *server, size_t nr)
{
	wait_for(server, &server->nr, nr);
}

size_t http_server_requests(struct http_server *server, const struct http_request **request)
{
	size_t nr;

	pthread_mutex_lock(&server->mutex);
	nr = server->nr;
	pthread_mutex_unlock(&server->mutex);
	*request = server->request;
	return nr;
}

void http_server_stop(struct http_server *server)
{
	assert_int_equal(write(server->stop[1], "", 1), 1);
	pthread_join(server->thread, NULL);
	for (size_t i = 0; i < server->nr; i++)
		free(server->request[i].body);
	close(server->listener);
	close(server->stop[0]);
	close(server->stop[1]);
	pthread_mutex_destroy(&server->mutex);
	pthread_cond_destroy(&server->changed);
	free(server);
}
