/* SPDX-License-Identifier: MIT */
/* The table of fields, and the parser of -F. */
#include <errno.h>
#include <string.h>

#include "fields.h"
#include "names.h"
#include "options.h"

#define COMMAND "script"

#define WEIGHTS (PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT)

static const struct script_field table[] = {
	{ "comm", SCRIPT_COMM, 0, NULL, NULL },
	{ "tid", SCRIPT_TID, PERCH_SAMPLE_TID, "thread", NULL },
	{ "pid", SCRIPT_PID, PERCH_SAMPLE_TID, "process", NULL },
	{ "time", SCRIPT_TIME, PERCH_SAMPLE_TIME, "time", "-T" },
	{ "cpu", SCRIPT_CPU, PERCH_SAMPLE_CPU, "CPU", "--sample-cpu" },
	{ "event", SCRIPT_EVENT, 0, NULL, NULL },
	{ "trace", SCRIPT_TRACE, PERCH_SAMPLE_RAW, "fields of a tracepoint", "-R" },
	{ "ip", SCRIPT_IP, PERCH_SAMPLE_IP, "address of the instruction", NULL },
	{ "sym", SCRIPT_SYM, PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR, "address", NULL },
	{ "dso", SCRIPT_DSO, PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR, "address", NULL },
	{ "dsoff", SCRIPT_DSOFF, PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR, "address", NULL },
	{ "addr", SCRIPT_ADDR, PERCH_SAMPLE_ADDR, "data address", "-d" },
	{ "symoff", SCRIPT_SYMOFF, 0, NULL, NULL },
	{ "srcline", SCRIPT_SRCLINE, 0, NULL, NULL },
	{ "period", SCRIPT_PERIOD, 0, NULL, NULL },
	{ "iregs", SCRIPT_IREGS, PERCH_SAMPLE_REGS_INTR, "registers", "-I" },
	{ "uregs", SCRIPT_UREGS, PERCH_SAMPLE_REGS_USER, "registers of user space", "--user-regs" },
	{ "brstack", SCRIPT_BRSTACK, PERCH_SAMPLE_BRANCH_STACK, "branch stack", "-b" },
	{ "brstacksym", SCRIPT_BRSTACKSYM, PERCH_SAMPLE_BRANCH_STACK, "branch stack", "-b" },
	{ "brstackoff", SCRIPT_BRSTACKOFF, PERCH_SAMPLE_BRANCH_STACK, "branch stack", "-b" },
	{ "data_src", SCRIPT_DATA_SRC, PERCH_SAMPLE_DATA_SRC, "data source", "-d" },
	{ "weight", SCRIPT_WEIGHT, WEIGHTS, "weight", "-W" },
	{ "bpf-output", SCRIPT_BPF_OUTPUT, 0, NULL, NULL },
	{ "phys_addr", SCRIPT_PHYS_ADDR, PERCH_SAMPLE_PHYS_ADDR, "physical address",
	  "--phys-data" },
	{ "misc", SCRIPT_MISC, 0, NULL, NULL },
	{ "tod", SCRIPT_TOD, PERCH_SAMPLE_TIME, "time", "-T" },
	{ "data_page_size", SCRIPT_DATA_PAGE_SIZE, PERCH_SAMPLE_DATA_PAGE_SIZE,
	  "page size of the data", "--data-page-size" },
	{ "code_page_size", SCRIPT_CODE_PAGE_SIZE, PERCH_SAMPLE_CODE_PAGE_SIZE,
	  "page size of the code", "--code-page-size" },
	{ "ins_lat", SCRIPT_INS_LAT, PERCH_SAMPLE_WEIGHT_STRUCT, "instruction latency", "-W" },
	{ "retire_lat", SCRIPT_RETIRE_LAT, PERCH_SAMPLE_WEIGHT_STRUCT, "retire latency", "-W" },
	{ "cgroup", SCRIPT_CGROUP, PERCH_SAMPLE_CGROUP, "cgroup", "--all-cgroups" },
	{ "flags", SCRIPT_FLAGS, 0, NULL, NULL },
	{ "transaction", SCRIPT_TRANSACTION, PERCH_SAMPLE_TRANSACTION, "transaction",
	  "--transaction" },
	{ "insn", SCRIPT_INSN, PERCH_SAMPLE_IP, "address of the instruction", NULL },
	{ "insnlen", SCRIPT_INSNLEN, PERCH_SAMPLE_IP, "address of the instruction", NULL },
	{ "disasm", SCRIPT_DISASM, PERCH_SAMPLE_IP, "address of the instruction", NULL },
	{ "brstackinsn", SCRIPT_BRSTACKINSN, PERCH_SAMPLE_BRANCH_STACK, "branch stack", "-b" },
	{ "brstackinsnlen", SCRIPT_BRSTACKINSNLEN, PERCH_SAMPLE_BRANCH_STACK, "branch stack",
	  "-b" },
	{ "brstackdisasm", SCRIPT_BRSTACKDISASM, PERCH_SAMPLE_BRANCH_STACK, "branch stack", "-b" },
	{ "srccode", SCRIPT_SRCCODE, PERCH_SAMPLE_IP, "address of the instruction", NULL },
	{ "metric", SCRIPT_METRIC, PERCH_SAMPLE_READ, "counts of their group",
	  "-e '{EVENT,EVENT}:S'" },
	{ "synth", SCRIPT_NEVER, 0, NULL, NULL },
	{ "callindent", SCRIPT_NEVER, 0, NULL, NULL },
	{ "ipc", SCRIPT_NEVER, 0, NULL, NULL },
	{ "machine_pid", SCRIPT_NEVER, 0, NULL, NULL },
	{ "vcpu", SCRIPT_NEVER, 0, NULL, NULL },
};

/* Fields of perf that are not printed. */
static const char *const unsupported[] = { "brcntr" };

#define START (SCRIPT_COMM | SCRIPT_TID | SCRIPT_CPU | SCRIPT_TIME | SCRIPT_EVENT)
#define FRAME (SCRIPT_IP | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO)
#define USUAL (START | FRAME | SCRIPT_PERIOD)

static const struct {
	const char *name, *option; /* "software", and "sw" of -F */
	uint64_t fields, invalid;
} types[SCRIPT_NR_TYPES] = {
	[SCRIPT_HARDWARE] = { "hardware", "hw", USUAL, SCRIPT_TRACE | SCRIPT_BPF_OUTPUT },
	[SCRIPT_SOFTWARE] = { "software", "sw", USUAL | SCRIPT_BPF_OUTPUT, SCRIPT_TRACE },
	[SCRIPT_TRACEPOINT] = { "tracepoint", "trace", START | SCRIPT_TRACE, 0 },
	[SCRIPT_HW_CACHE] = { "hardware-cache", NULL, USUAL, SCRIPT_TRACE | SCRIPT_BPF_OUTPUT },
	[SCRIPT_RAW] = { "raw", "raw",
			 USUAL | SCRIPT_ADDR | SCRIPT_DATA_SRC | SCRIPT_WEIGHT | SCRIPT_PHYS_ADDR |
				 SCRIPT_DATA_PAGE_SIZE | SCRIPT_CODE_PAGE_SIZE | SCRIPT_INS_LAT,
			 SCRIPT_TRACE | SCRIPT_BPF_OUTPUT },
	[SCRIPT_BREAKPOINT] = { "breakpoint", "break", USUAL, SCRIPT_TRACE | SCRIPT_BPF_OUTPUT },
	[SCRIPT_SYNTH] = { "synthesized", "synth", START | FRAME,
			   SCRIPT_TRACE | SCRIPT_BPF_OUTPUT },
	[SCRIPT_OTHER] = { "other", NULL, USUAL, SCRIPT_TRACE | SCRIPT_BPF_OUTPUT },
};

void script_fields_init(struct script_fields *fields)
{
	*fields = (struct script_fields){ 0 };
	for (int type = 0; type < SCRIPT_NR_TYPES; type++)
		fields->type[type].fields = types[type].fields;
}

/* perf's number of synthesized events */
#define PERF_TYPE_SYNTH (INT32_MAX + UINT32_C(1))

enum script_type script_type_of(const struct perch_attr *attr)
{
	if (attr->type == PERF_TYPE_SYNTH)
		return SCRIPT_SYNTH;
	return attr->type < PERCH_TYPE_MAX ? (enum script_type)attr->type : SCRIPT_OTHER;
}

const char *script_type_name(enum script_type type)
{
	return types[type].name;
}

uint64_t script_fields_invalid(enum script_type type)
{
	return types[type].invalid;
}

const struct script_field *script_field_at(uint64_t field)
{
	for (size_t i = 0; i < CLI_NR(table); i++)
		if (table[i].field == field)
			return &table[i];
	return NULL;
}

const struct script_field *script_field_get(size_t index)
{
	return index < CLI_NR(table) ? &table[index] : NULL;
}

bool script_fields_any(const struct script_fields *fields, uint64_t mask)
{
	for (int type = 0; type < SCRIPT_NR_TYPES; type++)
		if (fields->type[type].fields & mask)
			return true;
	return false;
}

/* ---- the parser ---- */

static bool is_word(const char *name, const char *word, size_t length)
{
	return name && strlen(name) == length && !strncmp(name, word, length);
}

static const struct script_field *find_field(const char *word, size_t length)
{
	for (size_t i = 0; i < CLI_NR(table); i++)
		if (is_word(table[i].name, word, length))
			return &table[i];
	return NULL;
}

/* Refuses a name that is not one of the fields. */
static int refuse_field(const char *word, size_t length)
{
	const char *list[CLI_NR(table)];

	for (size_t i = 0; i < CLI_NR(unsupported); i++)
		if (is_word(unsupported[i], word, length))
			return cli_usage_error(COMMAND,
					       "-F: the field '%s' of perf is not supported",
					       unsupported[i]);
	for (size_t i = 0; i < CLI_NR(table); i++)
		list[i] = table[i].name;
	return cli_refuse_name(COMMAND, "-F",
			       &(struct cli_names){ "field", NULL, list, CLI_NR(list) }, word,
			       length);
}

/* Finds the type before a colon. Returns SCRIPT_NR_TYPES for all types, or a negative errno. */
static int parse_type(const char *argument, const char **rest)
{
	const char *colon = strchr(argument, ':');
	size_t length = colon ? (size_t)(colon - argument) : 0;

	*rest = argument;
	if (!colon)
		return SCRIPT_NR_TYPES;
	*rest = colon + 1;
	for (int type = 0; type < SCRIPT_NR_TYPES; type++)
		if (is_word(types[type].option, argument, length))
			return type;
	cli_usage_error(
		COMMAND,
		"-F: there is no event type '%.*s'; use hw, sw, trace, raw, break or synth before "
		"the colon",
		(int)length, argument);
	return -EINVAL;
}

/* Changes the fields of one type by a word with the sign '+', '-' or 0. */
static void change(struct script_choice *choice, uint64_t field, char sign)
{
	choice->set = true;
	if (sign == '-') {
		choice->fields &= ~field;
		choice->asked &= ~field;
	} else {
		choice->fields |= field;
		choice->asked |= field;
	}
}

static int apply_field(struct script_fields *fields, int type, const struct script_field *field,
		       char sign)
{
	if (type < SCRIPT_NR_TYPES && types[type].invalid & field->field)
		return cli_usage_error(COMMAND, "-F: '%s' is not a field of %s events", field->name,
				       types[type].name);
	for (int each = 0; each < SCRIPT_NR_TYPES; each++)
		if (type == SCRIPT_NR_TYPES || type == each)
			change(&fields->type[each], field->field, sign);
	return 0;
}

/* Starts a list of fields that takes the place of the defaults. */
static void replace_fields(struct script_fields *fields, int type)
{
	bool overridden = false;

	for (int each = 0; each < SCRIPT_NR_TYPES; each++) {
		struct script_choice *choice = &fields->type[each];

		if (type != SCRIPT_NR_TYPES && type != each)
			continue;
		overridden |= choice->set;
		*choice = (struct script_choice){ .set = true };
	}
	if (overridden)
		cli_note(COMMAND, "-F: the earlier fields of %s events are replaced",
			 type == SCRIPT_NR_TYPES ? "all" : types[type].name);
}

int script_fields_parse(struct script_fields *fields, const char *argument)
{
	const char *at;
	int type = parse_type(argument, &at);
	bool changes = *at == '+' || *at == '-';

	if (type < 0)
		return type;
	if (!*argument)
		return cli_usage_error(COMMAND, "-F: name at least one field");
	fields->any_set = true;
	if (!changes)
		replace_fields(fields, type);
	for (; *at; at += *at == ',') {
		char sign = *at == '+' || *at == '-' ? *at++ : 0;
		size_t length = strcspn(at, ",");
		const struct script_field *field = find_field(at, length);

		if (!length && !sign) /* perf ignores empty words */
			continue;
		if (!field)
			return refuse_field(at, length);
		if (!sign != !changes)
			return cli_usage_error(
				COMMAND,
				"-F: '%s': either all fields have a sign (+field, -field), or none",
				argument);
		if (apply_field(fields, type, field, sign))
			return -EINVAL;
		at += length;
	}
	return 0;
}

/* ---- the fields of an event ---- */

uint64_t script_fields_of(const struct script_choice *choice, enum script_type type,
			  const struct perch_attr *attr, const struct script_field **missing)
{
	uint64_t fields = choice->fields & ~types[type].invalid;

	*missing = NULL;
	for (size_t i = 0; i < CLI_NR(table); i++) {
		const struct script_field *field = &table[i];

		if (!(fields & field->field) || !field->needs || attr->sample_type & field->needs)
			continue;
		fields &= ~field->field;
		if (choice->asked & field->field && !*missing)
			*missing = field;
	}
	if (!(attr->sample_type & PERCH_SAMPLE_PERIOD) && attr->freq)
		fields &= ~SCRIPT_PERIOD; /* else the decoder sets it to that of the attr */
	return fields;
}
