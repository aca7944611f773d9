/* SPDX-License-Identifier: MIT */
/*
 * The build id cache, as perf(1) has it: NAME/BUILDID/KIND has a file, and .build-id/XX/YYYY is a
 * symbolic link to ../../NAME/BUILDID. record, buildid-cache and archive write it.
 */
#ifndef PERCH_CLI_BUILD_ID_CACHE_H
#define PERCH_CLI_BUILD_ID_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/error.h>

struct cli_cache {
	char path[PATH_MAX];
	int fd; /* the directory; -1 if there is none */
};

/* A build id in hexadecimal. */
struct cli_cache_id {
	char text[2 * 20 + 1];
};

struct cli_cache_entry {
	struct cli_cache_id id;
	char *name; /* "/usr/bin/true", "[vdso]" */
};

/* What a file in the cache is called. */
enum cli_cache_kind { CLI_CACHE_ELF, CLI_CACHE_DEBUG, CLI_CACHE_KALLSYMS, CLI_CACHE_VDSO };

/*
 * Opens the cache. create: makes the directory; without it, a missing one is an empty cache. A
 * directory or symbolic link of another user than the current one and root is refused. Returns 0
 * or a negative errno.
 */
int cli_cache_open(struct cli_cache *cache, bool create, struct perch_error *err);
void cli_cache_close(struct cli_cache *cache);

/* size: 2 to 20 */
void cli_cache_set_id(struct cli_cache_id *id, const uint8_t *bytes, size_t size);
/* Returns the size of the build id, or 0 if the text is not one. */
size_t cli_cache_id_bytes(const char *text, uint8_t bytes[20]);

/* True if the cache has the file. */
bool cli_cache_has(const struct cli_cache *cache, const struct cli_cache_id *id,
		   enum cli_cache_kind kind);
/* True if the file in the cache is the one of the descriptor. */
bool cli_cache_is(const struct cli_cache *cache, const struct cli_cache_id *id,
		  enum cli_cache_kind kind, int fd);
/*
 * Adds the content of a descriptor, unless the cache has the file. A file is complete or missing at
 * any time. If the cache has another file of the build id, both have the name of that one, because
 * a build id has one link. Returns 0 or a negative errno.
 */
int cli_cache_add(const struct cli_cache *cache, const char *name, const struct cli_cache_id *id,
		  enum cli_cache_kind kind, int fd, struct perch_error *err);
/* Adds /proc/kallsyms, unless the kernel hides its addresses from this user. */
int cli_cache_add_kallsyms(const struct cli_cache *cache, const struct cli_cache_id *id,
			   struct perch_error *err);
/* Removes all files of a build id. Returns 0 or a negative errno; -ENOENT if there are none. */
int cli_cache_remove(const struct cli_cache *cache, const struct cli_cache_id *id,
		     struct perch_error *err);
/*
 * Lists the entries by build id. The caller frees them by cli_cache_free_entries(). Returns 0 or a
 * negative errno.
 */
int cli_cache_list(const struct cli_cache *cache, struct cli_cache_entry **entries, size_t *nr,
		   struct perch_error *err);
void cli_cache_free_entries(struct cli_cache_entry *entries, size_t nr);

/* Files with samples that cannot be added. */
struct cli_cache_missing {
	size_t files;
	char path[PATH_MAX], reason[512]; /* of one of them; path is not trusted */
};

struct perch_dso;
struct perch_symbols;
/* Other places of files. */
struct cli_cache_opener {
	/* opens the file of a DSO that cannot be opened otherwise. Returns a descriptor or -1 */
	int (*open)(const void *context, const struct perch_dso *dso);
	const void *context;
	struct perch_symbols **root; /* with other root directories, for debug files */
	size_t nr_roots;
};

struct perch_session;
/*
 * Adds the files and debug files that have samples in a recording, and the vdso; with_kernel: also
 * /proc/kallsyms, if the recording is of this boot. Reads all records. A file that cannot be
 * opened, or is not the recorded one, is left out and counted in *missing, which the caller has set
 * to zeros. opener: NULL is allowed. Returns 0 or a negative errno.
 */
int cli_cache_fill(const struct cli_cache *cache, struct perch_session *session, bool with_kernel,
		   struct cli_cache_missing *missing, const struct cli_cache_opener *opener,
		   struct perch_error *err);
/* Prints a message if files are missing. remedy: its last sentence. */
void cli_cache_print_missing(const char *command, const struct cli_cache_missing *missing,
			     const char *remedy);

/* ---- for build_id_cache_list.c ---- */

#define CLI_CACHE_LINKS ".build-id"

/* Writes the path of the symbolic link of a build id: ".build-id/xx/yyyy". */
void cli_cache_link_path(const struct cli_cache_id *id, char path[64]);
/*
 * Opens a directory below another one, and makes it if `create`. Follows no symbolic links, so that
 * nothing is written elsewhere. Returns a descriptor or a negative errno.
 */
int cli_cache_open_below(int at, const char *path, bool create);
/* The same for the directory of a name and a build id. */
int cli_cache_open_entry(const struct cli_cache *cache, const char *name,
			 const struct cli_cache_id *id, bool create);
/* Returns the name to which the link of a build id leads, for free(); NULL if it is no link to an
 * entry, or out of memory. */
char *cli_cache_name_of_link(int dir, const char *link, const struct cli_cache_id *id);

#endif
