/* SPDX-License-Identifier: MIT */
/* Address spaces over time: who had what mapped where when a sample was taken. */
#ifndef PERCH_PROCESS_H
#define PERCH_PROCESS_H

#include <stdbool.h>
#include <perch/error.h>
#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

enum perch_dso_kind {
	PERCH_DSO_FILE,	  /* an ELF file, or any mapped file */
	PERCH_DSO_KERNEL, /* [kernel.kallsyms] */
	PERCH_DSO_MODULE, /* a kernel module: path of the .ko or [name] */
	PERCH_DSO_VDSO,
	PERCH_DSO_ANON,	   /* //anon, [heap], [stack], memfd: no symbols of their own */
	PERCH_DSO_UNKNOWN, /* addresses that nothing was mapped at: "[unknown]" */
	/*
	 * a function that the kernel made while it ran (KSYMBOL: a BPF program...); path is its
	 * name
	 */
	PERCH_DSO_KERNEL_CODE,
};

/* One mapped binary, shared by all processes that map it. */
struct perch_dso {
	uint32_t index; /* dense, from 0 */
	enum perch_dso_kind kind;
	const char *path;	/* not trusted: clean before showing */
	uint64_t start, length; /* kernel, modules and kernel code: where it was loaded */
	/* kernel: recorded address of its text symbol, for relocation; 0 unknown */
	uint64_t text_start;
	uint8_t build_id_size; /* 0: not known */
	uint8_t build_id[20];
	bool used; /* an address was found in it */
};

/* A thread as it is now, after the records applied so far: its name changes with COMM records. */
struct perch_thread;
PERCH_API uint32_t perch_thread_pid(const struct perch_thread *thread);
PERCH_API uint32_t perch_thread_tid(const struct perch_thread *thread);
/* Not trusted. ":1234" when no name is known. */
PERCH_API const char *perch_thread_comm(const struct perch_thread *thread);
/* Dense number of the name: the same for every thread of that name. */
PERCH_API uint32_t perch_thread_comm_index(const struct perch_thread *thread);

/* An address made independent of process and load address: for files offset is the file offset, for
 * the kernel and modules the address itself. */
struct perch_location {
	const struct perch_dso *dso;
	uint64_t offset;
	uint64_t address; /* as sampled */
};

struct perch_processes;
PERCH_API int perch_processes_new(struct perch_processes **processes, struct perch_error *err);
PERCH_API void perch_processes_free(struct perch_processes *processes);
/* A build id known from elsewhere (the BUILD_ID feature), before or after the binary is mapped. */
PERCH_API int perch_processes_add_build_id(struct perch_processes *processes, const char *path,
					   const uint8_t *bytes, size_t size);
/* Takes MMAP, MMAP2, COMM, FORK, EXIT, KSYMBOL; ignores others. In time order. 0 or -ENOMEM. */
PERCH_API int perch_processes_apply(struct perch_processes *processes,
				    const struct perch_record *record);
/* The thread; made when not known. NULL when out of memory. */
PERCH_API struct perch_thread *perch_processes_thread(struct perch_processes *processes,
						      uint32_t pid, uint32_t tid);
/* cpumode: PERCH_MISC_USER, _KERNEL... Never fails: what is not mapped gives the UNKNOWN binary. */
PERCH_API void perch_processes_resolve(struct perch_processes *processes,
				       struct perch_thread *thread, unsigned cpumode,
				       uint64_t address, struct perch_location *location);
/* Changes whenever an address of this thread's process may mean something else than before: a key
 * for caches. */
PERCH_API uint64_t perch_thread_generation(const struct perch_thread *thread);
/* Changes whenever an address of the kernel may mean something else: a module was loaded. */
PERCH_API uint64_t perch_processes_kernel_generation(const struct perch_processes *processes);
PERCH_API size_t perch_processes_dsos(const struct perch_processes *processes,
				      const struct perch_dso *const **dsos);

#ifdef __cplusplus
}
#endif
#endif
