/* SPDX-License-Identifier: MIT */
/* perch buildid-cache: lists the build id cache, adds files and removes them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "base/files/open_file.h"
#include "build_id_cache.h"
#include "input/input.h"
#include "options.h"

#define COMMAND "buildid-cache"

enum action { ADD, REMOVE, PURGE, UPDATE };

struct cache_command {
	struct perch_build_id_cache *cache;
	const char *files[4]; /* by action: paths separated by commas */
	const char *missing;
	bool list, purge_all, force;
	int verbose;
	uint64_t namespace_of; /* a process; 0 is this one */
	bool debuginfod;       /* for the files of recordings, and for debug files */
	bool failed;
};

/* ---- files ---- */

/* Opens a file as the process of --target-ns sees it. */
static int open_file(const struct cache_command *command, const char *path)
{
	char root[64];

	if (!command->namespace_of)
		return perch__open_regular(NULL, path);
	snprintf(root, sizeof(root), "/proc/%llu/root", (unsigned long long)command->namespace_of);
	return perch__open_regular(root, path);
}

/* Reads the build id of a file. Returns a descriptor or -1, after it has printed an error. */
static int open_with_id(struct cache_command *command, const char *path,
			struct perch_build_id_text *id)
{
	struct perch_error err;
	uint8_t bytes[20];
	char own[64];
	int fd = open_file(command, path), size = 0;

	if (fd < 0) {
		perch_error_set(&err, -fd, PERCH_ERROR_FILE, "%s: %s", path, strerror(-fd));
		if (fd == -ENOENT)
			perch_error_remedy(&err, "Check the path; -l lists the files of the cache");
	} else {
		snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
		size = perch_build_id_of_file(own, bytes, &err);
		if (size >= 2) {
			perch_format_build_id(id, bytes, (size_t)size);
			return fd;
		}
		close(fd);
		perch_error_set(&err, ENODATA, PERCH_ERROR_FORMAT,
				size == -ENODATA ? "%s has no build id" : "%s is not an ELF file",
				path);
	}
	cli_error(COMMAND, &err);
	command->failed = true;
	return -1;
}

static void print_change(const struct cache_command *command, const char *what,
			 const struct perch_build_id_text *id, const char *name)
{
	if (!command->verbose)
		return;
	fprintf(stderr, "%s %s ", what, id->text);
	cli_put_clean(stderr, name);
	fputs(": Ok\n", stderr);
}

static void remove_id(struct cache_command *command, const struct perch_build_id_text *id,
		      const char *name)
{
	struct perch_error err;

	if (perch_build_id_cache_remove(command->cache, id, &err)) {
		cli_error(COMMAND, &err);
		command->failed = true;
	} else {
		print_change(command, "Removing", id, name);
	}
}

/* Adds the debug file of a file in the cache, if the file has none and the servers have it. */
static void add_debug_file(struct cache_command *command, const char *path,
			   const struct perch_build_id_text *id)
{
	const struct perch_symbols_options options = { .debuginfod = true };
	struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = path };
	struct perch_symbols *symbols;
	struct perch_error err;
	int fd, rc;

	if (!command->debuginfod ||
	    perch_build_id_cache_has(command->cache, id, PERCH_CACHED_DEBUG))
		return;
	dso.build_id_size = (uint8_t)perch_parse_build_id(id->text, dso.build_id);
	rc = perch_symbols_new(&symbols, &options, &err);
	if (!rc && !perch_symbols_download_debug_file(symbols, &dso, &fd, NULL)) {
		rc = perch_build_id_cache_add(command->cache, path, id, PERCH_CACHED_DEBUG, fd,
					      &err);
		close(fd);
		if (!rc)
			print_change(command, "Adding the debug file of", id, path);
	}
	perch_symbols_free(symbols);
	if (rc) {
		cli_error(COMMAND, &err);
		command->failed = true;
	}
}

static void add_file(struct cache_command *command, const char *path, bool update)
{
	struct perch_build_id_text id;
	struct perch_error err;
	char *real = command->namespace_of ? strdup(path) : realpath(path, NULL);
	int fd = open_with_id(command, path, &id);

	if (fd >= 0 && real) {
		if (update && perch_build_id_cache_has(command->cache, &id, PERCH_CACHED_ELF))
			perch_build_id_cache_remove(command->cache, &id, NULL);
		if (perch_build_id_cache_add(command->cache, real, &id, PERCH_CACHED_ELF, fd,
					     &err)) {
			cli_error(COMMAND, &err);
			command->failed = true;
		} else {
			print_change(command, update ? "Updating" : "Adding", &id, real);
			add_debug_file(command, real, &id);
		}
	}
	if (fd >= 0)
		close(fd);
	free(real);
}

/* A recording is a file that begins with perf's magic number, or a directory with one. */
static bool is_recording(const struct cache_command *command, const char *path)
{
	char magic[8] = "", data[PATH_MAX];
	struct stat status;
	int fd;

	snprintf(data, sizeof(data), "%s", path);
	if (!stat(path, &status) && S_ISDIR(status.st_mode))
		snprintf(data, sizeof(data), "%s/data", path);
	fd = open_file(command, data);
	if (fd >= 0) {
		if (read(fd, magic, sizeof(magic)) != (ssize_t)sizeof(magic))
			magic[0] = 0;
		close(fd);
	}
	/* in either byte order */
	return !command->namespace_of &&
	       (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8));
}

static void add_recording(struct cache_command *command, const char *path)
{
	struct cli_input input = { .command = COMMAND,
				   .path = path,
				   .force = command->force,
				   .no_debuginfod = !command->debuginfod,
				   .options.symbols.verified_only = true };
	struct perch_missing_files missing = { 0 };
	struct perch_error err;

	if (cli_input_open(&input)) {
		command->failed = true;
		return;
	}
	if (perch_session_fill_cache(input.session, command->cache, NULL, &missing, &err)) {
		cli_error(COMMAND, &err);
		command->failed = true;
	} else if (command->verbose) {
		fputs("Adding the files of ", stderr);
		cli_put_clean(stderr, path);
		fputs(": Ok\n", stderr);
	}
	cli_print_missing_files(
		COMMAND, &missing,
		"Report with --symfs and a directory of copies, or add copies with a "
		"build id with perch buildid-cache -a");
	cli_input_close(&input);
}

static void remove_file(struct cache_command *command, const char *path)
{
	struct perch_build_id_text id;
	int fd = open_with_id(command, path, &id);

	if (fd < 0)
		return;
	close(fd);
	remove_id(command, &id, path);
}

/* Removes all builds of a path, or all with a NULL path. */
static void purge(struct cache_command *command, const char *path)
{
	struct perch_build_id_cache_entry *entry;
	struct perch_error err;
	char *real = path ? realpath(path, NULL) : NULL;
	bool found = !path;
	size_t nr;

	if (perch_build_id_cache_list(command->cache, &entry, &nr, &err)) {
		cli_error(COMMAND, &err);
		command->failed = true;
		free(real);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		if (!path || !strcmp(entry[i].name, path) ||
		    (real && !strcmp(entry[i].name, real))) {
			remove_id(command, &entry[i].id, entry[i].name);
			found = true;
		}
	perch_build_id_cache_free_entries(entry, nr);
	free(real);
	if (found)
		return;
	cli_note(COMMAND, "the build id cache %s has no build of %s",
		 perch_build_id_cache_path(command->cache), path);
	command->failed = true;
}

/* Calls the action for each path of a list that commas separate. */
static void each_file(struct cache_command *command, enum action action)
{
	char *list = command->files[action] ? strdup(command->files[action]) : NULL, *rest = list;
	const char *path;

	while (list && (path = strsep(&rest, ","))) {
		if (!*path)
			continue;
		if (action == REMOVE)
			remove_file(command, path);
		else if (action == PURGE)
			purge(command, path);
		else if (action == ADD && is_recording(command, path))
			add_recording(command, path);
		else
			add_file(command, path, action == UPDATE);
	}
	free(list);
}

/* ---- lists ---- */

static void print_list(struct cache_command *command)
{
	struct perch_build_id_cache_entry *entry;
	struct perch_error err;
	size_t nr;

	if (perch_build_id_cache_list(command->cache, &entry, &nr, &err)) {
		cli_error(COMMAND, &err);
		command->failed = true;
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		printf("%s ", entry[i].id.text);
		cli_put_clean(stdout, entry[i].name);
		putchar('\n');
	}
	perch_build_id_cache_free_entries(entry, nr);
}

static bool is_cached(const struct cache_command *command, const struct perch_build_id *build_id)
{
	struct perch_build_id_text id;

	perch_format_build_id(&id, build_id->bytes, build_id->size);
	for (enum perch_cached_file kind = PERCH_CACHED_ELF; kind <= PERCH_CACHED_VDSO; kind++)
		if (perch_build_id_cache_has(command->cache, &id, kind))
			return true;
	return false;
}

/* Prints the build ids of a recording that the cache does not have. */
static void print_missing(struct cache_command *command)
{
	struct cli_input input = { .command = COMMAND,
				   .path = command->missing,
				   .force = command->force,
				   .options.file_order = true };
	const struct perch_build_id *ids;
	struct perch_build_id_text id;
	size_t nr;

	if (cli_input_open(&input)) {
		command->failed = true;
		return;
	}
	nr = perch_reader_build_ids(perch_session_reader(input.session), &ids);
	for (size_t i = 0; i < nr; i++) {
		if (ids[i].size < 2 || is_cached(command, &ids[i]))
			continue;
		perch_format_build_id(&id, ids[i].bytes, ids[i].size);
		printf("%s ", id.text);
		cli_put_clean(stdout, ids[i].path);
		putchar('\n');
	}
	cli_input_close(&input);
}

/* ---- the command ---- */

static bool runs(uint64_t process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64, process);
	return !access(path, F_OK);
}

static int run_command(struct cache_command *command)
{
	bool add = command->files[ADD] || command->files[UPDATE];
	struct perch_error err;

	if (command->namespace_of && !runs(command->namespace_of)) {
		cli_note(COMMAND, "--target-ns: there is no process %" PRIu64,
			 command->namespace_of);
		return CLI_EXIT_FAILURE;
	}
	if (cli_open_cache(&command->cache, add, &err))
		return cli_error(COMMAND, &err);
	if (command->purge_all)
		purge(command, NULL);
	each_file(command, PURGE);
	each_file(command, REMOVE);
	each_file(command, UPDATE);
	each_file(command, ADD);
	if (command->missing)
		print_missing(command);
	if (command->list)
		print_list(command);
	perch_build_id_cache_free(command->cache);
	return cli_check_stdout(COMMAND, 0) || command->failed ? CLI_EXIT_FAILURE : 0;
}

static int set_debuginfod(const struct cli_given *given)
{
	((struct cache_command *)given->state)->debuginfod = !given->negated;
	if (given->text && setenv("DEBUGINFOD_URLS", given->text, 1))
		return cli_usage_error(COMMAND, "--debuginfod: %s", strerror(errno));
	return 0;
}

/* perf has it; what it copies is of no use to perch. */
#define SETS(member) CLI_SETS(struct cache_command, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'a', .name = "add", .argument = "FILES", SETS(files[ADD]),
		.help = "add these files, or the files of these recordings; separated by commas"),
	CLI_ROW(.letter = 'r', .name = "remove", .argument = "FILES", SETS(files[REMOVE]),
		.help = "remove the builds of these files"),
	CLI_ROW(.letter = 'p', .name = "purge", .argument = "FILES", SETS(files[PURGE]),
		.help = "remove all builds with these paths"),
	CLI_ROW(.letter = 'P', .name = "purge-all", SETS(purge_all), .help = "remove everything"),
	CLI_ROW(.letter = 'u', .name = "update", .argument = "FILES", SETS(files[UPDATE]),
		.help = "remove the builds of these files and add them again"),
	CLI_ROW(.letter = 'M', .name = "missing", .argument = "FILE", SETS(missing),
		.help = "list what the cache lacks for this recording"),
	CLI_ROW(.letter = 'k', .name = "kcore", .argument = "FILE",
		.refusal = "perch does not copy /proc/kcore; use perf buildid-cache -k, or "
			   "add the ELF file of the kernel: -a /usr/lib/debug/boot/vmlinux-...",
		.hidden = true),
	CLI_ROW(.letter = 'l', .name = "list", SETS(list), .help = "list the build ids and paths"),
	CLI_ROW(.name = "target-ns", .argument = "PID", SETS(namespace_of),
		.help = "open files as this process sees them"),
	CLI_ROW(.name = "debuginfod", .argument = "SERVERS", .set = set_debuginfod,
		.attached = true, .optional = true,
		.help = "ask these servers, or those in DEBUGINFOD_URLS, for files and debug files"),
	CLI_ROW(.letter = 'f', .name = "force", SETS(force),
		.help = "read a recording of another user, too"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(verbose), .help = "print each change"),
	{ 0 },
};

const struct cli_usage cli_buildid_cache_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Lists and changes the build id cache.",
	.options = options,
};

int perch_cmd_buildid_cache(int argc, char **argv)
{
	static struct cache_command command;
	int next = cli_options_parse(&cli_buildid_cache_usage, &command, argc, argv);

	if (next < argc)
		return cli_usage_error(COMMAND,
				       "'%s' is not an option; name files with -a, -r, -u "
				       "or -p",
				       argv[next]);
	if (!command.list && !command.purge_all && !command.missing && !command.files[ADD] &&
	    !command.files[REMOVE] && !command.files[PURGE] && !command.files[UPDATE])
		return cli_usage_error(COMMAND, "nothing to do: -l lists the cache");
	return run_command(&command);
}
