/* SPDX-License-Identifier: MIT */
/*
 * Reads a jitdump: a header, then records. The program writes them while it runs, so the last
 * record may be incomplete, and the file may grow. The bytes of code are not read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/files/io.h"
#include "base/files/open_file.h"
#include "base/kernel/process_owner.h"
#include "base/kernel/recorded_process.h"
#include "base/search.h"
#include "internal.h"

enum {
	MAGIC = 0x4a695444,
	HEADER_SIZE = 40,
	VERSION = 1,
	FLAG_ARCH_TIMESTAMP = 1,
	CODE_LOAD = 0,
	CODE_MOVE = 1,
	CODE_LINES = 2,
	CODE_CLOSE = 3,
	CODE_UNWINDING = 4,
	PREFIX_SIZE = 16, /* of each record: type, size, time */
	LOAD_SIZE = PREFIX_SIZE + 40,
	LINES_SIZE = PREFIX_SIZE + 16,
	MOVE_SIZE = PREFIX_SIZE + 48,
	MAX_NAME = 4096,
	MAX_FUNCTIONS = 1 << 22,
	MAX_CHANGES = 2 * MAX_FUNCTIONS,
	MAX_TEXT = 1 << 28, /* bytes of all names */
	TEXT_CHUNK = 1 << 16,
	BUFFER = 1 << 15,
};

struct jit_text {
	struct jit_text *next;
	char bytes[];
};

/* ---- bytes ---- */

/* A part of the file. */
struct window {
	int fd;
	uint64_t start;
	size_t size;
	uint8_t bytes[BUFFER];
};

/* Returns size bytes at an offset, or NULL if the file does not have them. */
static const uint8_t *read_at(struct window *window, uint64_t offset, size_t size)
{
	if (offset < window->start || offset - window->start > window->size ||
	    window->size - (offset - window->start) < size) {
		ssize_t got;

		do
			got = pread(window->fd, window->bytes, sizeof(window->bytes),
				    (off_t)offset);
		while (got < 0 && errno == EINTR);
		window->start = offset;
		window->size = got > 0 ? (size_t)got : 0;
	}
	offset -= window->start;
	return window->size - offset >= size ? window->bytes + offset : NULL;
}

/* Returns a copy that lives as long as the jitdump; NULL if out of memory. */
static char *copy_text(struct perch_jitdump *jitdump, const char *bytes, size_t length)
{
	char *copy;

	if (length >= jitdump->text_left) {
		struct jit_text *text =
			jitdump->text_size < MAX_TEXT ? malloc(sizeof(*text) + TEXT_CHUNK) : NULL;

		if (!text)
			return NULL;
		text->next = jitdump->text;
		jitdump->text = text;
		jitdump->text_next = text->bytes;
		jitdump->text_left = TEXT_CHUNK;
		jitdump->text_size += TEXT_CHUNK;
	}
	copy = jitdump->text_next;
	memcpy(copy, bytes, length);
	copy[length] = 0;
	jitdump->text_next += length + 1;
	jitdump->text_left -= length + 1;
	return copy;
}

/* ---- records ---- */

static bool same_code_index(const void *items, uint32_t index, const void *wanted)
{
	return ((const struct jit_function *)items)[index].code_index == *(const uint64_t *)wanted;
}

/* Returns the first function with a code index, or NULL. */
static struct jit_function *find_code_index(const struct perch_jitdump *jitdump, uint64_t index)
{
	uint64_t hash = perch__hash_integer(jitdump->by_code_index.seed, index);
	uint32_t first = perch__hash_find(&jitdump->by_code_index, hash, same_code_index,
					  jitdump->function, &index);

	return first == PERCH__HASH_NONE ? NULL : &jitdump->function[first];
}

static int add_code_index(struct perch_jitdump *jitdump, uint32_t number)
{
	uint64_t index = jitdump->function[number].code_index;
	struct jit_function *first = find_code_index(jitdump, index);

	if (first) {
		first->latest = number;
		return 0;
	}
	jitdump->function[number].latest = number;
	return perch__hash_add(&jitdump->by_code_index,
			       perch__hash_integer(jitdump->by_code_index.seed, index), number);
}

static int add_change(struct perch_jitdump *jitdump, const struct jit_change *change)
{
	struct jit_change *added;

	if (jitdump->nr_changes == MAX_CHANGES) {
		jitdump->damaged++;
		return 0;
	}
	added = PERCH__ARRAY_APPEND(jitdump->change, jitdump->nr_changes,
				    jitdump->changes_capacity);
	if (!added)
		return -ENOMEM;
	*added = *change;
	return 0;
}

/*
 * Reads the fixed part of a load. The code is at the end of the record, and the name before it.
 * Returns the name, whose length is set; NULL if the record is damaged.
 */
static const char *parse_load(const struct perch_jitdump *jitdump, struct window *window,
			      uint64_t size, struct jit_function *loaded, size_t *length)
{
	const uint8_t *bytes = read_at(window, jitdump->offset, LOAD_SIZE);
	const char *name;
	size_t most;

	if (size <= LOAD_SIZE || !bytes || loaded->time == UINT64_MAX)
		return NULL;
	loaded->present = loaded->address = perch__jitdump_u64(jitdump, bytes + 32);
	loaded->size = perch__jitdump_u64(jitdump, bytes + 40);
	loaded->code_index = perch__jitdump_u64(jitdump, bytes + 48);
	if (!loaded->size || loaded->size >= size - LOAD_SIZE ||
	    loaded->address + loaded->size < loaded->address)
		return NULL;
	loaded->offset = jitdump->offset + size - loaded->size;
	most = size - LOAD_SIZE - loaded->size;
	if (most > MAX_NAME)
		most = MAX_NAME;
	name = (const char *)read_at(window, jitdump->offset + LOAD_SIZE, most);
	*length = name ? strnlen(name, most) : 0;
	/* only a long name may have its end elsewhere */
	return *length && (*length < most || most == MAX_NAME) ? name : NULL;
}

static int read_load(struct perch_jitdump *jitdump, struct window *window, uint64_t size,
		     uint64_t time)
{
	struct jit_function *function, loaded = { .time = time };
	struct jit_change change = { .time = time, .function = (uint32_t)jitdump->nr_functions };
	size_t length;
	const char *name = parse_load(jitdump, window, size, &loaded, &length);

	if (!name || jitdump->nr_functions == MAX_FUNCTIONS ||
	    (length >= jitdump->text_left && jitdump->text_size >= MAX_TEXT)) {
		jitdump->damaged++;
		return 0;
	}
	loaded.name = copy_text(jitdump, name, length);
	function = loaded.name ? PERCH__ARRAY_APPEND(jitdump->function, jitdump->nr_functions,
						     jitdump->functions_capacity)
			       : NULL;
	if (!function)
		return -ENOMEM;
	*function = loaded;
	if (jitdump->lines_at && jitdump->lines_address == loaded.address) {
		function->lines_at = jitdump->lines_at;
		function->lines_size = jitdump->lines_size;
	}
	function->unwinding_at = jitdump->unwinding_at;
	function->unwinding_size = jitdump->unwinding_size;
	jitdump->lines_at = jitdump->unwinding_at = 0;
	change.address = loaded.address;
	if (add_code_index(jitdump, change.function))
		return -ENOMEM;
	return add_change(jitdump, &change);
}

static int read_move(struct perch_jitdump *jitdump, struct window *window, uint64_t size,
		     uint64_t time)
{
	const uint8_t *bytes = read_at(window, jitdump->offset, MOVE_SIZE);
	struct jit_function *function = NULL;
	struct jit_change change = { .time = time, .moves = true };

	if (size >= MOVE_SIZE && bytes)
		function = find_code_index(jitdump, perch__jitdump_u64(jitdump, bytes + 56));
	if (function)
		function = &jitdump->function[function->latest];
	if (!function || time == UINT64_MAX ||
	    perch__jitdump_u64(jitdump, bytes + 48) != function->size ||
	    perch__jitdump_u64(jitdump, bytes + 32) != function->present) {
		jitdump->damaged++;
		return 0;
	}
	change.from = function->present;
	change.address = perch__jitdump_u64(jitdump, bytes + 40);
	change.function = (uint32_t)(function - jitdump->function);
	if (change.address + function->size < change.address) {
		jitdump->damaged++;
		return 0;
	}
	function->present = change.address;
	return add_change(jitdump, &change);
}

/* The lines come before the function. */
static void read_lines(struct perch_jitdump *jitdump, struct window *window, uint32_t size)
{
	const uint8_t *bytes = read_at(window, jitdump->offset, LINES_SIZE);

	jitdump->lines_at = 0;
	if (size < LINES_SIZE || !bytes) {
		jitdump->damaged++;
		jitdump->damaged_lines++;
		return;
	}
	jitdump->lines_at = jitdump->offset;
	jitdump->lines_size = size;
	jitdump->lines_address = perch__jitdump_u64(jitdump, bytes + PREFIX_SIZE);
}

/* ---- the file ---- */

static __attribute__((format(printf, 2, 3))) void set_error(struct perch_jitdump *jitdump,
							    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(jitdump->error, sizeof(jitdump->error), format, arguments);
	va_end(arguments);
}

/* Sets .started, or .complete for a file that cannot be used. */
static void read_header(struct perch_jitdump *jitdump, struct window *window)
{
	const uint8_t *bytes = read_at(window, 0, HEADER_SIZE);
	uint32_t size, version;
	uint64_t flags;

	if (!bytes)
		return;
	jitdump->swapped = perch__jitdump_u32(jitdump, bytes) == __builtin_bswap32(MAGIC);
	version = perch__jitdump_u32(jitdump, bytes + 4);
	size = perch__jitdump_u32(jitdump, bytes + 8);
	flags = perch__jitdump_u64(jitdump, bytes + 32);
	jitdump->complete = true;
	if (perch__jitdump_u32(jitdump, bytes) != MAGIC || size < HEADER_SIZE)
		set_error(jitdump, "not a jitdump file");
	else if (version != VERSION)
		set_error(jitdump, "the version of the format is %u, and only %u is supported",
			  version, VERSION);
	else if (flags & FLAG_ARCH_TIMESTAMP)
		set_error(jitdump, "its times are those of the CPU's counter and not of "
				   "CLOCK_MONOTONIC");
	else if (flags)
		set_error(jitdump, "unknown flags %#llx in the header", (unsigned long long)flags);
	else {
		jitdump->started = true;
		jitdump->complete = false;
		jitdump->error[0] = 0;
		jitdump->offset = size;
	}
}

/* Returns 1, 0 at the end of what the file has, or -ENOMEM. */
static int read_record(struct perch_jitdump *jitdump, struct window *window, uint64_t file_size)
{
	const uint8_t *bytes = read_at(window, jitdump->offset, PREFIX_SIZE);
	uint32_t type, size;
	uint64_t time;
	int rc = 0;

	if (!bytes)
		return 0;
	type = perch__jitdump_u32(jitdump, bytes);
	size = perch__jitdump_u32(jitdump, bytes + 4);
	time = perch__jitdump_u64(jitdump, bytes + 8);
	if (size < PREFIX_SIZE) {
		jitdump->damaged++;
		jitdump->complete = true;
		return 0;
	}
	if (file_size < jitdump->offset || file_size - jitdump->offset < size)
		return 0;
	if (type == CODE_LOAD)
		rc = read_load(jitdump, window, size, time);
	else if (type == CODE_MOVE)
		rc = read_move(jitdump, window, size, time);
	else if (type == CODE_LINES)
		read_lines(jitdump, window, size);
	else if (type == CODE_UNWINDING)
		jitdump->unwinding_at = jitdump->offset, jitdump->unwinding_size = size;
	else if (type == CODE_CLOSE)
		jitdump->complete = true;
	jitdump->offset += size;
	return rc ? rc : !jitdump->complete;
}

static int compare_change(const void *a, const void *b)
{
	const struct jit_change *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	/* functions have the order of the file, and moves follow loads */
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->moves - y->moves;
}

int perch__jitdump_read(struct perch_jitdump *jitdump)
{
	struct window *window;
	struct stat status;
	int rc = 1;

	if (jitdump->fd < 0 || jitdump->complete || fstat(jitdump->fd, &status) ||
	    (uint64_t)status.st_size <= jitdump->offset)
		return 0;
	window = malloc(sizeof(*window));
	if (!window)
		return -ENOMEM;
	window->fd = jitdump->fd;
	window->start = window->size = 0;
	if (!jitdump->started)
		read_header(jitdump, window);
	while (rc > 0 && jitdump->started)
		rc = read_record(jitdump, window, (uint64_t)status.st_size);
	free(window);
	/* several threads may write, each with its own times */
	if (jitdump->nr_changes > jitdump->next_change)
		qsort(jitdump->change + jitdump->next_change,
		      jitdump->nr_changes - jitdump->next_change, sizeof(*jitdump->change),
		      compare_change);
	return rc < 0 ? rc : 0;
}

static bool is_trusted(const struct perch_jitdump *jitdump,
		       const struct perch_jitdump_options *options, uid_t owner)
{
	const struct process *process = jitdump->process;

	return !owner || owner == geteuid() || options->any_owner ||
	       perch__is_one_of_users(process->users.user, process->users.nr, owner) ||
	       (!options->root &&
		perch__recorded_process_runs(process->pid, options->recorded_at) &&
		perch__process_has_user(process->pid, owner));
}

/* Returns a descriptor or a negative errno. Without an inode to compare, the file must belong to
 * this user, to root or to the user of the process. Below the root of the options, which the user
 * names, it may be a copy. */
static int open_below(const char *root, const char *path, const struct perch_jitdump *jitdump,
		      const struct perch_mmap_record *mmap,
		      const struct perch_jitdump_options *options)
{
	int fd = perch__open_regular(root, path), rc = 0;
	struct stat status;
	bool same;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status)) {
		close(fd);
		return -EIO;
	}
	same = mmap->inode && perch__is_file(fd, mmap->major, mmap->minor, mmap->inode);
	if (mmap->inode && !same && !options->root)
		rc = -ESTALE;
	else if (!same && !is_trusted(jitdump, options, status.st_uid))
		rc = -EPERM;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* As the process sees the file, or has mapped it: its path may be gone. Else, or if the process has
 * ended, as this process sees it. */
static int open_file(const struct perch_jitdump *jitdump,
		     const struct perch_jitdump_options *options,
		     const struct perch_mmap_record *mmap)
{
	const char *path = jitdump->dso->path;
	char of_process[96];
	int fd = -ENOENT;

	if (options->root)
		return open_below(options->root, path, jitdump, mmap, options);
	if (perch__recorded_process_runs(mmap->pid, options->recorded_at)) {
		snprintf(of_process, sizeof(of_process), "/proc/%u/root", mmap->pid);
		fd = open_below(of_process, path, jitdump, mmap, options);
		if (fd < 0 && mmap->inode) {
			snprintf(of_process, sizeof(of_process),
				 "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, mmap->pid, mmap->start,
				 mmap->start + mmap->length);
			fd = open_below(NULL, of_process, jitdump, mmap, options);
		}
	}
	return fd < 0 ? open_below(NULL, path, jitdump, mmap, options) : fd;
}

void perch__jitdump_open(struct perch_jitdump *jitdump, const struct perch_jitdump_options *options,
			 const struct perch_mmap_record *mmap)
{
	jitdump->fd = -1;
	jitdump->by_code_index.seed = perch__hash_seed(jitdump);
	if (options->other_clock)
		set_error(jitdump,
			  "its times are those of CLOCK_MONOTONIC, and those of the recording are "
			  "of another clock; record with -k mono");
	else if (options->foreign && !options->root)
		set_error(jitdump, "recorded on another machine");
	else
		jitdump->fd = open_file(jitdump, options, mmap);
	if (jitdump->error[0])
		jitdump->fd = -1;
	else if (jitdump->fd == -ESTALE)
		set_error(jitdump, "the file was replaced after the recording");
	else if (jitdump->fd == -EPERM) {
		set_error(jitdump, "the file belongs neither to this user nor to root, nor is its "
				   "owner known to be the user of the process");
		jitdump->of_other_user = true;
	} else if (jitdump->fd < 0)
		set_error(jitdump, "%s", strerror(-jitdump->fd));
	else /* until the header is read: the program may write it later */
		set_error(jitdump, "the file has no header");
	jitdump->complete = jitdump->fd < 0;
}

static void free_lines(struct jit_lines *lines)
{
	if (!lines)
		return;
	free(lines->record);
	free(lines);
}

void perch__jitdump_close(struct perch_jitdump *jitdump)
{
	if (jitdump->fd >= 0)
		close(jitdump->fd);
	jitdump->fd = -1;
	jitdump->complete = true;
}

void perch__jitdump_free(struct perch_jitdump *jitdump)
{
	while (jitdump->text) {
		struct jit_text *next = jitdump->text->next;

		free(jitdump->text);
		jitdump->text = next;
	}
	perch__jitdump_close(jitdump);
	perch__hash_clear(&jitdump->by_code_index);
	for (size_t i = 0; i < jitdump->nr_functions; i++)
		free_lines(jitdump->function[i].lines);
	free(jitdump->function);
	free(jitdump->change);
	free(jitdump);
}

/* ---- lookups ---- */

int perch_jitdump_find(const struct perch_jitdump *jitdump, uint64_t offset,
		       struct perch_jit_function *found)
{
	const struct jit_function *function = jitdump->function;
	size_t low = PERCH__SEARCH(jitdump->nr_functions, i,
				   function[i].offset + function[i].size <= offset);

	if (low == jitdump->nr_functions || function[low].offset > offset)
		return -ENOENT;
	function += low;
	*found = (struct perch_jit_function){
		.number = (uint32_t)low,
		.offset = function->offset,
		.size = function->size,
		.address = function->address,
		.time = function->time,
		.name = function->name,
	};
	return 0;
}

void *perch__jitdump_bytes(const struct perch_jitdump *jitdump, uint64_t offset, size_t size,
			   int *rc)
{
	uint8_t *bytes = NULL;

	*rc = -ENOENT;
	if (jitdump->fd < 0)
		return NULL;
	bytes = malloc(size);
	*rc = bytes ? 0 : -ENOMEM;
	if (bytes && perch__pread_all(jitdump->fd, bytes, size, offset)) {
		*rc = -EBADMSG;
		free(bytes);
		return NULL;
	}
	return bytes;
}

const char *perch_jitdump_error(const struct perch_jitdump *jitdump)
{
	return jitdump->error[0] ? jitdump->error : NULL;
}

int perch_jitdump_fd(const struct perch_jitdump *jitdump)
{
	return jitdump->fd;
}

bool perch_jitdump_is_of_other_user(const struct perch_jitdump *jitdump)
{
	return jitdump->of_other_user;
}

uint64_t perch_jitdump_damaged_records(const struct perch_jitdump *jitdump)
{
	return jitdump->damaged;
}

uint64_t perch_jitdump_damaged_lines(const struct perch_jitdump *jitdump)
{
	return jitdump->damaged_lines;
}
