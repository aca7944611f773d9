/* SPDX-License-Identifier: MIT */
/*
 * Executables and separate debug files from the servers in DEBUGINFOD_URLS, by libdebuginfod. It is
 * loaded for the first file, because it needs many other libraries. It has a cache of its own.
 *
 * A server may not answer. Waiting ends when few bytes come for some time; then servers have no
 * further requests, so that a report waits once. The rule is that of debuginfod-find(1): 100 KB in
 * DEBUGINFOD_TIMEOUT seconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "base/library.h"
#include "internal.h"

#define LIBRARY "libdebuginfod.so.1"
#ifdef PERCH_STATIC
#define REMEDY "use a perch that is not static"
#else
#define REMEDY "install libdebuginfod (Debian: libdebuginfod1)"
#endif

enum {
	DEFAULT_LIMIT = 30,   /* if DEBUGINFOD_TIMEOUT does not say it */
	LEAST_BYTES = 100000, /* in that time */
	MOST_SECONDS = 600,   /* of all downloads */
	MOST_ANSWERS = 1 << 16,
};

/* The functions of libdebuginfod. It stays loaded: curl has state that outlives its clients. */
struct client;
typedef int progress_function(struct client *client, long done, long total);
typedef int find_function(struct client *client, const unsigned char *build_id, int size,
			  char **path);
static struct {
	struct client *(*begin)(void);
	void (*end)(struct client *client);
	find_function *find[2]; /* by enum debuginfod_kind */
	void (*set_progress)(struct client *client, progress_function *function);
	void (*set_user_data)(struct client *client, void *value);
	void *(*get_user_data)(struct client *client);
	bool ready;
} library;

/* What was answered for a build id. */
struct answer {
	enum debuginfod_kind kind;
	uint8_t build_id[20];
	size_t size;
	int fd; /* -1: none */
};

struct debuginfod {
	struct client *client;
	const char *stopped; /* why there are no further requests */
	struct answer *answer;
	size_t nr_answers, answers_capacity;
	double limit, waited; /* seconds: for the next LEAST_BYTES, and used up */
	perch_download_progress *progress;
	void *context;
	/* of the download */
	const struct perch_dso *dso;
	double started, enough_at; /* enough_at: when `enough` bytes were there */
	long bytes, enough;
	bool ended; /* by on_progress() */
};

static double now_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int perch__debuginfod_new(struct debuginfod **result)
{
	const char *servers = getenv("DEBUGINFOD_URLS"), *limit = getenv("DEBUGINFOD_TIMEOUT");
	long seconds = limit ? strtol(limit, NULL, 10) : 0;

	*result = NULL;
	if (!servers || !servers[strspn(servers, " ")])
		return 0;
	*result = perch__calloc(1, sizeof(**result));
	if (!*result)
		return -ENOMEM;
	(*result)->limit = seconds > 0 && seconds < MOST_SECONDS ? (double)seconds : DEFAULT_LIMIT;
	return 0;
}

void perch__debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	for (size_t i = 0; i < debuginfod->nr_answers; i++)
		if (debuginfod->answer[i].fd >= 0)
			close(debuginfod->answer[i].fd);
	if (debuginfod->client)
		library.end(debuginfod->client);
	free(debuginfod->answer);
	free(debuginfod);
}

void perch__debuginfod_set_progress(struct debuginfod *debuginfod,
				    perch_download_progress *function, void *context)
{
	debuginfod->progress = function;
	debuginfod->context = context;
}

static void load_debuginfod(void)
{
	const struct perch__function functions[] = {
		{ "debuginfod_begin", &library.begin },
		{ "debuginfod_end", &library.end },
		{ "debuginfod_find_debuginfo", &library.find[DEBUGINFOD_DEBUG] },
		{ "debuginfod_find_executable", &library.find[DEBUGINFOD_EXECUTABLE] },
		{ "debuginfod_set_progressfn", &library.set_progress },
		{ "debuginfod_set_user_data", &library.set_user_data },
		{ "debuginfod_get_user_data", &library.get_user_data },
	};

	library.ready = perch__load_library(LIBRARY, functions, PERCH__NR(functions));
}

/* libdebuginfod counts bytes only if it knows the total. Before, it counts the calls. */
static int on_progress(struct client *client, long done, long total)
{
	struct debuginfod *debuginfod = library.get_user_data(client);
	double time = now_seconds();

	if (total > 0)
		debuginfod->bytes = done;
	if (debuginfod->bytes < debuginfod->enough) /* a request that failed is sent again */
		debuginfod->enough = debuginfod->bytes;
	if (debuginfod->bytes - debuginfod->enough >= LEAST_BYTES) {
		debuginfod->enough = debuginfod->bytes;
		debuginfod->enough_at = time;
	}
	if (debuginfod->progress &&
	    !debuginfod->progress(debuginfod->context, debuginfod->dso, (uint64_t)debuginfod->bytes,
				  total > 0 ? (uint64_t)total : 0))
		debuginfod->stopped = "the download from debuginfod was ended";
	else if (time - debuginfod->enough_at > debuginfod->limit)
		debuginfod->stopped =
			debuginfod->bytes
				? "debuginfod sends less than 100 KB in DEBUGINFOD_TIMEOUT "
				  "(30 seconds by default): set a longer one"
				: "debuginfod does not answer: check DEBUGINFOD_URLS, or set a "
				  "longer DEBUGINFOD_TIMEOUT (in seconds)";
	else if (debuginfod->waited + time - debuginfod->started > MOST_SECONDS)
		debuginfod->stopped = "downloads from debuginfod took 10 minutes: run the command "
				      "again to continue";
	debuginfod->ended = debuginfod->stopped;
	return debuginfod->ended;
}

/* Makes the client at the first use. */
static bool prepare_client(struct debuginfod *debuginfod)
{
	static once_flag once = ONCE_FLAG_INIT;

	if (debuginfod->stopped || debuginfod->client)
		return !debuginfod->stopped;
	call_once(&once, load_debuginfod);
	if (library.ready)
		debuginfod->client = library.begin();
	if (!debuginfod->client) {
		debuginfod->stopped = "DEBUGINFOD_URLS is set, but " LIBRARY
				      " cannot be loaded: " REMEDY;
		return false;
	}
	library.set_user_data(debuginfod->client, debuginfod);
	library.set_progress(debuginfod->client, on_progress);
	return true;
}

/* Asks the servers. Returns a descriptor or a negative errno. */
static int ask(struct debuginfod *debuginfod, const struct perch_dso *dso,
	       const struct answer *answer)
{
	int fd;

	if (!prepare_client(debuginfod))
		return -ECANCELED;
	debuginfod->dso = dso;
	debuginfod->bytes = debuginfod->enough = 0;
	debuginfod->ended = false;
	debuginfod->started = debuginfod->enough_at = now_seconds();
	fd = library.find[answer->kind](debuginfod->client, answer->build_id, (int)answer->size,
					NULL);
	debuginfod->waited += now_seconds() - debuginfod->started;
	if (debuginfod->progress)
		debuginfod->progress(debuginfod->context, NULL, 0, 0);
	if (fd < 0 && debuginfod->ended)
		return -ECANCELED;
	/* libdebuginfod says so also if the connection ends while bytes come */
	return fd == -ENOENT && debuginfod->bytes ? -ECONNRESET : fd;
}

/* Returns what was answered before, or is answered now; NULL if out of memory. */
static struct answer *answer_of(struct debuginfod *debuginfod, const struct perch_dso *dso,
				enum debuginfod_kind kind, const uint8_t *build_id, size_t size)
{
	struct answer *answer;

	for (size_t i = 0; i < debuginfod->nr_answers; i++) {
		answer = &debuginfod->answer[i];
		if (answer->kind == kind && answer->size == size &&
		    !memcmp(answer->build_id, build_id, size))
			return answer;
	}
	answer = PERCH__ARRAY_APPEND_MAX(debuginfod->answer, debuginfod->nr_answers,
					 debuginfod->answers_capacity, MOST_ANSWERS);
	if (!answer)
		return NULL;
	*answer = (struct answer){ .kind = kind, .size = size };
	memcpy(answer->build_id, build_id, size);
	answer->fd = ask(debuginfod, dso, answer);
	return answer;
}

int perch__debuginfod_find(struct debuginfod *debuginfod, const struct perch_dso *dso,
			   enum debuginfod_kind kind, const uint8_t *build_id, size_t size,
			   struct symbol_error *error)
{
	const struct answer *answer;
	int fd;

	if (!debuginfod || size < 2 || size > sizeof(answer->build_id))
		return -ENOENT;
	answer = answer_of(debuginfod, dso, kind, build_id, size);
	if (!answer)
		return -ENOENT;
	if (answer->fd >= 0) {
		fd = fcntl(answer->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -ENOENT : fd;
	}
	if (answer->fd == -ECANCELED)
		perch__set_symbol_error(error, "%s", debuginfod->stopped);
	else if (answer->fd != -ENOENT)
		perch__set_symbol_error(error, "debuginfod: %s; check DEBUGINFOD_URLS",
					strerror(-answer->fd));
	return -ENOENT;
}

int perch__open_debuginfod(struct elf_file *debug, struct debuginfod *debuginfod,
			   const struct perch_dso *dso, const struct elf_file *file,
			   struct symbol_error *error)
{
	const uint8_t *build_id = dso->build_id;
	size_t size = perch__own_build_id_size(dso);
	int fd;

	if (!size && file) {
		build_id = file->build_id;
		size = (size_t)file->build_id_size;
	}
	fd = perch__debuginfod_find(debuginfod, dso, DEBUGINFOD_DEBUG, build_id, size, error);
	if (fd < 0)
		return fd;
	if (perch__elf_open(debug, fd)) {
		perch__set_symbol_error(error, "the file from debuginfod is damaged");
		return -ENOENT;
	}
	/* a server may have another file */
	if (perch__same_build_id(build_id, size, debug->build_id, (size_t)debug->build_id_size) &&
	    !perch__elf_sections(debug))
		return 0;
	perch__set_symbol_error(error, "the file from debuginfod has another build id");
	perch__elf_close(debug);
	return -ENOENT;
}
