/* SPDX-License-Identifier: MIT */
/*
 * Functions of a JIT compiler, from the map file that it writes: lines "START SIZE NAME", both
 * numbers in hexadecimal. The compiler appends lines while it runs, so the file may grow between
 * two lookups, and its last line may be incomplete until the process ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files/io.h"
#include "base/kernel/process_owner.h"
#include "base/search.h"
#include "internal.h"

enum {
	MAX_TEXT = 1 << 28,	 /* bytes of all texts of a map file */
	MAX_FUNCTIONS = 1 << 22, /* of a map file */
	CHECK_INTERVAL = 100,	 /* milliseconds between two looks at the file */
};

#define NS_PER_S     1000000000ull
#define SINCE_MARGIN (60 * NS_PER_S) /* a compiler may write its map, and then be recorded */

/* Bytes of the file. They stay until the end, because symbols use their names. */
struct map_text {
	struct map_text *next;
	char bytes[];
};

/* A range of addresses, and the last function of the file that covers it. */
struct map_range {
	uint64_t start, end;
	uint32_t function;
};

struct perf_map {
	struct map_text *text;
	size_t text_size; /* of all texts */
	struct map_function *function;
	size_t nr, capacity;
	struct map_range *range; /* sorted, without overlaps */
	size_t nr_ranges, ranges_capacity;
	uint64_t damaged; /* lines */
	bool ended;	  /* the process: the last line needs no newline */
	/* what the file had without its last line, if that has no newline and was added */
	size_t last_line, nr_before; /* last_line: its bytes, from .offset on; 0: there is none */
	uint64_t damaged_before;
	dev_t device;
	ino_t inode;
	off_t offset;	 /* of the first byte that was not read */
	int64_t checked; /* time of the last look at the file, in ms; 0 is never */
};

/* ---- lines ---- */

static bool parse_number(const char **at, uint64_t *number)
{
	char *end;

	/* strtoull() accepts blanks and signs */
	if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 16);
	if (errno || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static void add_line(struct perf_map *map, const char *line)
{
	struct map_function *function;
	uint64_t start, size;

	if (!parse_number(&line, &start) || !parse_number(&line, &size) || !*line ||
	    start + size < start) {
		map->damaged++;
		return;
	}
	if (!size) /* an empty function covers no address */
		return;
	function = PERCH__ARRAY_APPEND_MAX(map->function, map->nr, map->capacity, MAX_FUNCTIONS);
	if (!function) {
		map->damaged++;
		return;
	}
	*function = (struct map_function){ start, start + size, line, NO_ENTRY };
}

/* A NUL inside of a line damages it. */
static void add_checked_line(struct perf_map *map, const char *line, size_t length)
{
	if (strlen(line) != length)
		map->damaged++;
	else
		add_line(map, line);
}

/*
 * Adds the complete lines of a text, and returns their size. The byte behind the text is 0. A last
 * line without a newline is added if its process has ended, and is read again if it grows all the
 * same: a file below the directory of the options may be that of a process that runs.
 */
static size_t add_lines(struct perf_map *map, char *text, size_t size)
{
	char *at = text, *end = text + size, *newline;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		*newline = 0;
		add_checked_line(map, at, (size_t)(newline - at));
	}
	if (at < end && map->ended) {
		map->nr_before = map->nr;
		map->damaged_before = map->damaged;
		map->last_line = (size_t)(end - at);
		add_checked_line(map, at, map->last_line);
	}
	return (size_t)(at - text);
}

/* ---- ranges: the last line counts where functions overlap ---- */

struct by_start {
	uint64_t start;
	uint32_t function;
};

static int compare_start(const void *a, const void *b)
{
	uint64_t x = ((const struct by_start *)a)->start, y = ((const struct by_start *)b)->start;

	return x < y ? -1 : x > y;
}

/* A heap of functions: the last one of the file is at its top. */
static void heap_push(uint32_t *heap, size_t *nr, uint32_t function)
{
	size_t at = (*nr)++;

	for (; at && heap[(at - 1) / 2] < function; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = function;
}

static void heap_pop(uint32_t *heap, size_t *nr)
{
	uint32_t last = heap[--*nr];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < *nr) {
		if (child + 1 < *nr && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= last)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
}

static int add_range(struct perf_map *map, uint64_t start, uint64_t end, uint32_t function)
{
	struct map_range *last = map->nr_ranges ? &map->range[map->nr_ranges - 1] : NULL;

	if (last && last->end == start && last->function == function) {
		last->end = end;
		return 0;
	}
	last = PERCH__ARRAY_APPEND(map->range, map->nr_ranges, map->ranges_capacity);
	if (!last)
		return -ENOMEM;
	*last = (struct map_range){ start, end, function };
	return 0;
}

static int sweep(struct perf_map *map, const struct by_start *sorted, uint32_t *heap)
{
	size_t next = 0, open = 0;
	uint64_t at = 0;

	map->nr_ranges = 0;
	while (next < map->nr || open) {
		uint64_t end;

		if (!open)
			at = sorted[next].start;
		while (next < map->nr && sorted[next].start <= at)
			heap_push(heap, &open, sorted[next++].function);
		while (open && map->function[heap[0]].end <= at)
			heap_pop(heap, &open);
		if (!open)
			continue;
		end = map->function[heap[0]].end;
		if (next < map->nr && sorted[next].start < end)
			end = sorted[next].start;
		if (add_range(map, at, end, heap[0]))
			return -ENOMEM;
		at = end;
	}
	return 0;
}

static int make_ranges(struct perf_map *map)
{
	struct by_start *sorted = perch__reallocarray(NULL, map->nr + 1, sizeof(*sorted));
	uint32_t *heap = perch__reallocarray(NULL, map->nr + 1, sizeof(*heap));
	int rc = -ENOMEM;

	if (sorted && heap) {
		for (size_t i = 0; i < map->nr; i++)
			sorted[i] = (struct by_start){ map->function[i].start, (uint32_t)i };
		qsort(sorted, map->nr, sizeof(*sorted), compare_start);
		rc = sweep(map, sorted, heap);
	}
	if (rc)
		map->nr_ranges = 0;
	free(sorted);
	free(heap);
	return rc;
}

/* ---- the file ---- */

static const char later_map[] = "it was made after the recording, and the process has ended";

/*
 * Map files are never removed, and process ids are used again. Returns why the file is, or may be,
 * that of another process with the same id; NULL if it is not, or if it is unknown when the
 * recording was made. started: when the running process with the id started; 0 if none runs.
 */
static const char *other_process(int fd, const struct sources *sources, const struct perch_dso *dso,
				 uint64_t started)
{
	uint64_t recorded_at = sources->recorded_at, written, made;
	bool later = perch__started_later(started, recorded_at);
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MTIME | STATX_BTIME, &status))
		return "its times cannot be read";
	if (perch__is_undated(sources))
		return NULL;
	written = perch__ns_of(&status.stx_mtime);
	made = status.stx_mask & STATX_BTIME ? perch__ns_of(&status.stx_btime) : 0;
	if (started && !later)
		return written + PERCH__TIME_MARGIN < started ? "it is older than the process"
							      : NULL;
	if (later && written + PERCH__TIME_MARGIN > started)
		return "a later process with this id may have written it";
	if (recorded_at && made > recorded_at + PERCH__TIME_MARGIN)
		return later_map;
	if (written + SINCE_MARGIN >= sources->recorded_since)
		return NULL;
	return dso->mapped_in_recording
		       ? "it is older than the process"
		       : "it is older than the recording, and may be that of an earlier process: "
			 "report while the process runs";
}

/* A process whose map file is read. */
struct map_process {
	const struct sources *sources;
	const struct perch_process_users *users; /* that the recording has */
	unsigned pid;
	bool runs; /* the process that was recorded */
};

static bool is_trusted(const struct map_process *process, uid_t owner)
{
	return !owner || owner == geteuid() || process->sources->any_owner ||
	       perch__is_one_of_users(process->users->user, process->users->nr, owner) ||
	       (process->runs && perch__process_has_user(process->pid, owner));
}

/* Others may write to /tmp, so the file must belong to this user, to root or to the user of the
 * process, and must not be a symbolic link. Returns 0 or a negative errno. */
static int check_owner(int fd, const char *path, const struct map_process *process,
		       struct symbol_error *error)
{
	struct stat link, status;

	if (lstat(path, &link) || fstat(fd, &status) || link.st_ino != status.st_ino ||
	    link.st_dev != status.st_dev) {
		perch__set_symbol_error(error, "the file is a symbolic link");
		return -ELOOP;
	}
	if (!is_trusted(process, status.st_uid)) {
		perch__set_symbol_reason(error, PERCH_SYMBOLS_OTHER_OWNER,
					 "the file belongs to uid %u, which is neither this user "
					 "nor root, nor known to be the user of the process",
					 (unsigned)status.st_uid);
		return -EPERM;
	}
	return 0;
}

/* Opens the map file of a process below a directory. pid: its id there. */
static int open_in(const char *root, unsigned pid, const struct map_process *process,
		   struct symbol_error *error)
{
	char path[64], *whole;
	int fd, rc;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	fd = perch__open_regular(root, path);
	if (fd < 0) {
		perch__set_symbol_errno(error, -fd);
		return fd;
	}
	rc = perch__asprintf(&whole, "%s%s", root ? root : "", path) < 0 ? -ENOMEM : 0;
	if (!rc) {
		rc = check_owner(fd, whole, process, error);
		free(whole);
	}
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* The file of the process's own root and pid namespace; else, or if it has ended, that of /tmp. */
static int open_of_process(const struct map_process *process, struct symbol_error *error)
{
	unsigned inner = process->runs ? perch__namespace_pid(process->pid) : 0;
	char root[64];
	int fd;

	if (inner) {
		snprintf(root, sizeof(root), "/proc/%u/root", process->pid);
		fd = open_in(root, inner, process, error);
		if (fd >= 0 || (fd != -ENOENT && fd != -EACCES))
			return fd;
	}
	return open_in(NULL, process->pid, process, error);
}

/* *ended: the process cannot write to the file any more. */
static int open_map(const struct sources *sources, const struct perch_dso *dso, unsigned pid,
		    bool *ended, struct symbol_error *error)
{
	struct map_process process = { sources, &dso->users, pid, false };
	uint64_t started;
	const char *other;
	int fd;

	*ended = true;
	if (sources->root)
		return open_in(sources->root, pid, &process, error);
	if (sources->foreign) {
		perch__set_symbol_error(error, "recorded on another machine");
		return -ESTALE;
	}
	started = perch__process_start(pid);
	process.runs = started && !perch__started_later(started, sources->recorded_at);
	*ended = !process.runs;
	fd = open_of_process(&process, error);
	if (fd == -ENOENT && !started && perch__other_namespace("pid", dso->pid_namespace))
		perch__set_symbol_reason(error, PERCH_SYMBOLS_OTHER_PIDS,
					 "the process was in another pid namespace, and its "
					 "file has the process id of that namespace");
	other = fd < 0 ? NULL : other_process(fd, sources, dso, started);
	if (!other)
		return fd;
	perch__set_symbol_reason(
		error, other == later_map ? PERCH_SYMBOLS_LATER_MAP : PERCH_SYMBOLS_OTHER_REASON,
		"%s", other);
	close(fd);
	return -ESTALE;
}

/* Reads what was added since the last time. Returns -ENOMEM, -EFBIG or -EIO. */
static int read_more(struct perf_map *map, int fd, size_t size)
{
	struct map_text *text;
	ssize_t got;
	size_t have;

	if (size > MAX_TEXT - map->text_size)
		return -EFBIG;
	text = perch__malloc(sizeof(*text) + size + 1);
	if (!text)
		return -ENOMEM;
	got = perch__pread_upto(fd, text->bytes, size, (uint64_t)map->offset);
	have = got < 0 ? 0 : (size_t)got;
	text->bytes[have] = 0;
	size = add_lines(map, text->bytes, have);
	if (!size && !map->last_line) {
		free(text);
		return 0;
	}
	map->offset += (off_t)size;
	map->text_size += have;
	text->next = map->text;
	map->text = text;
	return make_ranges(map);
}

static void discard_last_line(struct perf_map *map)
{
	if (!map->last_line)
		return;
	map->nr = map->nr_before;
	map->damaged = map->damaged_before;
	map->last_line = 0;
}

static int read_file(struct perf_map *map, int fd, struct symbol_error *error)
{
	struct stat status;
	int rc = 0;

	if (fstat(fd, &status))
		return -EIO;
	if (status.st_ino != map->inode || status.st_dev != map->device ||
	    status.st_size < map->offset + (off_t)map->last_line) {
		/* a new file: what the old one had is no longer there */
		map->inode = status.st_ino;
		map->device = status.st_dev;
		map->offset = 0;
		map->nr = map->nr_ranges = 0;
		map->damaged = 0;
		map->last_line = 0;
	}
	if (status.st_size > map->offset + (off_t)map->last_line) {
		discard_last_line(map);
		rc = read_more(map, fd, (size_t)(status.st_size - map->offset));
	}
	if (rc == -EFBIG)
		perch__set_symbol_error(error, "the file is too large");
	else if (rc)
		perch__set_symbol_errno(error, -rc);
	else if (!map->nr)
		perch__set_symbol_error(error, "the file has no functions");
	return rc;
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000 + 1;
}

/* Looks at the file, at most once in an interval. */
static int check_file(struct perf_map *map, const struct sources *sources,
		      const struct perch_dso *dso, unsigned pid, struct symbol_error *error)
{
	struct symbol_error reason = { 0 };
	int64_t time = now();
	int fd, rc = 0;

	if (map->checked && time - map->checked < CHECK_INTERVAL)
		return 0;
	map->checked = time;
	fd = open_map(sources, dso, pid, &map->ended, &reason);
	if (fd >= 0) {
		rc = read_file(map, fd, &reason);
		close(fd);
	}
	/* the functions of a file that has been removed since then are kept */
	if (map->nr_ranges)
		error->text[0] = 0;
	else
		perch__set_symbol_reason(error, reason.reason, "/tmp/perf-%u.map: %s", pid,
					 reason.text);
	return rc == -ENOMEM ? rc : 0;
}

bool perch__perf_map_pid(const struct perch_dso *dso, unsigned *pid)
{
	int length = 0;

	return perch_dso_is(dso, PERCH_DSO_IS_MEMORY) &&
	       sscanf(dso->path, "/tmp/perf-%u.map%n", pid, &length) == 1 && length &&
	       !dso->path[length];
}

const char *perch__name_of_generated(const struct perch_dso *dso, const char *format, char *buffer,
				     size_t size)
{
	const char *base = perch__base_name(dso->path);
	unsigned pid;

	if (sscanf(base, format, &pid) != 1)
		return base;
	snprintf(buffer, size, "[JIT] tid %u", pid);
	return buffer;
}

struct map_function *perch__perf_map_find(struct perf_map **map, const struct sources *sources,
					  const struct perch_dso *dso, unsigned pid,
					  uint64_t address, struct symbol_error *error)
{
	size_t low;

	if (!*map)
		*map = perch__calloc(1, sizeof(**map));
	if (!*map || check_file(*map, sources, dso, pid, error)) {
		perch__set_symbol_error(error, "out of memory");
		return NULL;
	}
	low = PERCH__SEARCH((*map)->nr_ranges, i, (*map)->range[i].end <= address);
	if (low == (*map)->nr_ranges || (*map)->range[low].start > address)
		return NULL;
	return &(*map)->function[(*map)->range[low].function];
}

struct proof perch__perf_map_proof(const struct sources *sources)
{
	if (sources->root || !perch__is_undated(sources))
		return (struct proof){ 0 };
	return (struct proof){ PERCH_SYMBOLS_UNVERIFIED, PERCH_SYMBOLS_NO_TIME,
			       "the recording does not say when it was made, so the file may be "
			       "that of another process with the same id" };
}

uint64_t perch__perf_map_damaged(const struct perf_map *map)
{
	return map ? map->damaged : 0;
}

void perch__perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	while (map->text) {
		struct map_text *next = map->text->next;

		free(map->text);
		map->text = next;
	}
	free(map->function);
	free(map->range);
	free(map);
}
