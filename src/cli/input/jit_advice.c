/* SPDX-License-Identifier: MIT */
/* Options of programs with a JIT compiler that make them write the names of their functions. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "jit_advice.h"
#include "messages.h"

/* By the first letters of the program's name. */
static const struct {
	const char *name, *option;
	bool is_java;
} programs[] = {
	{ "node", "node --perf-basic-prof", false },
	{ "python", "python3.12 -X perf", false },
	{ "java", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit", true },
	{ "beam", "erl +JPperf true", false },
	{ "erl", "erl +JPperf true", false },
	{ "php", "php -d opcache.jit_debug=48", false },
	{ "mono", "mono --jitmap", false },
	{ "qemu", "qemu -perfmap", false },
	{ "dotnet", "DOTNET_PerfMapEnabled=1 dotnet", false },
};

static size_t put_advice(char *buffer, size_t size, size_t i, uint32_t pid)
{
	size_t used = (size_t)snprintf(buffer, size, "%s", programs[i].option);

	if (programs[i].is_java && used < size)
		used += (size_t)snprintf(buffer + used, size - used,
					 ", or while it runs 'jcmd %u Compiler.perfmap'", pid);
	return used < size ? used : size;
}

const char *cli_jit_advice(const char *comm, uint32_t pid, char *buffer, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; comm && i < CLI_NR(programs); i++)
		if (!strncmp(comm, programs[i].name, strlen(programs[i].name))) {
			put_advice(buffer, size, i, pid);
			return buffer;
		}
	for (size_t i = 0; i < CLI_NR(programs) && used + 128 < size; i++) {
		/* two names of one program */
		if (i && !strcmp(programs[i].option, programs[i - 1].option))
			continue;
		if (used)
			used += (size_t)snprintf(buffer + used, size - used, "; ");
		used += put_advice(buffer + used, size - used, i, pid);
	}
	return buffer;
}
