/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "attr_print.h"
#include "options.h"

/* How a field is printed, if not as a number with the name of the field. */
struct style {
	const char *field;
	const char *label; /* NULL for the name of the field */
	enum { STYLE_HEX, STYLE_SIGNED, STYLE_NUMBER, STYLE_BITS, STYLE_HIDDEN } kind;
};

static const struct style styles[] = {
	{ "config", NULL, STYLE_HEX },
	{ "sample_period", "{ sample_period, sample_freq }", STYLE_NUMBER },
	{ "sample_type", NULL, STYLE_BITS },
	{ "read_format", NULL, STYLE_BITS },
	{ "wakeup_events", "{ wakeup_events, wakeup_watermark }", STYLE_NUMBER },
	{ "bp_addr", "{ bp_addr, config1 }", STYLE_HEX },
	{ "bp_len", "{ bp_len, config2 }", STYLE_HEX },
	{ "branch_sample_type", NULL, STYLE_BITS },
	{ "sample_regs_user", NULL, STYLE_HEX },
	{ "sample_regs_intr", NULL, STYLE_HEX },
	{ "clockid", NULL, STYLE_SIGNED },
	{ "config3", NULL, STYLE_HEX },
	{ "config4", NULL, STYLE_HEX },
	/* other names of the words above, and a word whose bits are fields */
	{ "sample_freq", NULL, STYLE_HIDDEN },
	{ "wakeup_watermark", NULL, STYLE_HIDDEN },
	{ "config1", NULL, STYLE_HIDDEN },
	{ "config2", NULL, STYLE_HIDDEN },
	{ "kprobe_func", NULL, STYLE_HIDDEN },
	{ "kprobe_addr", NULL, STYLE_HIDDEN },
	{ "uprobe_path", NULL, STYLE_HIDDEN },
	{ "probe_offset", NULL, STYLE_HIDDEN },
	{ "aux_action", NULL, STYLE_HIDDEN },
};

static const struct style *style_of(const char *field)
{
	static const struct style plain = { NULL, NULL, STYLE_NUMBER };

	for (size_t i = 0; i < CLI_NR(styles); i++)
		if (!strcmp(styles[i].field, field))
			return &styles[i];
	return &plain;
}

/* "IP|TID". Bits without names follow as a number. */
static void print_bits(FILE *out, const char *field, uint64_t value)
{
	const struct perch_attr_bit *bits;
	const char *between = "";
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(bits[i].field, field) || !(value & bits[i].bit))
			continue;
		fprintf(out, "%s%s", between, bits[i].name);
		between = "|";
		value &= ~bits[i].bit;
	}
	if (value)
		fprintf(out, "%s%#" PRIx64, between, value);
}

static void print_field(FILE *out, const struct perch_attr_field *field, uint64_t value)
{
	const struct style *style = style_of(field->name);

	if (!value || style->kind == STYLE_HIDDEN)
		return;
	fprintf(out, "  %-32s ", style->label ? style->label : field->name);
	if (style->kind == STYLE_HEX)
		fprintf(out, "%#" PRIx64, value);
	else if (style->kind == STYLE_SIGNED)
		fprintf(out, "%" PRId32, (int32_t)value);
	else if (style->kind == STYLE_BITS)
		print_bits(out, field->name, value);
	else
		fprintf(out, "%" PRIu64, value);
	fputc('\n', out);
}

static const char line[] = "------------------------------------------------------------\n";

static void print_block(FILE *out, const struct perch_attr *attr)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	fprintf(out, "%sperf_event_attr:\n", line);
	for (size_t i = 0; i < nr; i++)
		print_field(out, &fields[i], perch_attr_get(attr, &fields[i]));
	fputs(line, out);
}

static void print_open_call(FILE *out, pid_t pid, int cpu, int group_fd, unsigned long flags,
			    int result)
{
	fprintf(out, "sys_perf_event_open: pid %d  cpu %d  group_fd %d  flags %#lx", pid, cpu,
		group_fd, flags);
	if (result < 0)
		fprintf(out, "\nsys_perf_event_open failed, error %d\n", result);
	else
		fprintf(out, " = %d\n", result);
}

static int open_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		      int group_fd, unsigned long flags)
{
	struct cli_shown_calls *shown = context;
	int fd = perch_kernel_syscalls.perf_event_open(perch_kernel_syscalls.context, attr, pid,
						       cpu, group_fd, flags);
	int error = errno;

	if (*shown->level < 2)
		return fd;
	if (memcmp(attr, &shown->last, sizeof(*attr)))
		print_block(stderr, attr);
	shown->last = *attr;
	print_open_call(stderr, pid, cpu, group_fd, flags, fd < 0 ? -error : fd);
	errno = error;
	return fd;
}

void cli_show_calls(struct cli_shown_calls *shown, const int *level)
{
	memset(shown, 0, sizeof(*shown));
	shown->calls = perch_kernel_syscalls;
	shown->calls.context = shown; /* the other functions ignore it */
	shown->calls.perf_event_open = open_event;
	shown->level = level;
}
