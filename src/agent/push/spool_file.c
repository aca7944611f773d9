/* SPDX-License-Identifier: MIT */
/* The names and the head of the files of a spool. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "spool.h"

/* Numbers are little-endian. The version is a part of the magic bytes. */
enum {
	MAGIC_BYTES = 8,
	BODY_SIZE_AT = 8,
	CHECKSUM_AT = 16, /* of the body, then of the profile id */
	FLAGS_AT = 20,
	GZIP_FLAG = 1,
};
static const char magic[MAGIC_BYTES] = { 'p', 'e', 'r', 'c', 'h', 's', 'p', '1' };

static const char waiting_suffix[] = ".window", sent_suffix[] = ".sent";

const char *agent_drop_reason_name(enum agent_drop_reason reason)
{
	static const char *const names[] = {
#define X(name, label) label,
		AGENT_DROP_REASONS(X)
#undef X
	};

	return reason < AGENT_NR_DROP_REASONS ? names[reason] : "";
}

void agent_spool_name(const struct agent_spool_entry *entry, char name[AGENT_SPOOL_NAME])
{
	int at = snprintf(name, AGENT_SPOOL_NAME, "%016" PRIx64 "-%016" PRIx64 "-", entry->target,
			  entry->begin);

	for (size_t i = 0; i < AGENT_PROFILE_ID; i++)
		at += snprintf(name + at, AGENT_SPOOL_NAME - (size_t)at, "%02x",
			       entry->profile_id[i]);
	snprintf(name + at, AGENT_SPOOL_NAME - (size_t)at, "%s",
		 entry->sent ? sent_suffix : waiting_suffix);
}

/* Takes digits, and the character after them. Returns false if they are others. */
static bool take_hex(const char **at, unsigned digits, char end, uint64_t *number)
{
	*number = 0;
	for (unsigned i = 0; i < digits; i++, (*at)++) {
		const char *hex = "0123456789abcdef", *digit = **at ? strchr(hex, **at) : NULL;

		if (!digit)
			return false;
		*number = *number << 4 | (uint64_t)(digit - hex);
	}
	if (!end)
		return true;
	return *(*at)++ == end;
}

bool agent_spool_parse_name(const char *name, struct agent_spool_entry *entry)
{
	*entry = (struct agent_spool_entry){ .target = 0 };
	if (!take_hex(&name, 16, '-', &entry->target) || !take_hex(&name, 16, '-', &entry->begin))
		return false;
	for (size_t i = 0; i < AGENT_PROFILE_ID; i++) {
		uint64_t byte;

		if (!take_hex(&name, 2, 0, &byte))
			return false;
		entry->profile_id[i] = (uint8_t)byte;
	}
	entry->sent = !strcmp(name, sent_suffix);
	return entry->sent || !strcmp(name, waiting_suffix);
}

static uint32_t checksum_of(const struct agent_spool_entry *entry, const void *bytes)
{
	uLong sum = crc32_z(crc32_z(0, NULL, 0), bytes, entry->size);

	return (uint32_t)crc32_z(sum, entry->profile_id, sizeof(entry->profile_id));
}

static void put_number(uint8_t *at, unsigned bytes, uint64_t number)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get_number(const uint8_t *at, unsigned bytes)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < bytes; i++)
		number |= (uint64_t)at[i] << (8 * i);
	return number;
}

void agent_spool_make_head(const struct agent_spool_entry *entry, const void *bytes,
			   uint8_t head[AGENT_SPOOL_HEAD])
{
	memset(head, 0, AGENT_SPOOL_HEAD);
	memcpy(head, magic, sizeof(magic));
	put_number(head + BODY_SIZE_AT, 8, entry->size);
	put_number(head + CHECKSUM_AT, 4, checksum_of(entry, bytes));
	put_number(head + FLAGS_AT, 4, entry->gzip ? GZIP_FLAG : 0);
}

const void *agent_spool_parse(const void *bytes, size_t size, struct agent_spool_entry *entry)
{
	const uint8_t *head = bytes, *body = head + AGENT_SPOOL_HEAD;

	if (size < AGENT_SPOOL_HEAD || memcmp(head, magic, sizeof(magic)))
		return NULL;
	entry->size = get_number(head + BODY_SIZE_AT, 8);
	entry->gzip = get_number(head + FLAGS_AT, 4) & GZIP_FLAG;
	if (entry->size != size - AGENT_SPOOL_HEAD || entry->size > AGENT_BODY_MAX ||
	    get_number(head + CHECKSUM_AT, 4) != checksum_of(entry, body))
		return NULL;
	return body;
}
