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
	LONG_BITS = 8 * sizeof(long),
	MOST_BITS = 1024, /* of a set */
	MOST_SHOWN = 32,  /* numbers of a set */
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

/* ---- structs of several kinds: a stack is soon used again, so they are only shown as they were in
 * the call ---- */

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

	if (most < sizeof(family) || !perch__read_whole(process, address, bytes, most))
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

/* Numbers of the bits that are set: [3 5], of descriptors or CPUs. */
static bool put_set(struct perch__say *to, const struct perch_syscall_process *process,
		    uint64_t address, uint64_t bits)
{
	unsigned long words[MOST_BITS / LONG_BITS] = { 0 };
	size_t used = bits < MOST_BITS ? (size_t)bits : MOST_BITS, shown = 0;
	size_t size = (used + LONG_BITS - 1) / LONG_BITS * sizeof(long);

	if (!used || !perch__read_whole(process, address, words, size))
		return false;
	perch__say_put(to, "[", 1);
	for (size_t i = 0; i < used && shown <= MOST_SHOWN; i++) {
		if (!(words[i / LONG_BITS] >> i % LONG_BITS & 1))
			continue;
		if (shown++)
			perch__say_put(to, " ", 1);
		if (shown > MOST_SHOWN)
			perch__say_add(to, "...");
		else
			perch__say_number(to, i, 10);
	}
	perch__say_put(to, "]", 1);
	return true;
}

static void put_or_pointer(struct perch__say *to, unsigned kind,
			   const struct perch_syscall_process *process, uint64_t address,
			   uint64_t nr)
{
	if (!address || !perch__say_value(to, kind, process, address, nr))
		perch__say_pointer(to, address);
}

/* Before a message is received, its name and flags are those of the one before. */
static bool put_message(struct perch__say *to, const struct perch_syscall_process *process,
			uint64_t address, bool received)
{
	struct {
		uint64_t name;
		uint32_t name_length, unused;
		uint64_t vectors, nr_vectors, control, control_length;
		uint32_t flags, unused_too;
	} message;

	if (!perch__read_whole(process, address, &message, sizeof(message)))
		return false;
	perch__say_add(to, "{msg_name=");
	if (received)
		perch__say_pointer(to, message.name);
	else
		put_or_pointer(to, PERCH__ARG_SOCKADDR, process, message.name, message.name_length);
	perch__say_add(to, ", msg_namelen=");
	perch__say_number(to, message.name_length, 10);
	perch__say_add(to, ", msg_iov=");
	put_or_pointer(to, PERCH__ARG_IOVECS, process, message.vectors, message.nr_vectors);
	perch__say_add(to, ", msg_iovlen=");
	perch__say_number(to, message.nr_vectors, 10);
	perch__say_add(to, ", msg_controllen=");
	perch__say_number(to, message.control_length, 10);
	if (!received) {
		perch__say_add(to, ", msg_flags=");
		perch__say_words(to, PERCH__ARG_MSG_FLAGS, message.flags);
	}
	perch__say_put(to, "}", 1);
	return true;
}

bool perch__say_value(struct perch__say *to, unsigned kind,
		      const struct perch_syscall_process *process, uint64_t address, uint64_t nr)
{
	switch (kind) {
	case PERCH__ARG_SOCKADDR:
		return put_address(to, process, address, nr);
	case PERCH__ARG_FD_SET:
	case PERCH__ARG_CPU_SET:
		return put_set(to, process, address, nr);
	case PERCH__ARG_MESSAGE:
	case PERCH__ARG_RECEIVED_MESSAGE:
		return put_message(to, process, address, kind == PERCH__ARG_RECEIVED_MESSAGE);
	default:
		return perch__is_struct(kind, false) &&
		       perch__say_struct(to, kind, process, address, nr);
	}
}
