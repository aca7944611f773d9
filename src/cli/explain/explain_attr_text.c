/* SPDX-License-Identifier: MIT */
/* The words of a call as text: numbers by the kernel's names where they have some. */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <perch/event.h>

#include "explain_attr.h"
#include "options.h"

struct name {
	const char *name;
	unsigned long value;
};

static const char *const types[] = { "HARDWARE", "SOFTWARE", "TRACEPOINT",
				     "HW_CACHE", "RAW",	     "BREAKPOINT" };

static const struct name call_flags[] = {
	{ "FD_NO_GROUP", PERCH_FLAG_FD_NO_GROUP },
	{ "FD_OUTPUT", PERCH_FLAG_FD_OUTPUT },
	{ "PID_CGROUP", PERCH_FLAG_PID_CGROUP },
	{ "FD_CLOEXEC", PERCH_FLAG_FD_CLOEXEC },
};

static const struct name protections[] = {
	{ "PROT_READ", PROT_READ },
	{ "PROT_WRITE", PROT_WRITE },
	{ "PROT_EXEC", PROT_EXEC },
};

static const struct name map_flags[] = {
	{ "MAP_SHARED_VALIDATE", MAP_SHARED_VALIDATE },
	{ "MAP_SHARED", MAP_SHARED },
	{ "MAP_PRIVATE", MAP_PRIVATE },
	{ "MAP_FIXED", MAP_FIXED },
	{ "MAP_ANONYMOUS", MAP_ANONYMOUS },
	{ "MAP_LOCKED", MAP_LOCKED },
	{ "MAP_NORESERVE", MAP_NORESERVE },
	{ "MAP_POPULATE", MAP_POPULATE },
	{ "MAP_NONBLOCK", MAP_NONBLOCK },
	{ "MAP_STACK", MAP_STACK },
	{ "MAP_HUGETLB", MAP_HUGETLB },
};

/* clang-format off */
#define REQUEST(word) { #word, PERCH_IOC_##word }
/* clang-format on */
static const struct name requests[] = {
	REQUEST(ENABLE),  REQUEST(DISABLE),	 REQUEST(REFRESH),    REQUEST(RESET),
	REQUEST(PERIOD),  REQUEST(SET_OUTPUT),	 REQUEST(SET_FILTER), REQUEST(ID),
	REQUEST(SET_BPF), REQUEST(PAUSE_OUTPUT), REQUEST(QUERY_BPF),  REQUEST(MODIFY_ATTRIBUTES),
};

/* "A|B|0x40" */
static const char *bits_name(const struct name *names, size_t nr, unsigned long value, char *buffer,
			     size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < nr && used < size; i++) {
		if ((value & names[i].value) != names[i].value)
			continue;
		used += snprintf(buffer + used, size - used, "%s%s", used ? "|" : "",
				 names[i].name);
		value &= ~names[i].value;
	}
	if ((value || !used) && used < size)
		snprintf(buffer + used, size - used, value ? "%s%#lx" : "%s%lu", used ? "|" : "",
			 value);
	return buffer;
}

const char *explain_format_open_flags(unsigned long flags, char *buffer, size_t size)
{
	return bits_name(call_flags, CLI_NR(call_flags), flags, buffer, size);
}

const char *explain_format_protection(int protection, char *buffer, size_t size)
{
	return bits_name(protections, CLI_NR(protections), (unsigned)protection, buffer, size);
}

const char *explain_format_map_flags(int flags, char *buffer, size_t size)
{
	return bits_name(map_flags, CLI_NR(map_flags), (unsigned)flags, buffer, size);
}

static const struct name *find(const struct name *names, size_t nr, const char *name, size_t length)
{
	for (size_t i = 0; i < nr; i++)
		if (strlen(names[i].name) == length && !memcmp(names[i].name, name, length))
			return &names[i];
	return NULL;
}

long explain_parse_map_constant(const char *name, size_t length)
{
	const struct name *found = find(protections, CLI_NR(protections), name, length);

	if (!found)
		found = find(map_flags, CLI_NR(map_flags), name, length);
	return found ? (long)found->value : -1;
}

const char *explain_format_request(unsigned long request, char *buffer, size_t size)
{
	for (size_t i = 0; i < CLI_NR(requests); i++)
		if ((uint32_t)requests[i].value == (uint32_t)request) {
			snprintf(buffer, size, "PERF_EVENT_IOC_%s", requests[i].name);
			return buffer;
		}
	snprintf(buffer, size, "%#lx", request);
	return buffer;
}

unsigned long explain_parse_request(const char *name, size_t length)
{
	const struct name *found = find(requests, CLI_NR(requests), name, length);

	return found ? found->value : 0;
}

const char *explain_operation_name(enum perch_operation_kind kind)
{
	static const char *const names[] = {
		[PERCH_OPERATION_MMAP] = "mmap",
		[PERCH_OPERATION_IOCTL] = "ioctl",
		[PERCH_OPERATION_READ] = "read",
		[PERCH_OPERATION_MUNMAP] = "munmap",
	};

	return names[kind];
}

/* Names of the bits of the three words that have some; false for any other field. */
static bool put_bits(FILE *out, const char *field, uint64_t value)
{
	const struct perch_attr_bit *bits;
	const char *between = "";
	bool known = false;
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(bits[i].field, field))
			continue;
		if (!known)
			fprintf(out, ", %s=", field);
		known = true;
		if (!(value & bits[i].bit))
			continue;
		fprintf(out, "%s%s", between, bits[i].name);
		between = "|";
		value &= ~bits[i].bit;
	}
	if (known && value)
		fprintf(out, "%s%#" PRIx64, between, value);
	return known;
}

static bool is_one_of(const char *name, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* The name or path that a probe's config1 points to. */
static void put_pointed_to(const struct explain_attr_format *words, uint64_t address)
{
	char text[256];

	if (perch_machine_process_string(words->machine, address, text, sizeof(text), NULL))
		return;
	fputs(" \"", words->out);
	cli_put_clean(words->out, text);
	fputc('"', words->out);
}

static const char *pmu_name(const struct explain_attr_format *words, uint32_t type)
{
	const struct perch_pmu *pmu;

	if (type < CLI_NR(types))
		return types[type];
	pmu = words->machine ? perch_machine_pmu_of_type(words->machine, type) : NULL;
	return pmu ? pmu->name : NULL;
}

struct put_context {
	const struct explain_attr_format *words;
	bool is_probe; /* config1 is an address of text that can be read */
};

static void put_field(void *context, const char *name, uint64_t value, bool is_signed)
{
	static const char *const first[] = { "type", "size", "config" };
	static const char *const hex[] = { "bp_addr",	       "config1", "config2",
					   "config3",	       "config4", "sample_regs_user",
					   "sample_regs_intr", "sig_data" };
	static const char *const breakpoints[] = { NULL, "R", "W", "RW", "X" };
	const struct put_context *put = context;
	FILE *out = put->words->out;

	if (is_one_of(name, first, CLI_NR(first)) || put_bits(out, name, value))
		return; /* the first were told, zero or not */
	fprintf(out, ", %s=", name);
	if (is_signed)
		fprintf(out, "%" PRId32, (int32_t)value);
	else if (!strcmp(name, "bp_type") && value < CLI_NR(breakpoints))
		fputs(breakpoints[value], out);
	else
		fprintf(out,
			value > 1000000000 || is_one_of(name, hex, CLI_NR(hex)) ? "%#" PRIx64
										: "%" PRIu64,
			value);
	if (put->is_probe && !strcmp(name, "config1"))
		put_pointed_to(put->words, value);
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
	return !strchr(buffer, ' '); /* "unknown-software 0x63" */
}

void explain_attr_print(const struct explain_attr_format *words, const struct perch_attr *attr)
{
	struct put_context put = { words, false };
	struct perch_attr copy;
	const char *pmu;
	char name[64];

	if (!explain_attr_copy(&copy, attr)) {
		fputs(words->partial ? "{...}" : "(unreadable)", words->out);
		return;
	}
	fprintf(words->out, "{type=%" PRIu32, copy.type);
	pmu = pmu_name(words, copy.type);
	if (pmu) {
		fputc(' ', words->out);
		cli_put_clean(words->out, pmu);
		put.is_probe = words->memory && words->machine &&
			       (!strcmp(pmu, "uprobe") || !strcmp(pmu, "kprobe"));
	}
	fprintf(words->out, ", size=%" PRIu32 ", config=%#" PRIx64, copy.size, copy.config);
	if (explain_format_config(copy.type, copy.config, name, sizeof(name))) {
		fputc(' ', words->out);
		cli_put_clean(words->out, name);
	}
	explain_attr_for_each_field(&copy, put_field, &put);
	explain_attr_for_each_unknown_word(attr, put_field, &put);
	fputs(words->partial ? ", ...}" : "}", words->out);
}
