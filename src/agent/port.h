/* SPDX-License-Identifier: MIT */
/* Ports of --listen and --push. */
#ifndef PERCH_AGENT_PORT_H
#define PERCH_AGENT_PORT_H

#include <stdbool.h>
#include <stddef.h>

/* True for 1 to 65535 in decimal: getaddrinfo(3) of glibc takes larger numbers modulo 65536. */
static inline bool agent_is_port(const char *text, size_t length)
{
	unsigned port = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || port > 65535)
			return false;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	return port && port <= 65535;
}

#endif
