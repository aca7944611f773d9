/* SPDX-License-Identifier: MIT */
#ifndef PERCH_PROCESS_INTERNAL_H
#define PERCH_PROCESS_INTERNAL_H

#include <perch/process.h>

/* number -> pointer, open addressing; keys are pids and tids. */
struct table {
	struct {
		uint64_t key;
		void *value;
	} * slot;
	size_t nr, mask;
};
int perch__table_put(struct table *table, uint64_t key, void *value); /* 0 or -ENOMEM; replaces */
void *perch__table_get(const struct table *table, uint64_t key);

/* One mapping: [start, end) shows binary's bytes from offset on. */
struct map {
	uint64_t start, end, offset;
	struct perch_dso *dso;
};

/* Maps sorted from left to right, priorities falling from the root on. They are random, which keeps
 * the tree flat. */
struct node {
	struct map map;
	struct node *left, *right;
	uint32_t references, priority;
};

/* An address space: maps, none overlapping. Shared after fork until one side changes it; what both
 * have still is then. */
struct space {
	struct node *root; /* NULL: nothing is mapped */
	uint64_t random;
	bool failed; /* memory ran out: it is incomplete */
	unsigned references;
	uint64_t generation;
};
struct space *perch__space_new(uint64_t generation);
void perch__space_put(struct space *space);
/* One more user of the space. */
struct space *perch__space_get(struct space *space);
/* The space itself when it has one user, else one of its own (dropping the share); NULL when out of
 * memory. */
struct space *perch__space_writable(struct space *space);
/* Puts a map in, cutting what it covers out of older ones. 0 or -ENOMEM. */
int perch__space_insert(struct space *space, const struct map *map);
const struct map *perch__space_find(const struct space *space, uint64_t address);

struct process {
	uint32_t pid;
	/* exec has begun: the next mapping is the first of the new program */
	bool replaced;
	struct space *space;
};

struct comm {
	uint32_t index;
	char text[];
};

struct perch_thread {
	uint32_t pid, tid;
	struct process *process;
	const struct comm *comm;
};

/* Strings seen once: hash of text -> object, chained in arrays that grow. */
struct strings {
	struct {
		uint64_t hash;
		void *value;
	} * slot;
	size_t nr, mask;
};
/* Calls match(value, key) on candidates; returns the value or NULL and the hash to give to
 * strings_add(). */
void *perch__strings_find(const struct strings *strings, uint64_t hash,
			  bool (*match)(const void *value, const void *key), const void *key);
int perch__strings_add(struct strings *strings, uint64_t hash, void *value);
uint64_t perch__hash_bytes(const void *bytes, size_t size, uint64_t seed);

/* A build id that the file's header tells for a path. */
struct header_build_id {
	uint8_t size, bytes[20];
	char path[];
};

struct perch_processes {
	struct table processes, threads;
	struct process **process;
	struct perch_thread **thread;
	size_t nr_processes, nr_threads;
	struct strings comms;
	struct comm **comm;
	size_t nr_comms;
	struct strings dsos; /* by path: the first of each */
	struct perch_dso **dso;
	size_t nr_dsos;
	struct strings builds; /* those whose build id is known, by path and build id */
	struct strings header_build_id_index; /* by path */
	struct header_build_id **header_build_id;
	size_t nr_header_build_ids;
	struct space *kernel;
	struct perch_dso *unknown, *kernel_dso;
	bool kernel_mapped; /* it is known where the kernel and its modules are, */
	/* and where the text of the kernel itself ends; 0: not that */
	uint64_t kernel_text_end;
	uint64_t generation;
};

/* The binary of a mapping; NULL when out of memory. */
struct perch_dso *perch__dso_of_mapping(struct perch_processes *processes,
					const struct perch_mmap_record *mmap, bool kernel);
/* One that no mapping names a second time. */
struct perch_dso *perch__dso_new(struct perch_processes *processes, const char *path, size_t length,
				 enum perch_dso_kind kind);
struct perch_dso *perch__dso_named(struct perch_processes *processes, const char *path,
				   size_t length, enum perch_dso_kind kind, const uint8_t *build_id,
				   size_t size);

/* Makes room for one more element in a list that grows by doubling. 0 or -ENOMEM. */
int perch__grow(void *array, size_t nr, size_t element);

#endif
