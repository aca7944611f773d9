/* SPDX-License-Identifier: MIT */
/* The body of each record type, and what its view has. */
#ifndef RECORD_TYPES_H
#define RECORD_TYPES_H

#include "record_fixture.h"

struct type_case {
	uint32_t type;
	uint16_t misc;
	void (*build)(struct built *b);
	void (*check)(const struct perch_record *record);
	const char *first; /* the missing field of an empty body; NULL if none */
	const char *last;  /* the missing field of a body cut by 8 bytes */
};

static void put_words(struct built *b, uint64_t from, uint64_t to)
{
	while (from <= to)
		put_u64(b, from++);
}

static void put_pair(struct built *b)
{
	put_u32(b, 7);
	put_u32(b, 8);
}

static void build_map_start(struct built *b)
{
	put_pair(b);
	put_u64(b, 0x400000);
	put_u64(b, 0x1000);
	put_u64(b, 0x2000);
}

static void build_mmap(struct built *b)
{
	build_map_start(b);
	put_name(b, "/bin/true");
}

static void check_mmap_of(const struct perch_record *record, const char *filename)
{
	const struct perch_mmap_record *map = &record->mmap;

	assert_int_equal(map->pid, 7);
	assert_int_equal(map->tid, 8);
	assert_int_equal(map->start, 0x400000);
	assert_int_equal(map->length, 0x1000);
	assert_int_equal(map->page_offset, 0x2000);
	assert_int_equal(map->filename.length, strlen(filename));
	assert_string_equal(map->filename.text, filename);
	if (record->type == PERCH_RECORD_MMAP)
		assert_int_equal(map->inode, 0);
}

static void check_mmap(const struct perch_record *record)
{
	check_mmap_of(record, "/bin/true");
}

static void build_mmap2(struct built *b)
{
	build_map_start(b);
	put_u32(b, 11);
	put_u32(b, 12);
	put_u64(b, 13);
	put_u64(b, 14);
	put_u32(b, 15);
	put_u32(b, 16);
	put_name(b, "/bin/true");
}

static void check_mmap2(const struct perch_record *record)
{
	check_mmap(record);
	assert_int_equal(record->mmap.major, 11);
	assert_int_equal(record->mmap.minor, 12);
	assert_int_equal(record->mmap.inode, 13);
	assert_int_equal(record->mmap.inode_generation, 14);
	assert_int_equal(record->mmap.protection, 15);
	assert_int_equal(record->mmap.flags, 16);
	assert_int_equal(record->mmap.build_id_size, 0);
}

static void build_mmap2_id(struct built *b)
{
	build_map_start(b);
	put_bytes(b, "\4\0\0\0build id of 20 bytes", 24);
	put_u32(b, 15);
	put_u32(b, 16);
	put_name(b, "/bin/true");
}

static void check_mmap2_id(const struct perch_record *record)
{
	check_mmap(record);
	assert_int_equal(record->mmap.build_id_size, 4);
	assert_memory_equal(record->mmap.build_id, "buil\0\0\0\0", 8);
	assert_int_equal(record->mmap.inode, 0);
	assert_int_equal(record->mmap.protection, 15);
	assert_int_equal(record->mmap.flags, 16);
}

/* As Linux 3.10 of RHEL 7 writes it: the name is where newer kernels have prot and flags. */
static void build_old_mmap2(struct built *b)
{
	build_map_start(b);
	put_u32(b, 11);
	put_u32(b, 12);
	put_u64(b, 13);
	put_u64(b, 14);
	put_name(b, "/bin/true");
}

static void check_old_mmap2(const struct perch_record *record)
{
	check_mmap(record);
	assert_int_equal(record->mmap.major, 11);
	assert_int_equal(record->mmap.inode_generation, 14);
	assert_int_equal(record->mmap.protection, 0);
	assert_int_equal(record->mmap.flags, 0);
}

static void build_old_vdso(struct built *b)
{
	build_map_start(b);
	for (int i = 0; i < 3; i++)
		put_u64(b, 0);
	put_name(b, "[vdso]");
}

static void check_old_vdso(const struct perch_record *record)
{
	assert_int_equal(record->mmap.filename.length, 6);
	assert_string_equal(record->mmap.filename.text, "[vdso]");
	assert_int_equal(record->mmap.protection, 0);
}

/* As perf inject --jit writes it: prot is the mode of the file. */
static void build_injected_mmap2(struct built *b)
{
	build_map_start(b);
	put_u32(b, 11);
	put_u32(b, 12);
	put_u64(b, 13);
	put_u64(b, 14);
	put_u32(b, 0100644);
	put_u32(b, 1);
	put_name(b, "/tmp/jitted-7-1.so");
}

static void check_injected_mmap2(const struct perch_record *record)
{
	check_mmap_of(record, "/tmp/jitted-7-1.so");
	assert_int_equal(record->mmap.protection, 0100644);
	assert_int_equal(record->mmap.flags, 1);
}

/* Flags in the upper half of prot, as other architectures and tools may have them. */
static void build_growing_mmap2(struct built *b)
{
	build_map_start(b);
	for (int i = 0; i < 3; i++)
		put_u64(b, 0);
	put_u32(b, 0x01000003);
	put_u32(b, 0x102);
	put_name(b, "[stack]");
}

static void check_growing_mmap2(const struct perch_record *record)
{
	check_mmap_of(record, "[stack]");
	assert_int_equal(record->mmap.protection, 0x01000003);
	assert_int_equal(record->mmap.flags, 0x102);
}

/* The shortest name, and one with a character that is not printable. */
static void build_old_short(struct built *b)
{
	build_map_start(b);
	for (int i = 0; i < 3; i++)
		put_u64(b, 0);
	put_name(b, "/a");
}

static void check_old_short(const struct perch_record *record)
{
	check_mmap_of(record, "/a");
	assert_int_equal(record->mmap.protection, 0);
}

static void build_old_odd(struct built *b)
{
	build_map_start(b);
	for (int i = 0; i < 3; i++)
		put_u64(b, 0);
	put_name(b, "/tmp/\xc3\xa4\nb");
}

static void check_old_odd(const struct perch_record *record)
{
	check_mmap_of(record, "/tmp/\xc3\xa4\nb");
	assert_int_equal(record->mmap.protection, 0);
}

static void build_comm(struct built *b)
{
	put_pair(b);
	put_name(b, "seven77");
}

static void check_comm(const struct perch_record *record)
{
	assert_int_equal(record->comm.pid, 7);
	assert_int_equal(record->comm.tid, 8);
	assert_true(record->comm.exec);
	assert_int_equal(record->comm.comm.length, 7);
	assert_string_equal(record->comm.comm.text, "seven77");
}

static void build_task(struct built *b)
{
	for (uint32_t i = 1; i <= 4; i++)
		put_u32(b, i);
	put_u64(b, 99);
}

static void check_task(const struct perch_record *record)
{
	assert_int_equal(record->task.pid, 1);
	assert_int_equal(record->task.ppid, 2);
	assert_int_equal(record->task.tid, 3);
	assert_int_equal(record->task.ptid, 4);
	assert_int_equal(record->task.time, 99);
}

static void build_two(struct built *b)
{
	put_words(b, 1, 2);
}

static void build_three(struct built *b)
{
	put_words(b, 1, 3);
}

static void build_one(struct built *b)
{
	put_u64(b, 0x0102030405060708);
}

static void check_lost(const struct perch_record *record)
{
	assert_int_equal(record->lost.id, 1);
	assert_int_equal(record->lost.lost, 2);
}

static void check_lost_samples(const struct perch_record *record)
{
	assert_int_equal(record->lost.id, 0);
	assert_int_equal(record->lost.lost, 0x0102030405060708);
}

static void check_throttle(const struct perch_record *record)
{
	assert_int_equal(record->throttle.time, 1);
	assert_int_equal(record->throttle.id, 2);
	assert_int_equal(record->throttle.stream_id, 3);
}

static void check_aux(const struct perch_record *record)
{
	assert_int_equal(record->aux.offset, 1);
	assert_int_equal(record->aux.size, 2);
	assert_int_equal(record->aux.flags, 3);
}

static void build_read(struct built *b)
{
	put_pair(b);
	put_words(b, 1, 1);
}

static void check_read(const struct perch_record *record)
{
	struct perch_read_value value;

	assert_int_equal(record->read.pid, 7);
	assert_int_equal(record->read.tid, 8);
	assert_int_equal(record->read.values.nr, 1);
	perch_read_values_at(&record->read.values, 0, &value);
	assert_int_equal(value.value, 1);
}

static void check_itrace(const struct perch_record *record)
{
	assert_int_equal(record->itrace.pid, 7);
	assert_int_equal(record->itrace.tid, 8);
}

static void build_nothing(struct built *b)
{
	(void)b;
}

static void check_switch(const struct perch_record *record)
{
	assert_true(record->context_switch.out);
	assert_true(record->context_switch.preempt);
	assert_int_equal(record->context_switch.other_pid, 0);
}

static void check_cpu_wide(const struct perch_record *record)
{
	assert_true(record->context_switch.out);
	assert_false(record->context_switch.preempt);
	assert_int_equal(record->context_switch.other_pid, 7);
	assert_int_equal(record->context_switch.other_tid, 8);
}

/* Three namespaces: the number is that of the record. */
static void build_namespaces(struct built *b)
{
	put_pair(b);
	put_u64(b, 3);
	put_words(b, 1, 6);
}

static void check_namespaces(const struct perch_record *record)
{
	struct perch_ns_link_info link;

	assert_int_equal(record->namespaces.pid, 7);
	assert_int_equal(record->namespaces.tid, 8);
	assert_int_equal(record->namespaces.nr, 3);
	for (uint64_t i = 0; i < 3; i++) {
		perch_namespace_at(record, i, &link);
		assert_int_equal(link.dev, 1 + 2 * i);
		assert_int_equal(link.ino, 2 + 2 * i);
	}
	perch_namespace_at(record, PERCH_MNT_NS_INDEX, &link);
	assert_int_equal(link.dev | link.ino, 0);
}

static void build_ksymbol(struct built *b)
{
	put_u64(b, 0xffffffffc0000000);
	put_u32(b, 64);
	put_u16(b, PERCH_RECORD_KSYMBOL_TYPE_OOL);
	put_u16(b, PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	put_name(b, "bpf_prog");
}

static void check_ksymbol(const struct perch_record *record)
{
	assert_int_equal(record->ksymbol.address, 0xffffffffc0000000);
	assert_int_equal(record->ksymbol.length, 64);
	assert_int_equal(record->ksymbol.type, PERCH_RECORD_KSYMBOL_TYPE_OOL);
	assert_int_equal(record->ksymbol.flags, PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	assert_string_equal(record->ksymbol.name.text, "bpf_prog");
}

static void build_bpf(struct built *b)
{
	put_u16(b, PERCH_BPF_EVENT_PROG_UNLOAD);
	put_u16(b, 5);
	put_u32(b, 66);
	put_bytes(b, "\1\2\3\4\5\6\7\10", 8);
}

static void check_bpf(const struct perch_record *record)
{
	assert_int_equal(record->bpf.type, PERCH_BPF_EVENT_PROG_UNLOAD);
	assert_int_equal(record->bpf.flags, 5);
	assert_int_equal(record->bpf.id, 66);
	assert_memory_equal(record->bpf.tag, "\1\2\3\4\5\6\7\10", 8);
}

static void build_cgroup(struct built *b)
{
	put_u64(b, 5);
	put_name(b, "/user.slice");
}

static void check_cgroup(const struct perch_record *record)
{
	assert_int_equal(record->cgroup.id, 5);
	assert_string_equal(record->cgroup.path.text, "/user.slice");
}

static void build_poke(struct built *b)
{
	put_u64(b, 0xffffffff81000000);
	put_u16(b, 5);
	put_u16(b, 3);
	put_bytes(b, "five!new\0\0\0\0", 12);
}

static void check_poke(const struct perch_record *record)
{
	assert_int_equal(record->text_poke.address, 0xffffffff81000000);
	assert_int_equal(record->text_poke.old_length, 5);
	assert_int_equal(record->text_poke.new_length, 3);
	assert_memory_equal(record->text_poke.before, "five!", 5);
	assert_memory_equal(record->text_poke.after, "new", 3);
}

static void check_hw_id(const struct perch_record *record)
{
	assert_int_equal(record->hw_id.hw_id, 0x0102030405060708);
}

static void build_deferred(struct built *b)
{
	put_u64(b, 0xc00c1e);
	put_u64(b, 3);
	put_u64(b, PERCH_CONTEXT_USER);
	put_words(b, 0x1000, 0x1001);
}

static void check_deferred(const struct perch_record *record)
{
	struct perch_chain_address address;
	struct perch_chain chain;

	assert_int_equal(record->deferred.cookie, 0xc00c1e);
	assert_int_equal(record->deferred.nr, 3);
	assert_int_equal(perch_word(record, record->deferred.ip + 2), 0x1001);
	perch_chain_init(&chain, record);
	for (uint64_t ip = 0x1000; ip <= 0x1001; ip++) {
		assert_true(perch_chain_next(&chain, &address));
		assert_int_equal(address.ip, ip);
		assert_int_equal(address.cpumode, PERCH_MISC_USER);
	}
	assert_false(perch_chain_next(&chain, &address));
}

#define SWITCHED_OUT (PERCH_MISC_SWITCH_OUT | PERCH_MISC_SWITCH_OUT_PREEMPT)

static const struct type_case cases[] = {
	{ PERCH_RECORD_MMAP, 0, build_mmap, check_mmap, "pid", "filename" },
	{ PERCH_RECORD_LOST, 0, build_two, check_lost, "id", "lost" },
	{ PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC, build_comm, check_comm, "pid", "comm" },
	{ PERCH_RECORD_EXIT, 0, build_task, check_task, "pid", "time" },
	{ PERCH_RECORD_THROTTLE, 0, build_three, check_throttle, "time", "stream_id" },
	{ PERCH_RECORD_UNTHROTTLE, 0, build_three, check_throttle, "time", "stream_id" },
	{ PERCH_RECORD_FORK, 0, build_task, check_task, "pid", "time" },
	{ PERCH_RECORD_READ, 0, build_read, check_read, "pid", "read.value" },
	{ PERCH_RECORD_MMAP2, 0, build_mmap2, check_mmap2, "pid", "filename" },
	{ PERCH_RECORD_MMAP2, PERCH_MISC_MMAP_BUILD_ID, build_mmap2_id, check_mmap2_id, "pid",
	  "filename" },
	{ PERCH_RECORD_MMAP2, 0, build_old_mmap2, check_old_mmap2, "pid", "filename" },
	{ PERCH_RECORD_MMAP2, 0, build_old_vdso, check_old_vdso, "pid", "prot" },
	{ PERCH_RECORD_MMAP2, 0, build_old_short, check_old_short, "pid", "prot" },
	{ PERCH_RECORD_MMAP2, 0, build_old_odd, check_old_odd, "pid", "filename" },
	{ PERCH_RECORD_MMAP2, 0, build_injected_mmap2, check_injected_mmap2, "pid", "filename" },
	{ PERCH_RECORD_MMAP2, 0, build_growing_mmap2, check_growing_mmap2, "pid", "filename" },
	{ PERCH_RECORD_AUX, 0, build_three, check_aux, "aux_offset", "flags" },
	{ PERCH_RECORD_ITRACE_START, 0, put_pair, check_itrace, "pid", "pid" },
	{ PERCH_RECORD_LOST_SAMPLES, 0, build_one, check_lost_samples, "lost", "lost" },
	{ PERCH_RECORD_SWITCH, SWITCHED_OUT, build_nothing, check_switch, NULL, NULL },
	{ PERCH_RECORD_SWITCH_CPU_WIDE, PERCH_MISC_SWITCH_OUT, put_pair, check_cpu_wide,
	  "next_prev_pid", "next_prev_pid" },
	{ PERCH_RECORD_NAMESPACES, 0, build_namespaces, check_namespaces, "pid", "namespaces" },
	{ PERCH_RECORD_KSYMBOL, 0, build_ksymbol, check_ksymbol, "addr", "name" },
	{ PERCH_RECORD_BPF_EVENT, 0, build_bpf, check_bpf, "type", "tag" },
	{ PERCH_RECORD_CGROUP, 0, build_cgroup, check_cgroup, "id", "path" },
	{ PERCH_RECORD_TEXT_POKE, 0, build_poke, check_poke, "addr", "old_bytes" },
	{ PERCH_RECORD_AUX_OUTPUT_HW_ID, 0, build_one, check_hw_id, "hw_id", "hw_id" },
	{ PERCH_RECORD_CALLCHAIN_DEFERRED, PERCH_MISC_USER, build_deferred, check_deferred,
	  "cookie", "ips" },
};
#define NR_CASES (sizeof(cases) / sizeof(cases[0]))

#endif
