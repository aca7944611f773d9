/* SPDX-License-Identifier: MIT */
/*
 * What arguments point to. All of it is memory of another process: sizes are limited by the buffers
 * here, and each text is clean for a terminal.
 */
#include <arpa/inet.h>
#include <stddef.h>

#include "base/text.h"
#include "internal.h"

enum {
	STRING_BYTES = 256, /* of a string; "..." follows a longer one */
	PAGE = 4096,	    /* strings are read up to the end of a page first */
	MOST_POLLFDS = 8,
};

/* ---- strings ---- */

static void put_quoted(struct perch__say *to, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length;) {
		struct perch__character c = perch__next_character(bytes + i, length - i);
		char hex[5] = { '\\', 'x', 0, 0, 0 };
		const char *escape = bytes[i] == '\n'	? "\\n"
				     : bytes[i] == '\t' ? "\\t"
				     : bytes[i] == '\r' ? "\\r"
				     : bytes[i] == '"'	? "\\\""
				     : bytes[i] == '\\' ? "\\\\"
							: NULL;

		if (escape) {
			perch__say_add(to, escape);
		} else if (c.printable) {
			perch__say_put(to, bytes + i, c.size);
		} else {
			for (size_t k = 0; k < c.size; k++) {
				hex[2] = "0123456789abcdef"[(unsigned char)bytes[i + k] >> 4];
				hex[3] = "0123456789abcdef"[bytes[i + k] & 15];
				perch__say_add(to, hex);
			}
		}
		i += c.size;
	}
}

/* What is read after the call may be memory that the program has used again: only a text that ends
 * and can be printed is shown then. */
static bool is_likely_text(const char *bytes, const char *end)
{
	size_t length = end ? (size_t)(end - bytes) : 0;

	for (size_t i = 0; i < length;) {
		struct perch__character c = perch__next_character(bytes + i, length - i);

		if (!c.printable)
			return false;
		i += c.size;
	}
	return length;
}

bool perch__say_string(struct perch__say *to, const struct perch_syscall_process *process,
		       uint64_t address)
{
	char bytes[STRING_BYTES];
	size_t first = PAGE - address % PAGE, used = 0;
	bool verified = true, part = false;
	const char *end = NULL;

	/* the page after the one where a string ends may not be mapped */
	for (size_t want = first < sizeof(bytes) ? first : sizeof(bytes); want && !end;
	     want = sizeof(bytes) - used) {
		ssize_t got =
			process->read(process->context, address + used, bytes + used, want, &part);

		verified &= part;
		if (got <= 0 || (size_t)got > want)
			break;
		end = memchr(bytes + used, 0, (size_t)got);
		used += (size_t)got;
		if ((size_t)got < want)
			break;
	}
	if (!used || (!verified && !is_likely_text(bytes, end)))
		return false;
	perch__say_put(to, "\"", 1);
	put_quoted(to, bytes, end ? (size_t)(end - bytes) : used);
	perch__say_add(to, end ? "\"" : "\"...");
	if (!verified)
		perch__say_put(to, "?", 1);
	return true;
}

/* ---- structs: a stack is soon used again, so they are only shown as they were in the call ---- */

static bool read_whole(const struct perch_syscall_process *process, uint64_t address, void *bytes,
		       size_t size)
{
	bool verified = false;

	return process->read(process->context, address, bytes, size, &verified) == (ssize_t)size &&
	       verified;
}

/* {tv_sec=1, tv_nsec=500} */
static bool put_time(struct perch__say *to, const struct perch_syscall_process *process,
		     uint64_t address, const char *fraction)
{
	int64_t value[2];

	if (!read_whole(process, address, value, sizeof(value)))
		return false;
	perch__say_add(to, "{tv_sec=");
	perch__say_signed(to, value[0]);
	perch__say_add(to, fraction);
	perch__say_signed(to, value[1]);
	perch__say_put(to, "}", 1);
	return true;
}

static void put_internet(struct perch__say *to, int family, const unsigned char *address,
			 const unsigned char *port)
{
	char text[INET6_ADDRSTRLEN];

	perch__say_add(to, family == AF_INET ? "{AF_INET, " : "{AF_INET6, ");
	perch__say_add(to, inet_ntop(family, address, text, sizeof(text)) ? text : "?");
	perch__say_add(to, ", port ");
	perch__say_number(to, (unsigned)port[0] << 8 | port[1], 10);
	perch__say_put(to, "}", 1);
}

static bool put_address(struct perch__say *to, const struct perch_syscall_process *process,
			uint64_t address, uint64_t size)
{
	unsigned char bytes[128] = { 0 };
	size_t most = size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
	uint16_t family;

	if (most < sizeof(family) || !read_whole(process, address, bytes, most))
		return false;
	memcpy(&family, bytes, sizeof(family));
	if (family == AF_INET && most >= 8) {
		put_internet(to, AF_INET, bytes + 4, bytes + 2);
	} else if (family == AF_INET6 && most >= 24) {
		put_internet(to, AF_INET6, bytes + 8, bytes + 2);
	} else if (family == AF_UNIX && most > sizeof(family)) {
		/* a name that begins with NUL is abstract, and shown with '@' */
		const char *name = (const char *)bytes + sizeof(family);
		size_t length = most - sizeof(family);
		bool abstract = !name[0];

		if (!abstract)
			length = strnlen(name, length);
		perch__say_add(to, abstract ? "{AF_UNIX, \"@" : "{AF_UNIX, \"");
		put_quoted(to, name + abstract, length - abstract);
		perch__say_add(to, "\"}");
	} else {
		perch__say_put(to, "{", 1);
		perch__say_words(to, PERCH__ARG_SOCKET_DOMAIN, family);
		perch__say_put(to, "}", 1);
	}
	return true;
}

/* [{fd=3, events=POLLIN}, ...] */
static bool put_polls(struct perch__say *to, const struct perch_syscall_process *process,
		      uint64_t address, uint64_t nr)
{
	struct {
		int32_t fd;
		uint16_t events, returned;
	} polls[MOST_POLLFDS];
	size_t shown = nr < MOST_POLLFDS ? (size_t)nr : MOST_POLLFDS;

	if (!nr || !read_whole(process, address, polls, shown * sizeof(polls[0])))
		return false;
	perch__say_put(to, "[", 1);
	for (size_t i = 0; i < shown; i++) {
		perch__say_add(to, i ? ", {fd=" : "{fd=");
		perch__say_signed(to, polls[i].fd);
		perch__say_add(to, ", events=");
		perch__say_words(to, PERCH__ARG_POLL, polls[i].events);
		perch__say_put(to, "}", 1);
	}
	perch__say_add(to, nr > shown ? ", ...]" : "]");
	return true;
}

bool perch__say_value(struct perch__say *to, unsigned kind,
		      const struct perch_syscall_process *process, uint64_t address, uint64_t size)
{
	switch (kind) {
	case PERCH__ARG_TIMESPEC:
	case PERCH__ARG_TIMESPEC_OR_VALUE:
		return put_time(to, process, address, ", tv_nsec=");
	case PERCH__ARG_TIMEVAL:
		return put_time(to, process, address, ", tv_usec=");
	case PERCH__ARG_SOCKADDR:
		return put_address(to, process, address, size);
	case PERCH__ARG_POLLFDS:
		return put_polls(to, process, address, size);
	default:
		return false;
	}
}
