/* SPDX-License-Identifier: MIT */
/* Addresses of the server. */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"

/* Takes "[::1]:7099" or "127.0.0.1:7099" apart. */
static bool split(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':'), *from = address;
	size_t length = colon ? (size_t)(colon - address) : 0;

	if (length > 1 && from[0] == '[' && from[length - 1] == ']') {
		from++;
		length -= 2;
	}
	if (!length || length >= size || !colon[1])
		return false;
	memcpy(host, from, length);
	host[length] = '\0';
	*port = colon + 1;
	return true;
}

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	if (address->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static int listen_at(const struct addrinfo *info)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1,
	    rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, info->ai_addr, info->ai_addrlen) && !listen(fd, 64))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int agent_http_listen(const char *address, bool *local, struct perch_error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *info;
	const char *port;
	char host[256];
	int rc;

	if (!split(address, host, sizeof(host), &port))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "--listen %s: expected ADDRESS:PORT, as 127.0.0.1:7099",
				       address);
	rc = getaddrinfo(host, port, &hints, &info);
	if (rc)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "--listen %s: %s", address,
				       gai_strerror(rc));
	*local = is_loopback(info->ai_addr);
	rc = listen_at(info);
	freeaddrinfo(info);
	if (rc < 0)
		perch_error_set(err, -rc, PERCH_ERROR_SYSTEM, "cannot listen at %s: %s", address,
				strerror(-rc));
	return rc;
}

bool agent_http_host_is_local(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;
	const char *port;
	char name[256];

	if (!host)
		return true;
	if (!split(host, name, sizeof(name), &port)) {
		if (strlen(host) >= sizeof(name))
			return false;
		strcpy(name, host);
	}
	/* a name can be that of any server, a number cannot */
	return !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &v4) == 1 ||
	       inet_pton(AF_INET6, name, &v6) == 1;
}
