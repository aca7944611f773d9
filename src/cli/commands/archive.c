/* SPDX-License-Identifier: MIT */
/*
 * perch archive: packs the files of the build id cache that a recording needs, with tar(1), as the
 * command perf-archive(1) does, and unpacks them on another machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "build_id_cache.h"
#include "input/input.h"
#include "options.h"
#include "output_file.h"
#include "program/program.h"
#include "shared_options.h"

#define COMMAND "archive"

/* Runs tar. If input is not NULL, it is the write end of the standard input. output: its standard
 * output; -1: that of this process. Returns a pid, or -1. */
static pid_t start_tar(char *const *argv, FILE **input, int output)
{
	int ends[2] = { -1, -1 };
	pid_t pid;

	if (input && pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		if (input)
			dup2(ends[0], STDIN_FILENO);
		if (output >= 0)
			dup2(output, STDOUT_FILENO);
		execvp(argv[0], argv);
		fprintf(stderr, "perch %s: %s cannot be started: %s\n", COMMAND, argv[0],
			strerror(errno));
		_exit(CLI_EXIT_NOT_FOUND);
	}
	if (input) {
		close(ends[0]);
		*input = pid < 0 ? NULL : fdopen(ends[1], "w");
		if (!*input)
			close(ends[1]);
	}
	return pid;
}

/* Returns 0 if tar has ended without a failure. tar has printed the reason of one. */
static int wait_for_tar(pid_t pid)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (pid <= 0)
		cli_note(COMMAND, "tar cannot be started: %s", strerror(errno));
	else if (WIFSIGNALED(status))
		cli_program_note_signal(COMMAND, "tar", status);
	return CLI_EXIT_FAILURE;
}

/* ---- pack ---- */

/* tar chooses the compression by the name, and does not see it. */
static const char *compression_of(const char *output)
{
	static const struct {
		const char *suffix, *option;
	} table[] = {
		{ "bz2", "--bzip2" },  { "tbz", "--bzip2" },	{ "tbz2", "--bzip2" },
		{ "tz2", "--bzip2" },  { "gz", "--gzip" },	{ "tgz", "--gzip" },
		{ "taz", "--gzip" },   { "xz", "--xz" },	{ "txz", "--xz" },
		{ "zst", "--zstd" },   { "tzst", "--zstd" },	{ "lz", "--lzip" },
		{ "lzo", "--lzop" },   { "lzma", "--lzma" },	{ "tlz", "--lzma" },
		{ "Z", "--compress" }, { "taZ", "--compress" },
	};
	const char *dot = strrchr(output, '.');

	for (size_t i = 0; dot && i < CLI_NR(table); i++)
		if (!strcmp(dot + 1, table[i].suffix))
			return table[i].option;
	return NULL;
}

/* Writes the names of the link and of the directory of each entry that the recording has; without a
 * file, prints the entries if `verbose`. Returns the number of entries. */
static size_t put_names(FILE *names, const struct perch_build_id_cache_entry *entry, size_t nr,
			const struct perch_build_id *ids, size_t nr_ids, bool verbose)
{
	struct perch_build_id_text id;
	size_t found = 0;

	for (size_t i = 0; i < nr_ids; i++) {
		if (ids[i].size < 2)
			continue;
		perch_format_build_id(&id, ids[i].bytes, ids[i].size);
		for (size_t j = 0; j < nr; j++) {
			if (strcmp(entry[j].id.text, id.text))
				continue;
			found++;
			if (verbose) {
				fprintf(stderr, "Adding %s ", id.text);
				cli_put_clean(stderr, entry[j].name);
				fputc('\n', stderr);
			}
			if (names)
				fprintf(names, ".build-id/%.2s/%s%c./%s/%s%c", id.text, id.text + 2,
					0, entry[j].name + (entry[j].name[0] == '/'), id.text, 0);
		}
	}
	return found;
}

static int run_pack(const struct perch_build_id_cache *cache, const char *output, int fd,
		    const struct perch_build_id_cache_entry *entry, size_t nr,
		    const struct perch_build_id *ids, size_t nr_ids)
{
	char *argv[] = { (char *)"tar",
			 (char *)"-cf",
			 (char *)"-",
			 (char *)"-C",
			 (char *)perch_build_id_cache_path(cache),
			 (char *)"--null",
			 (char *)"--verbatim-files-from",
			 (char *)"-T",
			 (char *)"-",
			 (char *)compression_of(output),
			 NULL };
	FILE *names = NULL;
	pid_t pid = start_tar(argv, &names, fd);

	if (names) {
		put_names(names, entry, nr, ids, nr_ids, false);
		fclose(names);
	}
	return wait_for_tar(pid);
}

static void note_no_archive(const char *output)
{
	const char *option = compression_of(output);

	cli_note(COMMAND, "%s was not written, because tar failed%s%s%s", output,
		 option ? "; to compress, it needs '" : "", option ? option + strlen("--") : "",
		 option ? "', and nothing for -o FILE.tar" : "");
}

/* Writes the archive. Kernel symbols in the cache may be read only by its user, and so may an
 * archive of them. own: the command has made the name. */
static int pack_entries(const struct perch_build_id_cache *cache, const char *output, bool own,
			const struct perch_build_id_cache_entry *entry, size_t nr,
			const struct perch_build_id *ids, size_t nr_ids)
{
	unsigned flags = CLI_OUTPUT_PRIVATE | (own ? CLI_OUTPUT_OWN_NAME : CLI_OUTPUT_NO_LINK);
	struct cli_output_file file;
	struct perch_error err;
	int status;

	if (!strcmp(output, "-"))
		return run_pack(cache, output, -1, entry, nr, ids, nr_ids);
	if (cli_output_open(&file, output, flags, &err))
		return cli_error(COMMAND, &err);
	status = run_pack(cache, output, fileno(file.stream), entry, nr, ids, nr_ids);
	if (status)
		note_no_archive(output);
	else if (cli_output_close(&file, 0, &err))
		status = cli_error(COMMAND, &err);
	cli_output_discard(&file);
	return status;
}

static int pack(struct cli_input *input, const char *output, bool verbose)
{
	struct perch_build_id_cache_entry *entry;
	const struct perch_build_id *ids;
	struct perch_error err;
	struct perch_build_id_cache *cache;
	char *name = NULL;
	size_t nr, nr_ids, found;
	int status = cli_input_open(input);

	if (status)
		return status;
	if (cli_open_cache(&cache, false, &err) ||
	    perch_build_id_cache_list(cache, &entry, &nr, &err)) {
		cli_input_close(input);
		return cli_error(COMMAND, &err);
	}
	nr_ids = perch_reader_build_ids(perch_session_reader(input->session), &ids);
	found = put_names(NULL, entry, nr, ids, nr_ids, verbose);
	if (!found) {
		cli_note(
			COMMAND,
			"the build id cache %s has no file of %s: record without -N and -B, or add "
			"files with perch buildid-cache -a",
			perch_build_id_cache_path(cache), input->path);
		status = CLI_EXIT_FAILURE;
	} else if (!output && asprintf(&name, "%s.tar.bz2", input->path) < 0) {
		status = CLI_EXIT_FAILURE;
	} else {
		signal(SIGPIPE, SIG_IGN);
		status = pack_entries(cache, output ? output : name, !output, entry, nr, ids,
				      nr_ids);
	}
	if (!status)
		printf("Packed %zu %s of %s. On the other machine, run:\n\n"
		       "$ perch archive --unpack %s\n\n",
		       found, cli_word(found, "file", "files"), input->path,
		       output ? output : name);
	free(name);
	perch_build_id_cache_free_entries(entry, nr);
	perch_build_id_cache_free(cache);
	cli_input_close(input);
	return cli_check_stdout(COMMAND, 0) ? CLI_EXIT_FAILURE : status;
}

/* ---- unpack ---- */

/* True if the file has the build id that the archive says. kallsyms has none. */
static bool has_id(int fd, enum perch_cached_file kind, const char *id)
{
	struct perch_build_id_text found;
	uint8_t bytes[20];
	char own[64];
	int size;

	if (kind == PERCH_CACHED_KALLSYMS)
		return true;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	size = perch_build_id_of_file(own, bytes, NULL);
	perch_format_build_id(&found, bytes, size > 0 ? (size_t)size : 0);
	return size >= 2 && !strcmp(found.text, id);
}

/* Adds the files of an unpacked entry to the cache. Returns the number of files, or -1. */
static int take_entry(const struct perch_build_id_cache *cache,
		      const struct perch_build_id_cache *unpacked,
		      const struct perch_build_id_cache_entry *entry, size_t *refused)
{
	struct perch_error err;
	int added = 0;

	for (enum perch_cached_file kind = PERCH_CACHED_ELF; kind <= PERCH_CACHED_VDSO; kind++) {
		int fd = perch_build_id_cache_open_file(unpacked, &entry->id, kind), rc = 0;

		if (fd < 0)
			continue;
		if (has_id(fd, kind, entry->id.text))
			rc = perch_build_id_cache_add(cache, entry->name, &entry->id, kind, fd,
						      &err),
			added++;
		else
			(*refused)++;
		close(fd);
		if (rc) {
			cli_error(COMMAND, &err);
			return -1;
		}
	}
	return added;
}

static int take_all(const struct perch_build_id_cache *cache, const char *directory,
		    const char *archive)
{
	struct perch_build_id_cache *unpacked;
	struct perch_build_id_cache_entry *entry;
	struct perch_error err;
	size_t nr, refused = 0, added = 0;
	int rc = 0;

	/* below a root of its own, which its links do not leave */
	if (perch_build_id_cache_new(&unpacked, "/", directory, &err))
		return cli_error(COMMAND, &err);
	if (perch_build_id_cache_open(unpacked, false, &err) ||
	    perch_build_id_cache_list(unpacked, &entry, &nr, &err)) {
		perch_build_id_cache_free(unpacked);
		return cli_error(COMMAND, &err);
	}
	for (size_t i = 0; i < nr && rc >= 0; i++) {
		rc = take_entry(cache, unpacked, &entry[i], &refused);
		added += rc > 0;
	}
	perch_build_id_cache_free_entries(entry, nr);
	perch_build_id_cache_free(unpacked);
	if (rc < 0)
		return CLI_EXIT_FAILURE;
	if (refused)
		cli_note(COMMAND,
			 "%zu %s of %s not added: the build id is another one than the name "
			 "says",
			 refused, cli_word(refused, "file", "files"), archive);
	if (!added) {
		cli_note(COMMAND, "%s has no files of a build id cache", archive);
		return CLI_EXIT_FAILURE;
	}
	printf("Added %zu %s to the build id cache %s.\n", added, cli_word(added, "file", "files"),
	       perch_build_id_cache_path(cache));
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status, (void)type, (void)ftw;
	remove(path); /* a directory that an archive made unreadable may stay */
	return 0;
}

/* An archive is not trusted: it is unpacked into a directory of its own, and files whose build id
 * is right are added to the cache. */
static int unpack(const char *archive)
{
	struct perch_build_id_cache *cache;
	struct perch_error err;
	char *directory = NULL;
	int status = CLI_EXIT_FAILURE;

	if (access(archive, R_OK)) {
		cli_note(COMMAND, "%s: %s", archive, strerror(errno));
		return CLI_EXIT_FAILURE;
	}
	if (cli_open_cache(&cache, true, &err))
		return cli_error(COMMAND, &err);
	if (asprintf(&directory, "%s/.unpack.XXXXXX", perch_build_id_cache_path(cache)) < 0)
		directory = NULL;
	if (!directory || !mkdtemp(directory)) {
		cli_note(COMMAND, "the build id cache %s: %s", perch_build_id_cache_path(cache),
			 strerror(errno));
	} else {
		char *argv[] = { (char *)"tar",
				 (char *)"-xf",
				 (char *)archive,
				 (char *)"-C",
				 directory,
				 (char *)"--force-local",
				 (char *)"--no-same-owner",
				 (char *)"--no-same-permissions",
				 NULL };

		status = wait_for_tar(start_tar(argv, NULL, -1));
		if (status)
			cli_note(COMMAND,
				 "%s is not an archive of perch archive or perf-archive, or it is "
				 "incomplete; nothing was added to the build id cache",
				 archive);
		else
			status = take_all(cache, directory, archive);
		nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	free(directory);
	perch_build_id_cache_free(cache);
	return cli_check_stdout(COMMAND, 0) ? CLI_EXIT_FAILURE : status;
}

/* ---- the command ---- */

struct archive {
	struct cli_input input;
	const char *output;
	bool unpacks, verbose;
};

#define AT(member)   offsetof(struct archive, member)
#define SETS(member) CLI_SETS(struct archive, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "ARCHIVE", SETS(output),
		.help = "the archive; its suffix chooses the compression (FILE.tar.bz2)"),
	CLI_ROW(.name = "unpack", SETS(unpacks),
		.help = "add the files of an archive to the build id cache"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(verbose),
		.help = "print the files that are packed"),
	{ 0 },
};

const struct cli_usage cli_archive_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [FILE]",
	.summary = "Packs the program files of a recording for another machine.",
	.options = options,
};

int perch_cmd_archive(int argc, char **argv)
{
	static struct archive archive = {
		.input = { .command = COMMAND, .options.file_order = true },
	};
	int next = cli_options_parse(&cli_archive_usage, &archive, argc, argv);

	if (argc - next > 1 || (archive.input.path && next < argc))
		return cli_usage_error(COMMAND, "expected one file; '%s' is too much",
				       argv[argc - 1]);
	if (archive.unpacks && next == argc)
		return cli_usage_error(COMMAND, "--unpack needs the name of an archive");
	if (archive.unpacks)
		return unpack(argv[next]);
	if (next < argc)
		archive.input.path = argv[next];
	if (!archive.input.path)
		archive.input.path = "perf.data";
	return pack(&archive.input, archive.output, archive.verbose);
}
