/* SPDX-License-Identifier: MIT */
/* Records of processes for tests: views without bytes. */
#ifndef PROCESS_FIXTURE_H
#define PROCESS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/file.h>
#include <perch/process.h>
#include "base/kernel/process_owner.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static inline struct perch_processes *new_processes(void)
{
	struct perch_processes *processes;

	assert_int_equal(perch_processes_new(&processes, NULL), 0);
	return processes;
}

static inline struct perch_text text_of(const char *text)
{
	return (struct perch_text){ text, strlen(text) };
}

static inline struct perch_record mmap_record(uint16_t misc, uint32_t pid, uint64_t start,
					      uint64_t length, uint64_t offset, const char *name)
{
	return (struct perch_record){
		.type = PERCH_RECORD_MMAP2,
		.misc = misc,
		.mmap = { .pid = pid,
			  .tid = pid,
			  .start = start,
			  .length = length,
			  .page_offset = offset,
			  .filename = text_of(name) },
	};
}

static inline void apply(struct perch_processes *processes, const struct perch_record *record)
{
	assert_int_equal(perch_processes_apply(processes, record), 0);
}

static inline void map_file(struct perch_processes *processes, uint32_t pid, uint64_t start,
			    uint64_t length, uint64_t offset, const char *name)
{
	struct perch_record record = mmap_record(PERCH_MISC_USER, pid, start, length, offset, name);

	apply(processes, &record);
}

static inline void map_kernel(struct perch_processes *processes, uint64_t start, uint64_t length,
			      uint64_t offset, const char *name)
{
	struct perch_record record =
		mmap_record(PERCH_MISC_KERNEL, UINT32_MAX, start, length, offset, name);

	apply(processes, &record);
}

static inline void name_thread(struct perch_processes *processes, uint32_t pid, uint32_t tid,
			       const char *name, bool exec)
{
	struct perch_record record = {
		.type = PERCH_RECORD_COMM,
		.comm = { .pid = pid, .tid = tid, .exec = exec, .comm = text_of(name) },
	};

	apply(processes, &record);
}

static inline void fork_thread(struct perch_processes *processes, uint32_t ppid, uint32_t ptid,
			       uint32_t pid, uint32_t tid)
{
	struct perch_record record = {
		.type = PERCH_RECORD_FORK,
		.task = { .pid = pid, .ppid = ppid, .tid = tid, .ptid = ptid },
	};

	apply(processes, &record);
}

/* As the recorder of perch writes it. size: that of struct perch__user_record, or another one. */
static inline void put_user(struct perch_processes *processes, uint32_t pid, uint32_t user,
			    const char *name, uint16_t size, bool swapped)
{
	const struct perch_parse_info parse_info = { .swapped = swapped };
	struct perch__user_record bytes = {
		.header = { .type = PERCH_RECORD_HEADER_EVENT_TYPE, .size = size },
		.pid = swapped ? __builtin_bswap32(pid) : pid,
		.user = swapped ? __builtin_bswap32(user) : user,
	};
	const struct perch_record record = { .type = PERCH_RECORD_HEADER_EVENT_TYPE,
					     .size = size,
					     .bytes = &bytes,
					     .parse_info = &parse_info };

	memcpy(bytes.name, name, strlen(name));
	apply(processes, &record);
}

static inline struct perch_thread *thread_of(struct perch_processes *processes, uint32_t pid,
					     uint32_t tid)
{
	struct perch_thread *thread = perch_processes_thread(processes, pid, tid);

	assert_non_null(thread);
	return thread;
}

static inline struct perch_location locate(struct perch_processes *processes, uint32_t pid,
					   unsigned mode, uint64_t address)
{
	struct perch_location location;

	perch_processes_resolve(processes, thread_of(processes, pid, pid), mode, address,
				&location);
	assert_non_null(location.dso);
	assert_int_equal(location.address, address);
	return location;
}

/* path NULL: no mapping is expected. */
static inline void check_user(struct perch_processes *processes, uint32_t pid, uint64_t address,
			      const char *path, uint64_t offset)
{
	struct perch_location location = locate(processes, pid, PERCH_MISC_USER, address);

	assert_string_equal(location.dso->path, path ? path : "[unknown]");
	assert_int_equal(location.offset, path ? offset : address);
}

static inline void end_thread(struct perch_processes *processes, uint32_t pid, uint32_t tid)
{
	struct perch_record record = {
		.type = PERCH_RECORD_EXIT,
		.task = { .pid = pid, .tid = tid },
	};

	apply(processes, &record);
}

#endif
