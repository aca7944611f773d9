/* SPDX-License-Identifier: MIT */
/* Arguments of `perch record` options: clocks, branch types, registers, times, sizes. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include <perch/fields.h>

#include "record.h"

const struct cli_word record_clocks[] = {
	{ "monotonic", CLOCK_MONOTONIC },
	{ "mono", CLOCK_MONOTONIC },
	{ "monotonic_raw", CLOCK_MONOTONIC_RAW },
	{ "raw", CLOCK_MONOTONIC_RAW },
	{ "realtime", CLOCK_REALTIME },
	{ "real", CLOCK_REALTIME },
	{ "boottime", CLOCK_BOOTTIME },
	{ "boot", CLOCK_BOOTTIME },
	{ "tai", CLOCK_TAI },
	{ 0 },
};

/* As in perf, a clock may have the prefix CLOCK_, or be a number. */
int record_set_clock(const struct cli_given *given)
{
	struct record_options *options = given->state;
	const char *text = given->text;
	uint64_t value;
	char *end;
	long number;

	options->use_clock = !given->negated;
	if (given->negated)
		return 0;
	errno = 0;
	number = strtol(text, &end, 10);
	for (const struct cli_word *clock = record_clocks; clock->name; clock++)
		if (!errno && end != text && !*end && number == (long)clock->value) {
			options->clock = (int32_t)number;
			return 0;
		}
	if (!strncasecmp(text, "CLOCK_", 6))
		text += 6;
	if (cli_options_find_words(given->command, given->option, text, &value))
		return -EINVAL;
	options->clock = (int32_t)value;
	return 0;
}

/* The names are perf's. */
const struct cli_word record_branch_kinds[] = {
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
	{ "stack", PERCH_SAMPLE_BRANCH_CALL_STACK },
	{ "u", PERCH_SAMPLE_BRANCH_USER },
	{ "k", PERCH_SAMPLE_BRANCH_KERNEL },
	{ "hv", PERCH_SAMPLE_BRANCH_HV },
	{ "save_type", PERCH_SAMPLE_BRANCH_TYPE_SAVE },
	{ "priv", PERCH_SAMPLE_BRANCH_PRIV_SAVE },
	{ "hw_index", PERCH_SAMPLE_BRANCH_HW_INDEX },
	{ "no_flags", PERCH_SAMPLE_BRANCH_NO_FLAGS },
	{ "no_cycles", PERCH_SAMPLE_BRANCH_NO_CYCLES },
	{ "counter", PERCH_SAMPLE_BRANCH_COUNTERS },
	{ 0 },
};

int record_set_branches(const struct cli_given *given)
{
	const uint64_t not_types = PERCH_SAMPLE_BRANCH_PLM_ALL | PERCH_SAMPLE_BRANCH_TYPE_SAVE |
				   PERCH_SAMPLE_BRANCH_PRIV_SAVE | PERCH_SAMPLE_BRANCH_HW_INDEX |
				   PERCH_SAMPLE_BRANCH_NO_FLAGS | PERCH_SAMPLE_BRANCH_NO_CYCLES |
				   PERCH_SAMPLE_BRANCH_COUNTERS;
	struct record_options *options = given->state;

	options->branches = given->value;
	if (given->value && !(given->value & ~not_types))
		options->branches |= PERCH_SAMPLE_BRANCH_ANY; /* "u": any branch in user space */
	return 0;
}

int record_set_map_ids(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->map_ids = given->negated ? PERCH_RECORDER_NO_IDS : PERCH_RECORDER_IDS_OF_KERNEL;
	return 0;
}

int record_set_any_branch(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->branches = given->negated ? 0 : PERCH_SAMPLE_BRANCH_ANY;
	return 0;
}

/*
 * Returns the name of a register that every event can sample on this machine, or NULL if no such
 * register has this number.
 */
static const char *register_name(unsigned int number)
{
#if defined(__x86_64__)
	/* DS to GS need a 32-bit kernel, XMM a PMU that has them */
	if ((number >= 12 && number <= 15) || number >= 24)
		return NULL;
#elif defined(__i386__)
	if (number >= 16)
		return NULL;
#elif defined(__aarch64__)
	/* the length of SVE vectors */
	if (number == 46 && !(getauxval(AT_HWCAP) & 1u << 22))
		return NULL;
#elif defined(__powerpc__)
	/* only some CPUs have more, in --intr-regs */
	if (number > 44)
		return NULL;
#endif
	return perch_register_name(perch_arch_here(), number);
}

const struct cli_word *record_registers(void)
{
	static struct cli_word words[64 + 1];
	size_t nr = 0;

	if (words[0].name)
		return words;
	for (unsigned int i = 0; i < 64; i++) {
		const char *name = register_name(i);

		if (name)
			words[nr++] = (struct cli_word){ name, UINT64_C(1) << i };
	}
	return words;
}

__attribute__((noreturn)) static void list_registers(void)
{
	fputs("available registers:", stdout);
	for (const struct cli_word *word = record_registers(); word->name; word++) {
		putchar(' ');
		for (const char *letter = word->name; *letter; letter++)
			putchar(toupper((unsigned char)*letter));
	}
	putchar('\n');
	exit(fflush(stdout) ? CLI_EXIT_FAILURE : 0);
}

/* Parses names such as "ax,ip", or a mask such as 0x101. No text is all registers. */
static int set_registers(const struct cli_given *given, uint64_t *mask)
{
	const char *text = given->text;
	char *end;

	*mask = 0;
	if (given->negated)
		return 0;
	if (text && !strcmp(text, "?"))
		list_registers();
	if (!given->option->words->name) {
		cli_usage_error(
			given->command,
			"--%s: this version does not have the registers of this architecture",
			given->option->name);
		return -EINVAL;
	}
	for (const struct cli_word *word = given->option->words; word->name && !text; word++)
		*mask |= word->value;
	if (!text)
		return 0;
	if (strncmp(text, "0x", 2))
		return cli_options_find_words(given->command, given->option, text, mask);
	errno = 0;
	*mask = strtoull(text, &end, 16);
	if (!errno && !*end && *mask)
		return 0;
	cli_usage_error(given->command, "--%s %s: not a register mask", given->option->name, text);
	return -EINVAL;
}

int record_set_user_registers(const struct cli_given *given)
{
	struct record_options *options = given->state;

	return set_registers(given, &options->regs_user);
}

int record_set_intr_registers(const struct cli_given *given)
{
	struct record_options *options = given->state;

	return set_registers(given, &options->regs_intr);
}

static int delay_error(const struct record_options *options, const char *text)
{
	cli_usage_error(
		options->command,
		"-D %s: use milliseconds, -1, or ascending windows such as 10-20,30-40 (at most %d)",
		text, RECORD_MAX_WINDOW_TIMES / 2);
	return -EINVAL;
}

/* Parses one time of -D, which must be later than the previous one. */
static bool take_time(struct record_options *options, const char **at)
{
	unsigned long ms;
	char *end;

	errno = 0;
	ms = strtoul(*at, &end, 10);
	if (errno || end == *at || !isdigit((unsigned char)**at) || ms > INT32_MAX ||
	    options->nr_window_times == RECORD_MAX_WINDOW_TIMES ||
	    (options->nr_window_times && ms <= options->window_ms[options->nr_window_times - 1]))
		return false;
	options->window_ms[options->nr_window_times++] = (unsigned)ms;
	*at = end;
	return true;
}

int record_set_delay(const struct cli_given *given)
{
	struct record_options *options = given->state;
	const char *text = given->text;
	const char *at = text;

	options->nr_window_times = 0;
	options->delayed = !given->negated;
	if (given->negated || !strcmp(text, "-1"))
		return 0;
	if (!take_time(options, &at))
		return delay_error(options, text);
	if (!*at) {
		options->delayed = options->window_ms[0] != 0;
		options->nr_window_times = options->delayed;
		return 0;
	}
	for (;;) {
		if (*at++ != '-' || !take_time(options, &at))
			return delay_error(options, text);
		if (!*at)
			return 0;
		if (*at++ != ',' || !take_time(options, &at))
			return delay_error(options, text);
	}
}

/* Parses "4M", "512k" or a number. *unit is true if the text has a unit. Returns 0 or -EINVAL. */
static int parse_size(const char *text, uint64_t *bytes, bool *unit)
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

int record_set_max_size(const struct cli_given *given)
{
	struct record_options *options = given->state;
	bool unit;

	options->max_bytes = 0;
	if (given->negated ||
	    (!parse_size(given->text, &options->max_bytes, &unit) && unit && options->max_bytes))
		return 0;
	cli_usage_error(options->command, "--max-size %s: expected a size such as 512K, 10M or 2G",
			given->text);
	return -EINVAL;
}

/* Removes ",WORD", or the word if there is no other. Returns true if it was there. */
static bool remove_last_word(char *text, const char *word)
{
	char *comma = strrchr(text, ','), *last = comma ? comma + 1 : text;

	if (strcmp(last, word) != 0)
		return false;
	*(comma ? comma : text) = '\0';
	return true;
}

int record_set_off_cpu(const struct cli_given *given)
{
	struct record_options *options = given->state;

	char time[32];

	options->off_cpu = !given->negated;
	options->off_cpu_ns = 1000000;
	options->wakers = false;
	if (given->negated || !given->text)
		return 0;
	snprintf(time, sizeof(time), "%s", given->text);
	options->wakers = remove_last_word(time, "waker");
	if ((options->wakers && !time[0]) || cli_parse_duration(time, &options->off_cpu_ns))
		return 0;
	cli_usage_error(
		options->command,
		"--off-cpu=%s: use a time such as 500us, 1ms or 2s; intervals that are shorter "
		"are added up; 'waker' after it records who woke the thread: 1ms,waker",
		given->text);
	return -EINVAL;
}

/* As in perf, which takes its own default from --off-cpu. */
int record_set_off_cpu_ms(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->off_cpu |= !given->negated;
	options->off_cpu_ns = 1000000;
	if (given->negated || cli_parse_duration(given->text, &options->off_cpu_ns))
		return 0;
	cli_usage_error(options->command, "--off-cpu-thresh %s: use a number of milliseconds",
			given->text);
	return -EINVAL;
}

/* Parses "signal", a size with a unit, or a time with a unit. */
int record_set_switch(const struct cli_given *given)
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
	struct record_options *options = given->state;
	const char *text = given->text;
	unsigned long long number;
	char *end;
	bool unit;

	options->switch_by = given->negated ? RECORD_ONE_FILE : RECORD_BY_SIGNAL;
	if (given->negated || !text || !strcmp(text, "signal"))
		return 0;
	errno = 0;
	number = strtoull(text, &end, 10);
	for (size_t i = 0; i < CLI_NR(times) && !errno && isdigit((unsigned char)text[0]); i++)
		if (*end == times[i].unit && !end[1] && number && number < 1ull << 30) {
			options->switch_by = RECORD_BY_TIME;
			options->switch_ms = number * times[i].ms;
			return 0;
		}
	options->switch_by = RECORD_BY_SIZE;
	if (!parse_size(text, &options->switch_bytes, &unit) && unit && options->switch_bytes)
		return 0;
	cli_usage_error(
		options->command,
		"--switch-output=%s: use signal, a size such as 10M, or a time such as 30s, 5m, 2h",
		text);
	return -EINVAL;
}

int record_set_switch_event(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->switch_events.machine = options->events.machine;
	return cli_add_events(options->command, &options->switch_events, given->text);
}

/* Parses a number from 1 to most. Returns false if the text is not one. */
static bool parse_number(const char *text, uint64_t most, uint64_t *number)
{
	return cli_parse_number(text, number) && *number && *number <= most;
}

int record_set_priority(const struct cli_given *given)
{
	enum { MOST = 99 };
	struct record_options *options = given->state;
	uint64_t priority = 0;

	options->realtime = 0;
	if (!given->negated && !parse_number(given->text, MOST, &priority)) {
		cli_usage_error(options->command,
				"-r %s: expected a real-time priority from 1 to %d", given->text,
				MOST);
		return -EINVAL;
	}
	options->realtime = (int)priority;
	return 0;
}

int record_set_max_files(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->max_files = 0;
	if (given->negated || parse_number(given->text, 1 << 20, &options->max_files))
		return 0;
	cli_usage_error(options->command,
			"--switch-max-files %s: expected a number of files from 1 to 1048576",
			given->text);
	return -EINVAL;
}

const struct cli_word record_call_graphs[] = {
	{ "fp", PERCH_CALL_GRAPH_FP },	     { "fp,defer", PERCH_CALL_GRAPH_FP | RECORD_DEFER },
	{ "dwarf", PERCH_CALL_GRAPH_DWARF }, { "lbr", PERCH_CALL_GRAPH_LBR },
	{ "no", PERCH_CALL_GRAPH_NONE },     { 0 },
};

/* Parses a word, or "dwarf,SIZE". SIZE is the number of stack bytes to copy. */
int record_set_call_graph(const struct cli_given *given)
{
	struct record_options *options = given->state;
	const char *comma = given->text ? strchr(given->text, ',') : NULL;
	uint64_t value = PERCH_CALL_GRAPH_NONE, bytes = 0;
	char mode[64];
	bool unit;

	snprintf(mode, sizeof(mode), "%.*s", comma ? (int)(comma - given->text) : -1,
		 given->text ? given->text : "");
	if (!given->negated && cli_options_find_words(given->command, given->option, mode, &value))
		return -EINVAL;
	options->call_graph = (enum perch_call_graph_mode)value;
	options->stack_bytes = options->default_stack_bytes;
	options->rounded_stack = false;
	options->defer_chains = value == PERCH_CALL_GRAPH_FP && comma && !strcmp(comma, ",defer");
	if (!comma || options->defer_chains)
		return 0;
	if (value != PERCH_CALL_GRAPH_DWARF || parse_size(comma + 1, &bytes, &unit) < 0 || !bytes ||
	    bytes > 65528) {
		cli_usage_error(
			options->command,
			"--call-graph %s: only dwarf has a size, from 1 to 65528 bytes of stack, "
			"and only fp has defer",
			given->text);
		return -EINVAL;
	}
	options->stack_bytes = (bytes + 7) & ~7u; /* as perf does */
	options->rounded_stack = bytes % 8;
	return 0;
}

int record_set_frequency(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->frequency = 0;
	if (given->negated)
		return 0;
	if (!strcmp(given->text, "max"))
		options->frequency = RECORD_MAX_FREQUENCY;
	else if (!cli_parse_number(given->text, &options->frequency) || !options->frequency)
		return cli_usage_error(options->command,
				       "-F %s: expected a number of samples per second (1 or "
				       "more) or 'max'",
				       given->text);
	return 0;
}

int record_set_period(const struct cli_given *given)
{
	struct record_options *options = given->state;
	uint64_t period = 0;
	bool number;

	number = !given->negated && cli_parse_number(given->text, &period);
	options->period = period;
	if (given->negated || (number && period && !(period >> 63)))
		return 0;
	cli_usage_error(options->command, "-c %s: %s", given->text,
			number && !period ? "the period must be above 0; -n records no samples"
					  : "expected a number of events from 1 to 2^63-1");
	return -EINVAL;
}

/*
 * Parses pages, or bytes with a unit. The kernel needs a power of two, so the number is rounded up.
 */
int record_set_pages(const struct cli_given *given)
{
	struct record_options *options = given->state;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), number, pages = 1;
	bool unit;

	options->ring_pages = 0;
	if (given->negated)
		return 0;
	if (parse_size(given->text, &number, &unit) < 0 || !number || number > 1ull << 40) {
		cli_usage_error(options->command,
				"-m %s: expected a number of pages, or a size such as 512K or 4M",
				given->text);
		return -EINVAL;
	}
	if (unit)
		number = (number + page - 1) / page;
	while (pages < number)
		pages *= 2;
	options->ring_pages = pages;
	options->rounded_pages = pages != number;
	return 0;
}

/* Assigns the cgroups to the events before the option. */
int record_set_cgroups(const struct cli_given *given)
{
	struct record_options *options = given->state;

	if (!options->events.list.nr) {
		cli_usage_error(options->command,
				"-G applies to the preceding events: put an -e before it");
		return -EINVAL;
	}
	return cli_assign_cgroups(options->command, &options->cgroups, given->text,
				  options->events.list.nr)
		       ? -EINVAL
		       : 0;
}
