/* SPDX-License-Identifier: MIT */
/*
 * Address spaces: names of threads and their mappings at the time of a sample. Mappings are in
 * trees that processes share after a fork; a change copies one path. An address resolves to a DSO
 * and an offset in it. A DSO is a path with a build id, or with device and inode: in containers
 * the same path is another file. Generation numbers say when a cached result is outdated.
 *
 * Functions of jitdumps are a tree of their own above the mappings, because a compiler that maps
 * its memory again has the same functions in it. Their offset is that of their code in the
 * jitdump, so it is never that of another function at the same address. A file calls only files
 * below its own:
 *
 *	ended.c			frees threads and processes that have ended, and their DSOs
 *	running.c		processes that already run
 *	processes.c		applies records, resolves addresses
 *	  copied_text.c		  text that a program copied to large pages
 *	  cgroups.c		  paths of cgroups
 *	  threads.c		  threads and processes, and their names
 *	  switches.c		  the number of threads that run
 *	  mappings.c		  what is mapped at one moment, for other threads
 *	jitdumps.c		functions of all jitdumps, by time
 *	  dso.c			  DSOs
 *	  space.c		  address spaces
 *	kinds.c			properties of the kinds of DSOs
 *	jitdump_code.c		the code of a jitdump
 *	jitdump_lines.c		its lines
 *	jitdump_unwinding.c	its unwinding information
 *	jitdump_file.c		reads a jitdump
 *	cgroup_names.c		containers, pods and units in paths of cgroups
 */
#ifndef PERCH_PROCESS_INTERNAL_H
#define PERCH_PROCESS_INTERNAL_H

#include <perch/jitdump.h>
#include <perch/process.h>
#include "base/array.h"
#include "base/hash_table.h"

/* ---- space.c: address spaces ---- */

/* A mapping: [start, end) shows the bytes of dso from offset on. */
struct map {
	uint64_t start, end, offset;
	struct perch_dso *dso;
	bool not_executable;
	/* The file whose text was at the addresses of memory that is not executable; NULL: none.
	 * An address plus text_shift is the offset in it. */
	struct perch_dso *text;
	uint64_t text_shift;
};

/*
 * A node of a treap: maps are sorted by address from left to right, and priorities fall from the
 * root to the leaves. Priorities are random, which keeps the tree flat.
 */
struct map_node {
	struct map map;
	struct map_node *left, *right;
	uint32_t references, priority;
};

/*
 * An address space: maps that do not overlap. Processes share one after a fork, until one of them
 * changes it. The copy then shares all nodes that the change does not touch.
 */
struct space {
	struct map_node *root; /* NULL if nothing is mapped */
	struct map_node
		*code;	 /* functions of JIT compilers, above the maps; NULL if there are none */
	uint64_t random; /* state of the generator of priorities */
	bool failed;	 /* out of memory: maps are missing */
	unsigned references;
	uint64_t generation;
	/* after exec, until the new program runs: the old space, which has no .before. The user
	 * registers of samples are those of the old program. */
	struct space *before;
	bool has_vdso; /* which the kernel maps last, before the new program runs */
};
/* Makes a space without maps, with one reference. Returns NULL if out of memory. */
struct space *perch__space_new(uint64_t generation);
/* Adds a reference, and drops one. */
struct space *perch__space_get(struct space *space);
void perch__space_put(struct space *space);
/* Returns the space itself if it has one reference. Otherwise returns a copy without .before, and
 * the reference to the old one is dropped. Returns NULL if out of memory. */
struct space *perch__space_writable(struct space *space);
/* Makes a space without maps whose .before is this one. Takes the reference if it succeeds. Returns
 * NULL if out of memory. */
struct space *perch__space_after(struct space *space);
void perch__space_discard_before(struct space *space);
/* Inserts a map. It replaces what older maps have in its range. Returns 0 or -ENOMEM. */
int perch__space_insert(struct space *space, const struct map *map);
/* Inserts the code of a JIT compiler; without a DSO, removes what is there. Returns 0 or -ENOMEM.
 */
int perch__space_insert_code(struct space *space, const struct map *map);
/* Returns the map around an address, or NULL. Does not look into .before. */
const struct map *perch__space_find(const struct space *space, uint64_t address);
/* The same for a tree: space->root or space->code. */
const struct map *perch__map_find(const struct map_node *root, uint64_t address);
/* Adds a reference to a tree, and drops one. NULL is allowed. A tree with more references than one
 * is not changed any more: changes make copies of its nodes. */
struct map_node *perch__map_node_get(struct map_node *node);
void perch__map_node_put(struct map_node *node);
/* Returns the code of a JIT compiler around an address, or NULL. */
const struct map *perch__space_find_code(const struct space *space, uint64_t address);
/* True if a map without a file, in a range of addresses, is executable. */
bool perch__space_has_generated(const struct space *space, uint64_t start, uint64_t end);

/* What addresses without a mapping belong to. */
struct unmapped {
	struct perch_dso *unknown, *kernel_dso;
	bool kernel_mapped;	  /* there is a map of the kernel or of a module */
	uint64_t kernel_text_end; /* of the kernel's map; 0 if there is none */
};
/* mappings.c: returns the DSO of an address, and its offset in it. map: NULL if there is none. */
struct perch_dso *perch__map_resolve(const struct map *map, const struct unmapped *unmapped,
				     bool kernel, uint64_t address, uint64_t *offset);

/* ---- copied_text.c: anonymous memory with the text of a file ---- */

/* Sets the DSO and the offset of a map of anonymous memory that is not inserted yet, if it has the
 * text of a file. */
void perch__find_copied_text(const struct space *space, struct map *map);
/* The same for maps that were inserted before the one that follows them. Returns 0 or -ENOMEM. */
int perch__insert_copied_text(struct space *space, const struct map *after);

/* ---- processes.c, threads.c, running.c, dso.c ---- */

enum replaced {
	NOT_REPLACED,
	REPLACED_BY_EXEC, /* it has begun */
	REPLACED_BY_LIST, /* of the mappings that the process has */
};

struct process {
	uint32_t pid;
	enum replaced replaced; /* the next mapping is the first one of a new space */
	struct space *space;
	struct perch_process_users users;
	struct perch_dso *generated;	/* its anonymous memory; NULL: none */
	struct perch_jitdump *jitdumps; /* that it writes; a list */
	bool had_threads, has_threads;	/* of perch_processes_discard_ended() */
	uint32_t nr_running;		/* threads, if they are counted */
	uint32_t program;		/* counts execs, if they are counted */
};

/* threads.c: makes lookups of the tid find the thread that is added next. Returns 0 or -ENOMEM.
 */
int perch__set_newest_thread(struct perch_processes *processes, uint32_t tid);
/* threads.c: each makes what is new. NULL: out of memory. */
const struct comm *perch__process_comm(struct perch_processes *processes, const char *text);
struct process *perch__process_get(struct perch_processes *processes, uint32_t pid);
/* The name of a thread without a COMM record. */
const struct comm *perch__thread_default_comm(struct perch_processes *processes, uint32_t tid);
/* Returns the index of the newest thread with the tid, or PERCH__HASH_NONE. */
uint32_t perch__thread_find(const struct perch_processes *processes, uint32_t tid);

struct comm {
	uint32_t index;
	char text[];
};

struct perch_thread {
	uint32_t pid, tid;
	struct process *process;
	const struct comm *comm;
	bool has_comm; /* comm is from a record, and children inherit it */
	bool was_read; /* the last COMM has no time: a recorder read the thread in /proc */
	uint8_t ended; /* 0: it runs; else calls of perch_processes_discard_ended() since + 1 */
	uint8_t open_switches; /* switches in without a switch out, while the process runs .program
				*/
	uint32_t program;
	/* by NAMESPACES records; 0: unknown */
	struct perch_ns_link_info cgroup_namespace, mount_namespace, pid_namespace;
};

/* A build id from the file's header. */
struct header_build_id {
	bool ambiguous; /* the path has another build id, too */
	uint8_t size, bytes[20];
	char path[];
};

/* ---- jitdump_file.c: reads a jitdump ---- */

struct jit_line {
	uint64_t at; /* from the start of the code */
	const char *file;
	uint32_t line, order;
};

/* The lines of a function. */
struct jit_lines {
	size_t nr;
	char *record; /* has the names of files */
	struct jit_line line[];
};

struct jit_function {
	uint64_t offset, size, address; /* address: where it was loaded */
	uint64_t time, code_index;
	uint64_t present; /* the address after the moves that were read */
	const char *name;
	uint64_t lines_at;     /* offset of the record; 0 if there is none */
	uint64_t unwinding_at; /* offset of the record; 0 if there is none */
	uint32_t lines_size, unwinding_size;
	struct jit_lines *lines; /* NULL before its first use */
	uint32_t latest; /* in the first function with a code index: number of the last one */
};

/* A function gets an address. */
struct jit_change {
	uint64_t time, address, from; /* from: the old address of a function that moves */
	uint32_t function;
	bool moves;
};

struct jit_text;

struct perch_jitdump {
	struct perch_dso *dso;
	struct process *process;       /* that writes it; NULL after it has ended */
	struct perch_jitdump *next;    /* of the process, or the one that ended next */
	int fd;			       /* -1 if it could not be opened */
	bool started;		       /* the header was read */
	bool complete;		       /* nothing will follow */
	bool swapped;		       /* the other byte order */
	bool of_other_user;	       /* so it is not read */
	uint64_t offset;	       /* of the first record that was not read */
	uint64_t damaged;	       /* records */
	uint64_t damaged_lines;	       /* those of them with lines */
	struct jit_function *function; /* in the order of the file */
	size_t nr_functions, functions_capacity;
	struct perch__hash_table by_code_index; /* -> the first function with it */
	struct jit_change *change;		/* those from next_change on are sorted by time */
	size_t nr_changes, changes_capacity, next_change;
	/* the lines of the next function that is loaded to the address */
	uint64_t lines_at, lines_address;
	uint64_t unwinding_at; /* of the next function that is loaded */
	uint32_t lines_size, unwinding_size;
	size_t examined;	       /* functions, of which the addresses of lines were checked */
	bool right_lines, large_lines; /* lines have the right addresses; too large ones */
	struct jit_text *text;	       /* names */
	size_t text_size, text_left;
	char *text_next;
	char error[200];
};

/* Opens the file of jitdump->dso. A file that cannot be used has an error. */
void perch__jitdump_open(struct perch_jitdump *jitdump, const struct perch_jitdump_options *options,
			 const struct perch_mmap_record *mmap);
/* Reads what the file has in addition to the last time. Returns 0 or -ENOMEM. */
int perch__jitdump_read(struct perch_jitdump *jitdump);
void perch__jitdump_free(struct perch_jitdump *jitdump);

/* Closes the file: what is in memory stays. */
void perch__jitdump_close(struct perch_jitdump *jitdump);
/* Returns size bytes at an offset of the file, to be freed with free(). Returns NULL, with -ENOMEM,
 * -EBADMSG or -ENOENT in *rc, if out of memory, if the file does not have them or is closed. */
void *perch__jitdump_bytes(const struct perch_jitdump *jitdump, uint64_t offset, size_t size,
			   int *rc);
/* Numbers of the file. */
static inline uint32_t perch__jitdump_u32(const struct perch_jitdump *jitdump, const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return jitdump->swapped ? __builtin_bswap32(number) : number;
}

static inline uint64_t perch__jitdump_u64(const struct perch_jitdump *jitdump, const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return jitdump->swapped ? __builtin_bswap64(number) : number;
}

/* ---- jitdumps.c: the functions of all jitdumps, by time ---- */

struct jitdumps {
	bool used; /* jitdump files are read */
	struct perch_jitdump_options options;
	char *root;
	struct perch_jitdump **all; /* a heap: the one with the next change is first */
	size_t nr, capacity;
	bool sorted;	    /* the heap is one */
	bool may_grow;	    /* a jitdump is not complete */
	uint64_t next_time; /* of the next change; 0 if that is unknown */
	int64_t checked;    /* time of the last look at the files, in ms */
	/* open files of processes that have ended, in this order; the end of the list is at last */
	struct perch_jitdump *ended, **last_ended;
	size_t nr_ended, most_ended;
};
void perch__jitdumps_init(struct jitdumps *jitdumps);
/* Opens the file of a mapping if it is a jitdump. Returns 0 or -ENOMEM. */
int perch__jitdumps_mapped(struct perch_processes *processes, struct process *process,
			   const struct perch_mmap_record *mmap);
/* The process has ended or runs another program: later functions are not its own. */
void perch__jitdumps_leave(struct perch_processes *processes, struct process *process);
/* Frees the jitdumps of DSOs that will be freed. used: by their index. */
void perch__jitdumps_free_unused(struct jitdumps *jitdumps, const bool *used);
void perch__jitdumps_free(struct jitdumps *jitdumps);

/* ---- cgroups.c: paths of cgroups ---- */

struct cgroup;

struct cgroups {
	struct cgroup **cgroup;
	size_t nr, capacity;
	struct perch__hash_table by_id; /* -> cgroup */
	size_t nr_paths, bytes;
};
/* Stores the path of a CGROUP record. Returns 0 or -ENOMEM. */
int perch__cgroups_apply(struct perch_processes *processes, const struct perch_record *record);
void perch__cgroups_clear(struct cgroups *cgroups);

/* ---- switches.c: the threads that run ---- */

struct switches {
	bool counted;
	uint32_t cpus;	     /* at most as many threads run; 0: unknown */
	uint32_t nr_running; /* threads */
};
/* Stores the thread of a SWITCH, SWITCH_CPU_WIDE or SAMPLE record. Returns false if the record is
 * not needed. */
bool perch__switches_thread_of(struct perch_processes *processes, const struct perch_record *record,
			       uint32_t *pid, uint32_t *tid);
/* Applies the record to the thread. */
void perch__switches_apply(struct perch_processes *processes, struct perch_thread *thread,
			   const struct perch_record *record);
/* The thread has ended. */
void perch__switches_end(struct perch_processes *processes, struct perch_thread *thread);
/* The thread runs another program, which ends the other threads of its process. */
void perch__switches_exec(struct perch_processes *processes, struct perch_thread *thread);

struct perch_processes {
	uint64_t seed; /* of all hash tables */
	struct process **process;
	struct perch_thread **thread;
	struct comm **comm;
	struct perch_dso **dso;
	struct header_build_id **header_build_id;
	size_t nr_processes, nr_threads, nr_comms, nr_dsos, nr_header_build_ids;
	struct perch__hash_table by_pid;       /* -> process */
	struct perch__hash_table by_tid;       /* -> thread: the newest one of each tid */
	struct perch_thread *last_thread;      /* found last; NULL after a change of by_tid */
	struct perch__hash_table by_comm;      /* -> comm */
	struct perch__hash_table by_path;      /* -> dso: the first one of each path */
	struct perch__hash_table by_build_id;  /* path and build id -> dso */
	struct perch__hash_table by_file;      /* path, device and inode -> dso */
	struct perch__hash_table header_paths; /* -> header_build_id */
	struct space *kernel;
	struct unmapped unmapped;
	uint64_t generation; /* of the space that was changed last */
	bool sampled;	     /* a thread was asked for: samples may be earlier than later records */
	/* the last synthesized record was a mapping of the process .synthesized */
	bool synthesizing;
	uint32_t synthesized;
	struct jitdumps jitdumps;
	struct cgroups cgroups;
	struct switches switches;
};

/* The same as perch_processes_thread(), for records that are no samples. */
struct perch_thread *perch__processes_thread(struct perch_processes *processes, uint32_t pid,
					     uint32_t tid);
/* Finds or adds the DSO of a mapping. Returns NULL if out of memory. */
struct perch_dso *perch__dso_of_mapping(struct perch_processes *processes,
					const struct perch_record *record, bool kernel);
/* Adds a DSO that no lookup by path finds. Returns NULL if out of memory. */
struct perch_dso *perch__dso_new(struct perch_processes *processes, const char *path, size_t length,
				 enum perch_dso_kind kind);
void perch__dso_free(struct perch_dso *dso);
/* Frees the DSOs that are not used, by index, and gives the others the lowest indexes. Returns how
 * many were freed. */
size_t perch__dsos_free_unused(struct perch_processes *processes, const bool *used);
/* Finds the DSO by path and build id, or adds it. Returns NULL if out of memory. */
struct perch_dso *perch__dso_named(struct perch_processes *processes, const char *path,
				   size_t length, enum perch_dso_kind kind, const uint8_t *build_id,
				   size_t size);

#endif
