/* SPDX-License-Identifier: MIT */
/*
 * CPUs that are offline, and TEXT_POKE records: address, old and new bytes of changed kernel code.
 * The sysctl kernel.bpf_stats_enabled changes code; /proc/kcore has the current bytes.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/sampler.h>
#include "../kernel/live.h"
#include "guest.h"

#define SWITCH	  "/proc/sys/kernel/bpf_stats_enabled"
#define MAX_BYTES 16

/* Records the code changes of this thread when the sysctl is set. */
static void set_bpf_stats(struct live *live, const char *to)
{
	struct perch_attr attr = live_attr();
	struct perch_error err;

	attr.text_poke = 1;
	CHECK_OK(live_open(live, &attr, &perch_self, 0, &err), &err);
	CHECK(!live_enable(live), "");
	guest_write(SWITCH, to);
	CHECK(!live_disable(live), "");
	CHECK_OK(live_take(live, &err), &err);
	CHECK(live_count(live, PERCH_RECORD_TEXT_POKE) > 0, "of %zu records", live->nr);
}

/* Reads bytes of the running kernel from the ELF file /proc/kcore. */
static bool read_kernel(uint64_t address, void *bytes, size_t size)
{
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	bool got = false;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		header.e_phnum = 0;
	for (int i = 0; i < header.e_phnum && !got; i++) {
		if (pread(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment)) !=
		    sizeof(segment))
			break;
		if (segment.p_type == PT_LOAD && segment.p_vaddr <= address &&
		    address + size - segment.p_vaddr <= segment.p_memsz)
			got = pread(fd, bytes, size,
				    segment.p_offset + (address - segment.p_vaddr)) ==
			      (ssize_t)size;
	}
	if (fd >= 0)
		close(fd);
	return got;
}

static uint64_t symbol(const char *wanted)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[512], name[256];
	uint64_t address, found = 0;

	while (symbols && !found && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) == 2 &&
		    !strcmp(name, wanted))
			found = address;
	if (symbols)
		fclose(symbols);
	CHECK(found, "%s", wanted);
	return found;
}

/* /proc/kcore has the new bytes of the last record of each address. */
static void new_bytes_match(void)
{
	uint64_t from = symbol("_text"), to = symbol("_etext");
	uint8_t bytes[MAX_BYTES];
	struct live live;
	size_t compared = 0;

	set_bpf_stats(&live, "1");
	for (size_t i = 0; i < live.nr; i++) {
		const struct perch_text_poke_record *poke = &live.record[i].text_poke;
		bool last = true;

		CHECK(poke->address >= from && poke->address < to, "%#" PRIx64, poke->address);
		CHECK(poke->old_length > 0 && poke->old_length <= MAX_BYTES &&
			      poke->new_length == poke->old_length,
		      "%u bytes, then %u", poke->old_length, poke->new_length);
		CHECK(memcmp(poke->before, poke->after, poke->old_length), "nothing changes");
		for (size_t j = i + 1; j < live.nr; j++)
			last &= live.record[j].text_poke.address != poke->address;
		if (!last)
			continue;
		if (!read_kernel(poke->address, bytes, poke->new_length))
			guest_skip("/proc/kcore does not have the kernel code");
		CHECK(!memcmp(bytes, poke->after, poke->new_length), "other bytes at %#" PRIx64,
		      poke->address);
		compared++;
	}
	guest_note("%zu records, %zu places compared", live.nr, compared);
	CHECK(compared > 0, "");
	guest_write(SWITCH, "0");
	live_close(&live);
}

/* The records of the reverse change have old and new bytes swapped. */
static void reversed_changes(void)
{
	struct live there, back;

	set_bpf_stats(&there, "1");
	set_bpf_stats(&back, "0");
	CHECK(there.nr == back.nr, "%zu, then %zu", there.nr, back.nr);
	for (size_t i = 0; i < there.nr; i++) {
		const struct perch_text_poke_record *poke = &there.record[i].text_poke,
						    *other = NULL;

		for (size_t j = 0; j < back.nr && !other; j++)
			if (back.record[j].text_poke.address == poke->address)
				other = &back.record[j].text_poke;
		CHECK(other, "%#" PRIx64 " was not changed back", poke->address);
		CHECK(other->old_length == poke->new_length &&
			      other->new_length == poke->old_length,
		      "other lengths");
		CHECK(!memcmp(other->before, poke->after, poke->new_length) &&
			      !memcmp(other->after, poke->before, poke->old_length),
		      "other bytes at %#" PRIx64, poke->address);
	}
	live_close(&there);
	live_close(&back);
}

#define CPU1_ONLINE "/sys/devices/system/cpu/cpu1/online"

/* An open on an offline CPU fails. */
static void no_such_cpu(void)
{
	struct perch_target target = { .tid = -1, .cpu = 1 };
	struct perch_attr attr = live_attr();
	struct perch_error err;
	struct live live;
	int rc;

	if (access(CPU1_ONLINE, W_OK))
		guest_skip("CPU 1 of this machine cannot be set offline");
	guest_write(CPU1_ONLINE, "0");
	rc = live_open(&live, &attr, &target, 0, &err);
	guest_write(CPU1_ONLINE, "1");
	CHECK(rc == -ENODEV, "%d", rc);
	CHECK(err.kind == PERCH_ERROR_NO_CPU, "%s: %s", perch_error_kind_slug(err.kind),
	      err.message);
	guest_note("%s", err.message);
}

/* A process that waits for a byte, and then causes page faults on CPU 1. */
static pid_t start_worker(int *release)
{
	static char pages[64 * 4096];
	int ends[2];
	pid_t child;
	char byte;

	CHECK(!pipe(ends), "");
	child = fork();
	CHECK(child >= 0, "");
	if (!child) {
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		guest_pin(1);
		memset(pages, 1, sizeof(pages));
		_exit(0);
	}
	close(ends[0]);
	*release = ends[1];
	return child;
}

/* The kernel accepts an event of a thread on an offline CPU. It counts when the CPU is back. */
static void thread_is_added_on_offline_cpu(const struct perch_targets *targets)
{
	const struct perch_sampler_options options = { .event = { .period = 1, .enabled = 1 } };
	struct perch_sampler *sampler;
	struct perch_record record;
	struct perch_error err;
	int release, status, rc, samples = 0;
	pid_t worker;

	if (access(CPU1_ONLINE, W_OK))
		guest_skip("CPU 1 of this machine cannot be set offline");
	worker = start_worker(&release);
	CHECK_OK(perch_sampler_open(&sampler, "page-faults", targets, &options, &err), &err);
	guest_write(CPU1_ONLINE, "0");
	rc = perch_sampler_add_thread(sampler, worker, &err);
	guest_write(CPU1_ONLINE, "1");
	CHECK(!rc, "%d: %s", rc, err.message);
	CHECK(write(release, "", 1) == 1, "");
	CHECK(waitpid(worker, &status, 0) == worker && !status, "%d", status);
	while ((rc = perch_sampler_next(sampler, &record, &err)) > 0)
		samples += record.type == PERCH_RECORD_SAMPLE && (pid_t)record.sample.tid == worker;
	CHECK_OK(rc, &err);
	CHECK(samples >= 60, "%d samples", samples);
	perch_sampler_close(sampler);
}

static void threads_are_added_on_offline_cpu(void)
{
	thread_is_added_on_offline_cpu(NULL);
	thread_is_added_on_offline_cpu(&perch_all_cpus);
}

static const struct guest_test guest_pokes[] = {
	{ .name = "records of code changes match the code", .run = new_bytes_match },
	{ .name = "records of reversed code changes", .run = reversed_changes },
	{ .name = "a CPU that is offline", .run = no_such_cpu },
	{ .name = "a thread is added to a sampler while a CPU is offline",
	  .run = threads_are_added_on_offline_cpu },
	{ 0 },
};
const struct guest_test *const guest_lists[] = { guest_pokes, NULL };
