/* SPDX-License-Identifier: MIT */
/* What arguments of `perch record` mean: clocks, kinds of branches, registers, moments, sizes. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <time.h>

#include <perch/fields.h>

#include "record.h"

#define COMMAND "record"

/* Calls take() with each word of an option's list; ends with the first that is refused, which has
 * been told. */
static int each_word(const char *option, const char *list,
		     int (*take)(void *context, const char *word), void *context)
{
	const char *whole = list;
	char word[64];

	for (;;) {
		size_t length = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s",
			 (int)(length < sizeof(word) ? length : sizeof(word) - 1), list);
		if (!length || length >= sizeof(word)) {
			cli_usage_error(COMMAND, "%s %s: a word of the list is %s", option, whole,
					length ? "too long" : "empty");
			return -EINVAL;
		}
		if (take(context, word) < 0)
			return -EINVAL;
		if (!list[length])
			return 0;
		list += length + 1;
	}
}

int record_set_clock(void *value, const char *text, bool negated)
{
	static const struct {
		const char *name;
		int32_t clock;
	} clocks[] = {
		{ "monotonic", CLOCK_MONOTONIC },
		{ "mono", CLOCK_MONOTONIC },
		{ "monotonic_raw", CLOCK_MONOTONIC_RAW },
		{ "raw", CLOCK_MONOTONIC_RAW },
		{ "realtime", CLOCK_REALTIME },
		{ "real", CLOCK_REALTIME },
		{ "boottime", CLOCK_BOOTTIME },
		{ "boot", CLOCK_BOOTTIME },
		{ "tai", CLOCK_TAI },
	};
	struct record *record = value;
	char *end;
	long number;

	record->use_clock = !negated;
	if (negated)
		return 0;
	if (!strncasecmp(text, "CLOCK_", 6))
		text += 6;
	for (size_t i = 0; i < CLI_NR(clocks); i++)
		if (!strcasecmp(text, clocks[i].name)) {
			record->clock = clocks[i].clock;
			return 0;
		}
	errno = 0;
	number = strtol(text, &end, 10);
	for (size_t i = 0; !errno && end != text && !*end && i < CLI_NR(clocks); i++)
		if (number == clocks[i].clock) {
			record->clock = clocks[i].clock;
			return 0;
		}
	cli_usage_error(
		COMMAND,
		"-k %s: say monotonic, monotonic_raw, realtime, boottime, tai, or a clock's number",
		text);
	return -EINVAL;
}

/* What perf calls them. */
static int add_branch(void *context, const char *word)
{
	static const struct {
		const char *name;
		uint64_t bits;
	} kinds[] = {
		{ "u", PERCH_SAMPLE_BRANCH_USER },
		{ "k", PERCH_SAMPLE_BRANCH_KERNEL },
		{ "hv", PERCH_SAMPLE_BRANCH_HV },
		{ "any", PERCH_SAMPLE_BRANCH_ANY },
		{ "any_call", PERCH_SAMPLE_BRANCH_ANY_CALL },
		{ "any_ret", PERCH_SAMPLE_BRANCH_ANY_RETURN },
		{ "ind_call", PERCH_SAMPLE_BRANCH_IND_CALL },
		{ "ind_jmp", PERCH_SAMPLE_BRANCH_IND_JUMP },
		{ "call", PERCH_SAMPLE_BRANCH_CALL },
		{ "cond", PERCH_SAMPLE_BRANCH_COND },
		{ "in_tx", PERCH_SAMPLE_BRANCH_IN_TX },
		{ "no_tx", PERCH_SAMPLE_BRANCH_NO_TX },
		{ "abort_tx", PERCH_SAMPLE_BRANCH_ABORT_TX },
		{ "save_type", PERCH_SAMPLE_BRANCH_TYPE_SAVE },
		{ "stack", PERCH_SAMPLE_BRANCH_CALL_STACK },
		{ "hw_index", PERCH_SAMPLE_BRANCH_HW_INDEX },
		{ "priv", PERCH_SAMPLE_BRANCH_PRIV_SAVE },
		{ "no_flags", PERCH_SAMPLE_BRANCH_NO_FLAGS },
		{ "no_cycles", PERCH_SAMPLE_BRANCH_NO_CYCLES },
		{ "counter", PERCH_SAMPLE_BRANCH_COUNTERS },
	};

	for (size_t i = 0; i < CLI_NR(kinds); i++)
		if (!strcmp(word, kinds[i].name)) {
			*(uint64_t *)context |= kinds[i].bits;
			return 0;
		}
	cli_usage_error(
		COMMAND,
		"no kind of branch '%s': say any, any_call, any_ret, ind_call, ind_jmp, call, cond, in_tx, "
		"no_tx, abort_tx, stack, and u, k, hv, save_type, priv, hw_index, no_flags, no_cycles, counter",
		word);
	return -EINVAL;
}

int record_set_branches(void *value, const char *text, bool negated)
{
	const uint64_t not_kinds = PERCH_SAMPLE_BRANCH_PLM_ALL | PERCH_SAMPLE_BRANCH_TYPE_SAVE |
				   PERCH_SAMPLE_BRANCH_PRIV_SAVE | PERCH_SAMPLE_BRANCH_HW_INDEX |
				   PERCH_SAMPLE_BRANCH_NO_FLAGS | PERCH_SAMPLE_BRANCH_NO_CYCLES |
				   PERCH_SAMPLE_BRANCH_COUNTERS;
	struct record *record = value;

	record->branches = 0;
	if (negated)
		return 0;
	if (each_word("-j", text, add_branch, &record->branches) < 0)
		return -EINVAL;
	if (!(record->branches & ~not_kinds))
		record->branches |= PERCH_SAMPLE_BRANCH_ANY; /* u alone: any branch there */
	return 0;
}

int record_set_any_branch(void *value, const char *text, bool negated)
{
	struct record *record = value;

	(void)text;
	record->branches = negated ? 0 : PERCH_SAMPLE_BRANCH_ANY;
	return 0;
}

/* The name of a register that every event may ask for here; NULL: the kernel gives none of that
 * number. */
static const char *register_here(unsigned int number)
{
#if defined(__x86_64__)
	/* DS to GS: 32-bit kernels; XMM: few PMUs */
	if ((number >= 12 && number <= 15) || number >= 24)
		return NULL;
#elif defined(__i386__)
	if (number >= 16)
		return NULL;
#elif defined(__aarch64__)
	/* the length of vectors, where it is not fixed */
	if (number == 46 && !(getauxval(AT_HWCAP) & 1u << 22))
		return NULL;
#elif defined(__powerpc__)
	/* some CPUs have more, in interrupts */
	if (number > 44)
		return NULL;
#endif
	return perch_register_name(perch_arch_here(), number);
}

static uint64_t all_registers(void)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < 64; i++)
		if (register_here(i))
			mask |= 1ull << i;
	return mask;
}

static int add_register(void *context, const char *word)
{
	for (unsigned int i = 0; i < 64; i++) {
		const char *name = register_here(i);

		if (name && !strcasecmp(word, name)) {
			*(uint64_t *)context |= 1ull << i;
			return 0;
		}
	}
	cli_usage_error(COMMAND, "no register '%s' here: -I? and --user-regs=? list them", word);
	return -EINVAL;
}

__attribute__((noreturn)) static void list_registers(void)
{
	fputs("available registers:", stdout);
	for (unsigned int i = 0; i < 64; i++) {
		const char *name = register_here(i);

		if (!name)
			continue;
		putchar(' ');
		while (*name)
			putchar(toupper((unsigned char)*name++));
	}
	putchar('\n');
	exit(fflush(stdout) ? CLI_EXIT_FAILURE : 0);
}

/* Names as "ax,ip", or the mask itself as 0x101; nothing: all of them. */
static int set_registers(uint64_t *mask, const char *option, const char *text, bool negated)
{
	char *end;

	*mask = 0;
	if (negated)
		return 0;
	if (text && !strcmp(text, "?"))
		list_registers();
	if (!all_registers()) {
		cli_usage_error(
			COMMAND,
			"%s: the registers of this architecture are not known to this version",
			option);
		return -EINVAL;
	}
	if (!text) {
		*mask = all_registers();
		return 0;
	}
	if (strncmp(text, "0x", 2))
		return each_word(option, text, add_register, mask);
	errno = 0;
	*mask = strtoull(text, &end, 16);
	if (!errno && !*end && *mask)
		return 0;
	cli_usage_error(COMMAND, "%s %s: not a mask of registers", option, text);
	return -EINVAL;
}

int record_set_user_registers(void *value, const char *text, bool negated)
{
	return set_registers(&((struct record *)value)->regs_user, "--user-regs", text, negated);
}

int record_set_intr_registers(void *value, const char *text, bool negated)
{
	return set_registers(&((struct record *)value)->regs_intr, "--intr-regs", text, negated);
}

static int no_delay(const char *text)
{
	cli_usage_error(
		COMMAND,
		"-D %s: milliseconds, -1, or spans in their order as 10-20,30-40 (at most %d)",
		text, RECORD_WINDOW_TIMES / 2);
	return -EINVAL;
}

static bool take_moment(struct record *record, const char **at)
{
	unsigned long moment;
	char *end;

	errno = 0;
	moment = strtoul(*at, &end, 10);
	if (errno || end == *at || !isdigit((unsigned char)**at) || moment > INT32_MAX ||
	    record->nr_window_times == RECORD_WINDOW_TIMES ||
	    (record->nr_window_times && moment <= record->window_ms[record->nr_window_times - 1]))
		return false;
	record->window_ms[record->nr_window_times++] = (unsigned)moment;
	*at = end;
	return true;
}

int record_set_delay(void *value, const char *text, bool negated)
{
	struct record *record = value;
	const char *at = text;

	record->nr_window_times = 0;
	record->delayed = !negated;
	if (negated || !strcmp(text, "-1"))
		return 0;
	if (!take_moment(record, &at))
		return no_delay(text);
	if (!*at) {
		record->delayed = record->window_ms[0] != 0;
		record->nr_window_times = record->delayed;
		return 0;
	}
	for (;;) {
		if (*at++ != '-' || !take_moment(record, &at))
			return no_delay(text);
		if (!*at)
			return 0;
		if (*at++ != ',' || !take_moment(record, &at))
			return no_delay(text);
	}
}

int record_parse_size(const char *text, uint64_t *bytes, bool *unit)
{
	static const char units[] = "BKMG";
	const char *found;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	found = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	*unit = found != NULL;
	if (errno || !isdigit((unsigned char)text[0]) || (*end && (!found || end[1])))
		return -EINVAL;
	if (found && *bytes > UINT64_MAX >> 1 >> 10 * (found - units))
		return -EINVAL;
	if (found)
		*bytes <<= 10 * (found - units);
	return 0;
}

int record_set_max_size(void *value, const char *text, bool negated)
{
	struct record *record = value;
	bool unit;

	record->max_bytes = 0;
	if (negated ||
	    (!record_parse_size(text, &record->max_bytes, &unit) && unit && record->max_bytes))
		return 0;
	cli_usage_error(COMMAND, "--max-size %s: not a size such as 512K, 10M or 2G", text);
	return -EINVAL;
}

/* signal; a size with its unit; or a time: 30s, 5m, 2h, 1d. */
int record_set_switch(void *value, const char *text, bool negated)
{
	static const struct {
		char unit;
		uint64_t ms;
	} times[] = {
		{ 's', 1000 },
		{ 'm', 60000 },
		{ 'h', 3600000 },
		{ 'd', 86400000 },
	};
	struct record *record = value;
	unsigned long long number;
	char *end;
	bool unit;

	record->switch_by = negated ? RECORD_ONE_FILE : RECORD_BY_SIGNAL;
	if (negated || !text || !strcmp(text, "signal"))
		return 0;
	errno = 0;
	number = strtoull(text, &end, 10);
	for (size_t i = 0; i < CLI_NR(times) && !errno && isdigit((unsigned char)text[0]); i++)
		if (*end == times[i].unit && !end[1] && number && number < 1ull << 30) {
			record->switch_by = RECORD_BY_TIME;
			record->switch_ms = number * times[i].ms;
			return 0;
		}
	record->switch_by = RECORD_BY_SIZE;
	if (!record_parse_size(text, &record->switch_bytes, &unit) && unit && record->switch_bytes)
		return 0;
	cli_usage_error(
		COMMAND,
		"--switch-output=%s: say signal, a size such as 10M, or a time such as 30s, 5m, 2h",
		text);
	return -EINVAL;
}

int record_set_max_files(void *value, const char *text, bool negated)
{
	struct record *record = value;
	char *end;

	record->max_files = 0;
	if (negated)
		return 0;
	errno = 0;
	record->max_files = strtoull(text, &end, 10);
	if (!errno && isdigit((unsigned char)text[0]) && !*end && record->max_files &&
	    record->max_files <= 1 << 20)
		return 0;
	cli_usage_error(COMMAND, "--switch-max-files %s: not a number of files, 1 or more", text);
	return -EINVAL;
}
