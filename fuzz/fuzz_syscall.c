/* SPDX-License-Identifier: MIT */
/*
 * The input is a sequence of events of system calls, and the memory that their arguments point to.
 * The target joins them, and formats each argument and result into buffers of several sizes. Texts
 * must be clean for a terminal and within their buffers, and a joined exit must be that of the last
 * entry of its thread.
 */
#include <stdlib.h>
#include <string.h>
#include <perch/syscall.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at, *end;
	const uint8_t *memory; /* of the processes: the whole input */
	size_t size;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* The next bytes as a number; 0 at the end. */
static uint64_t take(struct input *input, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(input->end - input->at) < bytes) {
		input->at = input->end;
		return 0;
	}
	memcpy(&value, input->at, bytes);
	input->at += bytes;
	return value;
}

static ssize_t read_memory(void *context, uint64_t address, void *bytes, size_t size,
			   bool *verified)
{
	const struct input *input = context;
	size_t offset = address & 0xffff;

	*verified = address & 0x10000;
	if (offset >= input->size)
		return -1;
	size = size < input->size - offset ? size : input->size - offset;
	memcpy(bytes, input->memory + offset, size);
	return (ssize_t)size;
}

static size_t read_path(void *context, int fd, char *path, size_t size, bool *verified)
{
	ssize_t length = read_memory(context, (uint64_t)fd, path, size - 1, verified);

	length = length < 0 ? 0 : length;
	path[length] = '\0';
	return strlen(path);
}

static void check_text(const char *text, size_t length, size_t size)
{
	char clean[4096];

	check(length < size && strlen(text) == length);
	/* a text that is cut may end within a character */
	if (length + 5 < size) {
		perch_clean_text(text, clean, sizeof(clean));
		check(!strcmp(text, clean));
	}
}

static void format(struct input *input, const struct perch_syscall_open *open, int64_t result)
{
	static const size_t sizes[] = { 1, 2, 17, 2048 };
	const struct perch_syscall_process process = { .context = input,
						       .read = read_memory,
						       .path = read_path };
	struct perch_syscall_call call = {
		.abi = (enum perch_syscall_abi)(open->pid % PERCH_SYSCALL_NR_ABIS),
	};
	char text[2048] = "";

	call.syscall = perch_syscall_find(call.abi, open->number);
	memcpy(call.argument, open->argument, sizeof(call.argument));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (unsigned k = 0; k <= PERCH_SYSCALL_ARGUMENTS; k++)
			check_text(text,
				   perch_syscall_argument_text(&call, k, &process, text, sizes[i]),
				   sizes[i]);
		check_text(text, perch_syscall_result_text(&call, result, text, sizes[i]),
			   sizes[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size, data, size };
	struct perch_syscall_open last[256] = { { .tid = 0 } };
	struct perch_syscall_joiner *joiner;

	if (perch_syscall_joiner_new(&joiner, NULL))
		return 0;
	while (input.at < input.end) {
		uint64_t kind = take(&input, 1);
		uint32_t tid = (uint32_t)take(&input, 1) + 1;
		struct perch_syscall_open open, lost, *entered;
		enum perch_syscall_exit what;
		int64_t result;

		switch (kind % 8) {
		case 0:
			perch_syscall_lost(joiner);
			break;
		case 1:
			check(!perch_syscall_fork(joiner, tid, tid));
			last[tid - 1].tid = 0;
			break;
		case 2:
			perch_syscall_end(joiner, tid, &open);
			last[tid - 1].tid = 0;
			break;
		case 3:
		case 4:
			result = (int64_t)take(&input, 8);
			check(!perch_syscall_add_exit(joiner, 1, tid, (int16_t)take(&input, 2),
						      &open, &what));
			if (what == PERCH_SYSCALL_JOINED) {
				check(last[tid - 1].tid && open.time == last[tid - 1].time &&
				      open.number == last[tid - 1].number);
				format(&input, &open, result);
			}
			last[tid - 1].tid = 0;
			break;
		default:
			open = (struct perch_syscall_open){ .pid = (uint32_t)(kind >> 3),
							    .tid = tid,
							    .time = (uint64_t)(input.at - data) };
			open.number = (int16_t)take(&input, 2);
			for (size_t i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++)
				open.argument[i] = take(&input, i % 2 ? 8 : 4);
			check(!perch_syscall_add_entry(joiner, &open, &entered, &lost));
			check(!lost.tid == !last[tid - 1].tid);
			last[tid - 1] = open;
			format(&input, &open, 0);
			break;
		}
	}
	perch_syscall_joiner_free(joiner);
	return 0;
}
