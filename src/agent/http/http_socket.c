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

#include "agent/port.h"
#include "base/nr.h"
#include "http.h"

/* Takes "[::1]:7099" or "127.0.0.1:7099" apart. */
static bool split(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':'), *from = address;
	size_t length = colon ? (size_t)(colon - address) : 0;

	if (length > 1 && from[0] == '[' && from[length - 1] == ']') {
		from++;
		length -= 2;
	} else if (length && memchr(from, ':', length)) {
		return false; /* "::1:7099" is an address without a port, too */
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

static const struct {
	int errnum;
	const char *remedy;
} refusals[] = {
	{ EADDRINUSE, "Another program listens there ('ss -ltnp' prints it): choose another port" },
	{ EADDRNOTAVAIL, "Use an address of this machine: 'ip address' prints them" },
	{ EACCES, "Ports below net.ipv4.ip_unprivileged_port_start (1024) need "
		  "CAP_NET_BIND_SERVICE: choose a higher port" },
};

static int refuse_address(const char *address, int errnum, struct perch_error *err)
{
	perch_error_set(err, errnum, PERCH_ERROR_SYSTEM, "cannot listen at %s: %s", address,
			strerror(errnum));
	for (size_t i = 0; i < PERCH__NR(refusals); i++)
		if (refusals[i].errnum == errnum)
			perch_error_remedy(err, "%s", refusals[i].remedy);
	return -errnum;
}

int agent_http_listen(const char *address, bool *local, struct perch_error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *info;
	const char *port;
	char host[256];
	int rc;

	if (!split(address, host, sizeof(host), &port) || !agent_is_port(port, strlen(port))) {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				"--listen %s: expected ADDRESS:PORT, with a port from 1 to 65535",
				address);
		perch_error_remedy(err, "Write 127.0.0.1:7099, or [::1]:7099 for IPv6");
		return -EINVAL;
	}
	rc = getaddrinfo(host, port, &hints, &info);
	if (rc) {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "--listen %s: %s", address,
				gai_strerror(rc));
		perch_error_remedy(err, "Use an IP address of this machine");
		return -EINVAL;
	}
	*local = is_loopback(info->ai_addr);
	rc = listen_at(info);
	freeaddrinfo(info);
	return rc < 0 ? refuse_address(address, -rc, err) : rc;
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
