/* SPDX-License-Identifier: MIT */
/* -e: which system calls. Words are names, /REGULAR EXPRESSION or groups; '!' negates all. */
#include <regex.h>
#include <string.h>

#include "base/edit_distance.h"
#include "calls.h"

static const struct {
	const char *name;
	unsigned groups;
} groups[] = {
	{ "file", PERCH_SYSCALL_FILE },		{ "desc", PERCH_SYSCALL_DESCRIPTOR },
	{ "network", PERCH_SYSCALL_NETWORK },	{ "net", PERCH_SYSCALL_NETWORK },
	{ "process", PERCH_SYSCALL_PROCESS },	{ "memory", PERCH_SYSCALL_MEMORY },
	{ "signal", PERCH_SYSCALL_SIGNALS },	{ "ipc", PERCH_SYSCALL_IPC },
	{ "creds", PERCH_SYSCALL_CREDENTIALS }, { "clock", PERCH_SYSCALL_CLOCK },
};

/* Adds the calls of some groups, or those whose names match. Returns true if there are any. */
static bool add_calls(struct calls *calls, unsigned bits, const regex_t *names)
{
	bool any = false;

	for (size_t k = 0; k < CLI_NR(calls->abi); k++) {
		for (int64_t i = 0; i < CALLS_NUMBERS; i++) {
			const struct perch_syscall *syscall = perch_syscall_find(calls->abi[k], i);

			if (!syscall ||
			    (names ? regexec(names, perch_syscall_name(syscall), 0, NULL, 0)
				   : !perch_syscall_is_in(syscall, bits)))
				continue;
			calls->select.call[calls->abi[k]][i] = any = true;
		}
	}
	return any;
}

static bool add_name(struct calls *calls, const char *name)
{
	bool any = false;

	for (size_t k = 0; k < CLI_NR(calls->abi); k++) {
		int64_t number;

		if (perch_syscall_find_name(calls->abi[k], name, &number) && number < CALLS_NUMBERS)
			calls->select.call[calls->abi[k]][number] = any = true;
	}
	return any;
}

/* Returns the most similar name, or NULL. */
static const char *similar(const struct calls *calls, const char *name)
{
	const char *found = NULL;
	unsigned least = 3;

	for (int64_t i = 0; i < CALLS_NUMBERS; i++) {
		const struct perch_syscall *syscall = perch_syscall_find(calls->abi[0], i);
		unsigned distance =
			syscall ? perch__edit_distance(name, perch_syscall_name(syscall)) : least;

		if (distance < least) {
			least = distance;
			found = perch_syscall_name(syscall);
		}
	}
	return found;
}

static int refuse_word(const struct calls *calls, const char *word)
{
	const char *near = similar(calls, word);
	char clean[64];

	perch_clean_text(word, clean, sizeof(clean));
	if (strchr(word, ':'))
		return cli_usage_error(
			CALLS_COMMAND,
			"-e '%s': system calls only; 'perch record -e' records other "
			"tracepoints, and 'perch script' prints them",
			clean);
	return cli_usage_error(CALLS_COMMAND, "-e: there is no system call or group '%s'%s%s%s",
			       clean, near ? "; did you mean '" : "", near ? near : "",
			       near ? "'?" : "");
}

static int add_pattern(struct calls *calls, const char *pattern)
{
	regex_t names;
	bool any;

	if (regcomp(&names, pattern, REG_EXTENDED | REG_NOSUB))
		return cli_usage_error(CALLS_COMMAND, "-e /%s: not an extended regular expression",
				       pattern);
	any = add_calls(calls, 0, &names);
	regfree(&names);
	return any ? 0
		   : cli_usage_error(CALLS_COMMAND, "-e /%s: no name of a system call has a match",
				     pattern);
}

static int add_word(struct calls *calls, const char *word)
{
	const char *group = word[0] == '%' ? word + 1 : word;

	if (word[0] == '/')
		return add_pattern(calls, word + 1);
	if (!strcmp(group, "all"))
		return add_pattern(calls, "");
	for (size_t i = 0; i < CLI_NR(groups); i++)
		if (!strcmp(group, groups[i].name) && add_calls(calls, groups[i].groups, NULL))
			return 0;
	return add_name(calls, word) ? 0 : refuse_word(calls, word);
}

int calls_select_parse(struct calls *calls)
{
	const char *at = calls->set;
	char word[128];
	int status = 0;

	if (!at)
		return 0;
	if (!strncmp(at, "trace=", strlen("trace=")))
		at += strlen("trace=");
	calls->select.given = true;
	calls->select.negated = *at == '!';
	at += *at == '!';
	while (!status && at) {
		size_t length = strcspn(at, ",");

		snprintf(word, sizeof(word), "%.*s", (int)length, at);
		at = at[length] ? at + length + 1 : NULL;
		if (length >= sizeof(word) || !length)
			return cli_usage_error(
				CALLS_COMMAND,
				"-e '%s': expected names of system calls or groups, with commas",
				calls->set);
		status = add_word(calls, word);
	}
	return status;
}

bool calls_selects(const struct calls *calls, enum perch_syscall_abi abi, int64_t number)
{
	const struct calls_select *select = &calls->select;

	if (!select->given)
		return true;
	/* the exit of rt_sigreturn(2) has no number, and that of an open call is shown */
	if (number == -1)
		return true;
	return (number >= 0 && number < CALLS_NUMBERS && select->call[abi][number]) !=
	       select->negated;
}

void calls_select_filter(const struct calls *calls, char *filter, size_t size)
{
	const struct calls_select *select = &calls->select;
	bool negated = select->negated;
	size_t used = 0;

	filter[0] = '\0';
	for (int i = -1; select->given && i < CALLS_NUMBERS && used < size; i++) {
		/* a number that one of both kinds of programs shows passes */
		bool wide = calls_selects(calls, calls->abi[0], i);
		bool narrow = calls->abi[1] && calls_selects(calls, calls->abi[1], i);

		if ((wide || narrow) == negated)
			continue;
		used += (size_t)snprintf(filter + used, size - used, "%sid %s %d",
					 !used	   ? ""
					 : negated ? " && "
						   : " || ",
					 negated ? "!=" : "==", i);
	}
	if (used >= size)
		filter[0] = '\0';
}

bool calls_selects_closes(const struct calls *calls)
{
	static const char *const names[] = { "close", "close_range", "dup2", "dup3" };

	for (size_t i = 0; i < CLI_NR(names) * CLI_NR(calls->abi); i++) {
		enum perch_syscall_abi abi = calls->abi[i % CLI_NR(calls->abi)];
		int64_t number;

		if (perch_syscall_find_name(abi, names[i / CLI_NR(calls->abi)], &number) &&
		    !calls_selects(calls, abi, number))
			return false;
	}
	return true;
}

bool calls_selects_paths(const struct calls *calls)
{
	for (size_t k = 0; k < CLI_NR(calls->abi); k++) {
		for (int64_t i = 0; i < CALLS_NUMBERS; i++) {
			const struct perch_syscall *syscall = perch_syscall_find(calls->abi[k], i);

			if (syscall && perch_syscall_is_in(syscall, PERCH_SYSCALL_FILE) &&
			    calls_selects(calls, calls->abi[k], i))
				return true;
		}
	}
	return false;
}
