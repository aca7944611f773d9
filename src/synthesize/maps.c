/* SPDX-License-Identifier: MIT */
/* The mappings of a process. It chooses the text of the file, so the text is not trusted. */
#include <string.h>
#include <sys/mman.h>

#include "base/kernel/mmap_build_id.h"
#include "internal.h"

#define ANONYMOUS "//anon"    /* as in records of the kernel */
#define TOO_LONG  "//toolong" /* as in records of the kernel */

/* Reads a number and the byte after it. Returns the text after that, or NULL for another form. */
static char *take_number(char *text, unsigned base, char end, uint64_t *number)
{
	uint64_t value = 0;
	char *at = text;

	for (;; at++) {
		unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
				 : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
							    : base;

		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return NULL;
		value = value * base + digit;
	}
	if (at == text || *at != end)
		return NULL;
	*number = value;
	return *at ? at + 1 : at;
}

/* Undoes the only escape of the file: a newline in the path. Returns the length. */
static size_t unescape_path(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return (size_t)(to - path);
}

/* The text after the inode: spaces, and the path if there is one. */
static const char *take_name(char *text)
{
	while (*text == ' ')
		text++;
	if (!*text)
		return ANONYMOUS;
	return unescape_path(text) < PATH_MAX ? text : TOO_LONG;
}

static char *take_protection(char *text, struct perch__mapping *mapping)
{
	if (strnlen(text, 5) < 5 || text[4] != ' ')
		return NULL;
	mapping->protection = (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
			      (text[2] == 'x' ? PROT_EXEC : 0);
	mapping->flags = text[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	return text + 5;
}

/* Parses a line without its newline: "start-end rwxp offset major:minor inode   path". It unescapes
 * the path in place; *name points into the line or is a constant. Returns false for a line of
 * another form. */
static bool parse_mapping(char *line, struct perch__mapping *mapping, const char **name)
{
	uint64_t end, major, minor;
	size_t inode_end;
	char *at = line;

	*mapping = (struct perch__mapping){ 0 };
	at = take_number(at, 16, '-', &mapping->start);
	at = at ? take_number(at, 16, ' ', &end) : NULL;
	at = at ? take_protection(at, mapping) : NULL;
	at = at ? take_number(at, 16, ' ', &mapping->page_offset) : NULL;
	at = at ? take_number(at, 16, ':', &major) : NULL;
	at = at ? take_number(at, 16, ' ', &minor) : NULL;
	if (!at)
		return false;
	inode_end = strcspn(at, " ");
	at = take_number(at, 10, at[inode_end], &mapping->inode);
	if (!at || end <= mapping->start || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	mapping->length = end - mapping->start;
	mapping->major = (uint32_t)major;
	mapping->minor = (uint32_t)minor;
	*name = take_name(at);
	return true;
}

/* Replaces device and inode of the record by the build id. Returns false if readers would not take
 * it for one. */
static bool set_build_id(const struct perch__batch *batch, struct perch__mapping *mapping,
			 const struct perch__file_build_id *build_id)
{
	enum {
		AT = offsetof(struct perch__mapping, major),
		END = offsetof(struct perch__mapping, protection)
	};
	uint8_t bytes[PERCH__MMAP_BUILD_ID_BYTES];

	_Static_assert(END - AT == PERCH__MMAP_BUILD_ID_BYTES, "the layout of the record");
	if (!perch__put_mmap_build_id(bytes, build_id->bytes, build_id->size) &&
	    !batch->certain_build_ids)
		return false;
	memcpy((char *)mapping + AT, bytes, sizeof(bytes));
	return true;
}

static void add_mapping(struct perch__batch *batch, pid_t pid)
{
	const struct perch__file_build_id *build_id = NULL;
	uint16_t misc = PERCH_MISC_USER;
	struct perch__mapping mapping;
	const char *name;
	bool data;

	if (!parse_mapping(batch->line, &mapping, &name)) {
		batch->counts.skipped++;
		return;
	}
	data = !(mapping.protection & PROT_EXEC);
	misc |= data ? PERCH_MISC_MMAP_DATA : 0;
	if (!(batch->records & (data ? PERCH_SYNTHESIZE_MMAP_DATA : PERCH_SYNTHESIZE_MMAP)))
		return;
	mapping.pid = mapping.tid = (uint32_t)pid;
	if (batch->records & PERCH_SYNTHESIZE_BUILD_IDS)
		build_id = perch__find_build_id(batch, &mapping, name);
	if (build_id && set_build_id(batch, &mapping, build_id))
		misc |= PERCH_MISC_MMAP_BUILD_ID;
	perch__batch_add(batch, PERCH_RECORD_MMAP2, misc, &mapping, sizeof(mapping), name);
}

int perch__add_mappings(struct perch__batch *batch, pid_t pid)
{
	char path[64];
	FILE *file;
	int errnum;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = perch__batch_open_stream(batch, path);
	if (!file)
		return errno;
	errno = 0;
	while (!batch->rc && perch__batch_next_line(batch, file))
		add_mapping(batch, pid);
	errnum = ferror(file) ? errno : 0;
	fclose(file);
	return errnum;
}
