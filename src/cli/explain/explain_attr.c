/* SPDX-License-Identifier: MIT */
/* The fields of an attr, and the attr as text with the kernel's names of its numbers. */
#include <inttypes.h>
#include <string.h>
#include <perch/event.h>

#include "explain.h"
#include "options.h"

#define UNKNOWN_WORDS_MAX 8 /* printed */

static const char *const types[] = { "HARDWARE", "SOFTWARE", "TRACEPOINT",
				     "HW_CACHE", "RAW",	     "BREAKPOINT" };

static bool by_freq(const struct perch_attr *attr)
{
	return attr->freq;
}

static bool by_period(const struct perch_attr *attr)
{
	return !attr->freq;
}

static bool by_watermark(const struct perch_attr *attr)
{
	return attr->watermark;
}

static bool by_events(const struct perch_attr *attr)
{
	return !attr->watermark;
}

static bool by_breakpoint(const struct perch_attr *attr)
{
	return attr->type == PERCH_TYPE_BREAKPOINT;
}

static bool by_config(const struct perch_attr *attr)
{
	return attr->type != PERCH_TYPE_BREAKPOINT;
}

static bool never(const struct perch_attr *attr)
{
	(void)attr;
	return false;
}

/* Names that share bytes with another name; another field selects one. */
static const struct {
	const char *name;
	bool (*holds)(const struct perch_attr *attr);
} alternatives[] = {
	{ "sample_freq", by_freq },
	{ "sample_period", by_period },
	{ "wakeup_watermark", by_watermark },
	{ "wakeup_events", by_events },
	{ "bp_addr", by_breakpoint },
	{ "bp_len", by_breakpoint },
	{ "config1", by_config },
	{ "config2", by_config },
	{ "kprobe_func", never },
	{ "uprobe_path", never },
	{ "kprobe_addr", never },
	{ "probe_offset", never },
	{ "aux_action", never }, /* its bits are fields of their own */
};

static bool holds(const struct perch_attr *attr, const char *name)
{
	for (size_t i = 0; i < CLI_NR(alternatives); i++)
		if (!strcmp(alternatives[i].name, name))
			return alternatives[i].holds(attr);
	return true;
}

void explain_attr_for_each_field(const struct perch_attr *attr, explain_field_callback *each,
				 void *context)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = perch_attr_get(attr, &fields[i]);

		if (value && holds(attr, fields[i].name))
			each(context, fields[i].name, value, !strcmp(fields[i].name, "clockid"));
	}
}

void explain_attr_for_each_unknown_word(const struct perch_attr *attr, explain_field_callback *each,
					void *context)
{
	size_t size = attr ? trace_readable_attr(attr) : 0, nr = 0;
	char name[32];

	for (size_t at = sizeof(*attr); at < size && nr < UNKNOWN_WORDS_MAX;
	     at += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, (const char *)attr + at,
		       size - at < sizeof(word) ? size - at : sizeof(word));
		if (!word)
			continue;
		snprintf(name, sizeof(name), "word_%zu", at);
		each(context, name, word, false);
		nr++;
	}
}

static bool is_one_of(const char *name, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Prints the function or path that config1 of a probe points to. */
static void print_string_at(const struct explain_attr_format *format, uint64_t address)
{
	char text[256];

	if (perch_machine_process_string(format->machine, address, text, sizeof(text), NULL))
		return;
	fputs(" \"", format->out);
	cli_put_clean(format->out, text);
	fputc('"', format->out);
}

static const char *pmu_name(const struct explain_attr_format *format, uint32_t type)
{
	const struct perch_pmu *pmu;

	if (type < CLI_NR(types))
		return types[type];
	pmu = format->machine ? perch_machine_pmu_of_type(format->machine, type) : NULL;
	return pmu ? pmu->name : NULL;
}

struct print_context {
	const struct explain_attr_format *format;
	bool is_probe; /* config1 points to a string that can be read */
};

static void print_field(void *context, const char *name, uint64_t value, bool is_signed)
{
	static const char *const first[] = { "type", "size", "config" };
	static const char *const hex[] = { "bp_addr",	       "config1", "config2",
					   "config3",	       "config4", "sample_regs_user",
					   "sample_regs_intr", "sig_data" };
	static const char *const breakpoints[] = { NULL, "R", "W", "RW", "X" };
	const struct print_context *print = context;
	FILE *out = print->format->out;
	char bits[PERCH_ATTR_BITS_TEXT];

	if (is_one_of(name, first, CLI_NR(first)))
		return; /* type, size and config are printed already */
	fprintf(out, ", %s=", name);
	if (perch_attr_bits_text(name, value, bits, sizeof(bits)))
		fputs(bits, out);
	else if (is_signed)
		fprintf(out, "%" PRId32, (int32_t)value);
	else if (!strcmp(name, "bp_type") && value < CLI_NR(breakpoints))
		fputs(breakpoints[value], out);
	else
		fprintf(out,
			value > 1000000000 || is_one_of(name, hex, CLI_NR(hex)) ? "%#" PRIx64
										: "%" PRIu64,
			value);
	if (print->is_probe && !strcmp(name, "config1"))
		print_string_at(print->format, value);
}

bool explain_format_config(uint32_t type, uint64_t config, char *buffer, size_t size)
{
	struct perch_attr bare;

	if (type != PERCH_TYPE_HARDWARE && type != PERCH_TYPE_SOFTWARE &&
	    type != PERCH_TYPE_HW_CACHE)
		return false;
	memset(&bare, 0, sizeof(bare));
	bare.type = type;
	bare.config = config;
	perch_attr_name(&bare, buffer, size);
	return !strchr(buffer, ' '); /* not "unknown-software 0x63" */
}

void explain_attr_print(const struct explain_attr_format *format, const struct perch_attr *attr)
{
	struct print_context print = { format, false };
	struct perch_attr copy;
	const char *pmu;
	char name[64];

	if (!trace_copy_attr(&copy, attr)) {
		fputs(format->partial ? "{...}" : "(unreadable)", format->out);
		return;
	}
	fprintf(format->out, "{type=%" PRIu32, copy.type);
	pmu = pmu_name(format, copy.type);
	if (pmu) {
		fputc(' ', format->out);
		cli_put_clean(format->out, pmu);
		print.is_probe = format->memory && format->machine &&
				 (!strcmp(pmu, "uprobe") || !strcmp(pmu, "kprobe"));
	}
	fprintf(format->out, ", size=%" PRIu32 ", config=%#" PRIx64, copy.size, copy.config);
	if (explain_format_config(copy.type, copy.config, name, sizeof(name))) {
		fputc(' ', format->out);
		cli_put_clean(format->out, name);
	}
	explain_attr_for_each_field(&copy, print_field, &print);
	explain_attr_for_each_unknown_word(attr, print_field, &print);
	fputs(format->partial ? ", ...}" : "}", format->out);
}
