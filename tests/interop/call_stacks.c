/* SPDX-License-Identifier: MIT */
/*
 * call_stacks FILE [exact | branches]: writes a recording with call stacks in branch records, for
 * call_stacks.sh. Few machines have the hardware (LBR) that records them, so the records are built.
 * The samples are in functions of this program. Their recorded call chains have wrong callers, as
 * those of programs without frame pointers. With 'exact', sampled addresses are inside of
 * functions, and there are samples in the kernel. With 'branches', for perf_options.py, the branch
 * records have branches of any kind, and callers are right.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <perch/file.h>

#define PID    4242
#define KERNEL UINT64_C(0xffff888000000100) /* not code */
#define WRONG  UINT64_C(0x1234)
#define TYPE                                                                               \
	(PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CALLCHAIN | \
	 PERCH_SAMPLE_BRANCH_STACK)

static volatile int sink;

__attribute__((noinline)) static void called_innermost(void)
{
	sink += 1;
}

__attribute__((noinline)) static void called_second(void)
{
	called_innermost();
	sink += 2;
}

__attribute__((noinline)) static void called_third(void)
{
	called_second();
	sink += 3;
}

static struct perch_error err;

static void die(void)
{
	perch_error_print(stderr, &err);
	exit(1);
}

struct buffer {
	_Alignas(8) char bytes[8192];
	size_t size;
};

static void put(struct buffer *buffer, const void *data, size_t size)
{
	memcpy(buffer->bytes + buffer->size, data, size);
	buffer->size += size;
}

static void put_u64(struct buffer *buffer, uint64_t value)
{
	put(buffer, &value, sizeof(value));
}

static void put_thread(struct buffer *buffer)
{
	static const uint32_t thread[2] = { PID, PID };

	put(buffer, thread, sizeof(thread));
}

static void start(struct buffer *buffer, uint32_t type, uint16_t misc)
{
	struct perch_record_header header = { .type = type, .misc = misc };

	buffer->size = 0;
	put(buffer, &header, sizeof(header));
}

static void put_text(struct buffer *buffer, const char *text)
{
	put(buffer, text, strlen(text) + 1);
	while (buffer->size % 8)
		buffer->bytes[buffer->size++] = 0;
}

static void finish(struct perch_writer *writer, struct buffer *buffer)
{
	struct iovec piece = { buffer->bytes, buffer->size };

	((struct perch_record_header *)buffer->bytes)->size = buffer->size;
	if (perch_writer_append(writer, &piece, 1, &err))
		die();
}

static void finish_with_trailer(struct perch_writer *writer, struct buffer *buffer, uint64_t time)
{
	put_thread(buffer);
	put_u64(buffer, time);
	finish(writer, buffer);
}

/* The mappings of this program with code, as those of process PID. */
static void write_maps(struct perch_writer *writer, struct buffer *buffer)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096], rights[5], path[4096];
	uint64_t first, last, offset;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095s", &first,
			   &last, rights, &offset, path) != 5 ||
		    rights[2] != 'x' || path[0] != '/')
			continue;
		start(buffer, PERCH_RECORD_MMAP, PERCH_MISC_USER);
		put_thread(buffer);
		put_u64(buffer, first);
		put_u64(buffer, last - first);
		put_u64(buffer, offset);
		put_text(buffer, path);
		finish_with_trailer(writer, buffer, 2);
	}
	if (maps)
		fclose(maps);
}

static uint64_t at(void (*function)(void), unsigned offset)
{
	return (uint64_t)(uintptr_t)function + offset;
}

/* branches: how many of the three are written */
static void write_sample(struct perch_writer *writer, struct buffer *buffer, uint64_t time,
			 uint64_t ip, bool user, unsigned branches)
{
	const uint64_t kernel[] = { PERCH_CONTEXT_KERNEL, KERNEL, KERNEL + 0x100 };
	const uint64_t branch[3][2] = {
		{ at(called_second, 4), at(called_innermost, 0) },
		{ at(called_third, 4), at(called_second, 0) },
		{ at(called_third, 9), at(called_third, 0) },
	};
	bool in_kernel = ip == KERNEL;

	start(buffer, PERCH_RECORD_SAMPLE, in_kernel ? PERCH_MISC_KERNEL : PERCH_MISC_USER);
	put_u64(buffer, ip);
	put_thread(buffer);
	put_u64(buffer, time);
	put_u64(buffer, (in_kernel ? 3 : 0) + (user ? 4 : 0));
	if (in_kernel)
		put(buffer, kernel, sizeof(kernel));
	if (user) {
		put_u64(buffer, PERCH_CONTEXT_USER);
		put_u64(buffer, in_kernel ? at(called_innermost, 2) : ip);
		put_u64(buffer, WRONG);
		put_u64(buffer, WRONG + 1);
	}
	put_u64(buffer, branches);
	put_u64(buffer, ~UINT64_C(0)); /* no index of the hardware */
	for (unsigned i = 0; i < branches; i++) {
		put_u64(buffer, branch[i][0]);
		put_u64(buffer, branch[i][1]);
		put_u64(buffer, 0);
	}
	finish(writer, buffer);
}

/* A sample at the target of a branch. perf leaves out as many words of the chain as there are
 * branches, so there are as many. */
static void write_branches(struct perch_writer *writer, struct buffer *buffer, uint64_t time,
			   const uint64_t *chain, const uint64_t (*branch)[2], unsigned nr)
{
	start(buffer, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put_u64(buffer, chain[0]);
	put_thread(buffer);
	put_u64(buffer, time);
	put_u64(buffer, nr);
	put_u64(buffer, PERCH_CONTEXT_USER);
	put(buffer, chain, (nr - 1) * sizeof(*chain));
	put_u64(buffer, nr);
	put_u64(buffer, ~UINT64_C(0));
	for (unsigned i = 0; i < nr; i++) {
		put(buffer, branch[i], sizeof(branch[i]));
		put_u64(buffer, 0);
	}
	finish(writer, buffer);
}

static void write_samples_with_branches(struct perch_writer *writer, struct buffer *buffer)
{
	const uint64_t chain[] = { at(called_innermost, 0), at(called_second, 9),
				   at(called_third, 9) };
	const uint64_t branch[][2] = {
		{ at(called_second, 4), at(called_innermost, 0) },
		{ at(called_third, 4), at(called_second, 0) },
		{ at(called_third, 1), at(called_third, 3) },
		{ at(called_third, 2), at(called_third, 1) },
	};

	for (uint64_t time = 10; time < 13; time++)
		write_branches(writer, buffer, time, chain, branch, 4);
	write_branches(writer, buffer, 13, (const uint64_t[]){ branch[1][1], chain[2] }, branch + 1,
		       3);
}

static void write_call_stacks(struct perch_writer *writer, struct buffer *buffer, bool exact)
{
	write_sample(writer, buffer, 10, at(called_innermost, 0), true, 3);
	write_sample(writer, buffer, 11, at(called_innermost, 0), true, 1);
	if (!exact)
		return;
	write_sample(writer, buffer, 12, at(called_innermost, 3), true, 3);
	write_sample(writer, buffer, 13, at(called_innermost, 3), true, 0);
	write_sample(writer, buffer, 14, KERNEL, true, 3);
	write_sample(writer, buffer, 15, KERNEL, false, 0);
	write_sample(writer, buffer, 16, KERNEL, false, 3);
}

int main(int argc, char **argv)
{
	static const uint64_t ids[] = { 1 };
	static struct buffer buffer;
	const bool branches = argc > 2 && !strcmp(argv[2], "branches");
	const struct perch_file_event event = {
		.attr = { .type = PERCH_TYPE_HARDWARE,
			  .sample_type = TYPE,
			  .sample_period = 1,
			  .sample_id_all = 1,
			  .mmap = 1,
			  .comm = 1,
			  .branch_sample_type = PERCH_SAMPLE_BRANCH_USER |
						(branches ? PERCH_SAMPLE_BRANCH_ANY
							  : PERCH_SAMPLE_BRANCH_CALL_STACK) |
						PERCH_SAMPLE_BRANCH_NO_CYCLES |
						PERCH_SAMPLE_BRANCH_NO_FLAGS |
						PERCH_SAMPLE_BRANCH_HW_INDEX },
		.name = "cycles",
		.ids = ids,
		.nr_ids = 1,
	};
	struct perch_machine *machine;
	struct perch_writer *writer;

	if (argc < 2)
		return 2;
	if (perch_writer_open(&writer, argv[1], &event, 1, &err))
		die();
	start(&buffer, PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC);
	put_thread(&buffer);
	put_text(&buffer, "worker");
	finish_with_trailer(writer, &buffer, 1);
	write_maps(writer, &buffer);
	if (branches)
		write_samples_with_branches(writer, &buffer);
	else
		write_call_stacks(writer, &buffer, argc > 2);
	/* the files of the machine are those of the recording */
	if (perch_machine_new(&machine, NULL, NULL, &err) ||
	    perch_writer_describe(writer, "call_stacks", 0, NULL, machine, &err) ||
	    perch_writer_close(writer, &err))
		die();
	perch_machine_free(machine);
	return 0;
}
