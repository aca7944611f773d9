/* SPDX-License-Identifier: MIT */
/*
 * The symbol index: what was read from files of symbols and debug information, in the user's cache
 * directory, so that the next run does not read them again.
 *
 * An index belongs to the contents of files. Their device, inode, size, times of change and build
 * ids are in it, so a file that is replaced or written has another index. A file that changed in
 * the last seconds has none: it might change again within the same tick of the file system's clock.
 * The contents of an index are checked as those of any file. They only say what the files would
 * say, so deleting an index changes only the time of the next run.
 */
#ifndef PERCH_SYMBOL_INDEX_H
#define PERCH_SYMBOL_INDEX_H

#include "symbol/internal.h"

/* ---- index_file.c: an index as a file ---- */

enum { MAX_INDEXED_FILES = 3, INDEX_BYTES_MAX = 1 << 26, INDEX_NAME_SIZE = 40 };

/* A file, as it was when its contents were read. Times are in ns. */
struct indexed_file {
	uint64_t device, inode, size, modified, changed;
	uint8_t build_id[24]; /* zeros after its end */
};

/* What an index is of. Its bytes are written, and compared. */
struct index_key {
	char kind[8]; /* "table", "data", "frames" */
	uint64_t nr;  /* files */
	struct indexed_file file[MAX_INDEXED_FILES];
};

/* Adds a file. Returns false if it cannot have an index: it is in memory, or changed just now. */
bool perch__index_key_add(struct index_key *key, const struct elf_file *file);
/*
 * Reads the index of a key. Returns its bytes, which the caller frees, or NULL if there is none, or
 * if it is damaged. A NUL follows the last of the *size bytes.
 */
char *perch__index_read(const struct index_key *key, size_t *size);
/* Writes it: the bytes of the parts. At most two parts. A failure has no effect. */
void perch__index_write(const struct index_key *key, const void *bytes, size_t size,
			const void *texts, size_t texts_size);

/* ---- index_table.c: the functions or variables of a file ---- */

/* Sets the key of a table. Returns false if it can have no index. debug: NULL if there is none. */
bool perch__table_key(struct index_key *key, const struct table *table, const struct elf_file *file,
		      const struct elf_file *debug);
/* Fills an empty table. Returns false, with an empty table, if there is no index. */
bool perch__table_read_index(struct table *table, const struct index_key *key);
/* The same from the bytes of an index, which it takes. A NUL follows them. */
bool perch__table_take_index(struct table *table, char *bytes, size_t size);

/* ---- index_frames.c: frames of addresses, as perch__debug_frames() returns them ---- */

struct frame_index;
/* Returns NULL if out of memory. */
struct frame_index *perch__frame_index_open(const struct index_key *key);
/* The same from the bytes of an index, which it takes. A NUL follows them. bytes: may be NULL */
struct frame_index *perch__frame_index_new(const struct index_key *key, char *bytes, size_t size);
/* True if it was read from a file. */
bool perch__frame_index_is_stored(const struct frame_index *index);
/* Returns the number of frames of an offset, or -ENOENT if it does not have the offset. Texts live
 * as long as the index. */
int perch__frame_index_find(const struct frame_index *index, uint64_t offset,
			    struct debug_frame frame[MAX_DEBUG_FRAMES]);
/* Adds the frames of an offset that it does not have. Texts stay with the caller, until the index
 * is stored. */
void perch__frame_index_add(struct frame_index *index, uint64_t offset,
			    const struct debug_frame *frame, size_t nr);
/* Writes the file if frames were added. */
void perch__frame_index_store(struct frame_index *index);
void perch__frame_index_free(struct frame_index *index);

#endif
