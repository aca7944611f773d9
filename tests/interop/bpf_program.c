/* SPDX-License-Identifier: MIT */
/*
 * bpf_program TIMES: loads a BPF program with BTF and lines, prints its tag, and runs it TIMES
 * times: packets of a socket go through it. For bpf.sh.
 *
 *	burn.c:10	int burn(void) {
 *	burn.c:20		for (i = 50000; i; i--) n += i;
 *	burn.c:30		return 0; }
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROG_LOAD = 5, OBJ_GET_INFO_BY_FD = 15, BTF_LOAD = 18, SOCKET_FILTER = 1 };

static char log_text[65536];

struct instruction {
	uint8_t code, registers;
	int16_t offset;
	int32_t value;
};

static const struct instruction instructions[] = {
	{ 0xb7, 0, 0, 0 },     /* r0 = 0 */
	{ 0xb7, 1, 0, 50000 }, /* r1 = 50000 */
	{ 0x0f, 0x10, 0, 0 },  /* r0 += r1 */
	{ 0x17, 1, 0, 1 },     /* r1 -= 1 */
	{ 0x55, 1, -3, 0 },    /* if r1 != 0 goto r0 += r1 */
	{ 0xb7, 0, 0, 0 },     /* r0 = 0 */
	{ 0x95, 0, 0, 0 },     /* exit */
};

static const struct {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t size, types, types_size, texts, texts_size;
	uint32_t integer[4], prototype[3], function[3];
	char text[24];
} btf = {
	0xeb9f,
	1,
	0,
	24,
	0,
	40,
	40,
	24,
	{ 1, 1u << 24, 4, 1u << 24 | 32 },
	{ 0, 13u << 24, 1 },
	{ 5, 12u << 24, 2 },
	"\0int\0burn\0burn.c\0line",
};

static const uint32_t functions[][2] = { { 0, 3 } };
static const uint32_t lines[][4] = { { 0, 10, 17, 10 << 10 },
				     { 2, 10, 17, 20 << 10 },
				     { 5, 10, 17, 30 << 10 } };

static int bpf(int command, void *attr, size_t size)
{
	int rc = syscall(SYS_bpf, command, attr, size);

	if (rc < 0) {
		fprintf(stderr, "bpf(%d): %s\n%s\n", command, strerror(errno), log_text);
		exit(77);
	}
	return rc;
}

static int load_btf(void)
{
	struct {
		uint64_t btf, log;
		uint32_t size, log_size, log_level;
	} attr = { (uintptr_t)&btf, (uintptr_t)log_text, sizeof(btf), sizeof(log_text), 1 };

	return bpf(BTF_LOAD, &attr, sizeof(attr));
}

static int load_program(int btf_fd)
{
	struct {
		uint32_t type, nr;
		uint64_t instructions, license;
		uint32_t log_level, log_size;
		uint64_t log;
		uint32_t kernel, flags;
		char name[16];
		uint32_t interface, attach, btf, function_size;
		uint64_t functions;
		uint32_t nr_functions, line_size;
		uint64_t lines;
		uint32_t nr_lines, pad;
	} attr = { .type = SOCKET_FILTER,
		   .nr = sizeof(instructions) / sizeof(instructions[0]),
		   .instructions = (uintptr_t)instructions,
		   .license = (uintptr_t) "MIT",
		   .log_level = 0,
		   .name = "burn",
		   .btf = btf_fd,
		   .function_size = sizeof(functions[0]),
		   .functions = (uintptr_t)functions,
		   .nr_functions = 1,
		   .line_size = sizeof(lines[0]),
		   .lines = (uintptr_t)lines,
		   .nr_lines = sizeof(lines) / sizeof(lines[0]) };

	return bpf(PROG_LOAD, &attr, sizeof(attr));
}

static void print_tag(int fd)
{
	struct {
		uint32_t type, id;
		uint8_t tag[8];
	} info = { 0 };
	struct {
		uint32_t fd, size;
		uint64_t info;
	} attr = { fd, sizeof(info), (uintptr_t)&info };

	bpf(OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	printf("%u ", info.id);
	for (int i = 0; i < 8; i++)
		printf("%02x", info.tag[i]);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int program = load_program(load_btf()), ends[2];
	long times = argc > 1 ? atol(argv[1]) : 1;

	print_tag(program);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) ||
	    setsockopt(ends[1], SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof(program)))
		return perror("SO_ATTACH_BPF"), 1;
	/* the program drops each packet */
	for (long i = 0; i < times; i++)
		if (send(ends[0], "x", 1, 0) < 0 && errno != EPERM)
			return perror("send"), 1;
	if (argc > 2)
		pause();
	return 0;
}
