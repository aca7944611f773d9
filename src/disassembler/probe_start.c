/* SPDX-License-Identifier: MIT */
/* Checks that user probes are at the start of an instruction. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <perch/disassembler.h>

#include "base/memory.h"

/* A probe, and the instructions around it. Offsets are those in the function. */
struct site {
	const struct perch_event *event;
	struct perch_error *err;
	const char *function;
	uint64_t start;	 /* of the function in the file */
	uint64_t offset; /* of the probe */
	uint64_t before, after;
	bool has_after;
	uint64_t unknown; /* offset of the first bytes before the probe that are no instruction */
	bool has_unknown;
	bool none;    /* no known instruction is at the probe, or data by the symbols of the file */
	bool target;  /* a jump of the function leads to it */
	bool reached; /* the instruction of .before is executed: no data is there */
};

/* A probe without an offset is at a function, and one by its name at an instruction of its note.
 * The name may also be one that the user has chosen. */
static bool may_be_inside(const struct perch_event *event)
{
	const char *name = event->name;
	bool whole = strlen(name) + 1 < sizeof(event->name);

	if (!strncmp(name, "usdt:", 5))
		return false;
	if (!whole || (strncmp(name, "uprobe:", 7) && strncmp(name, "uretprobe:", 10)))
		return true;
	for (const char *at = name; *at; at++)
		if (*at == '+' || (*at == ':' && isdigit((unsigned char)at[1])))
			return true;
	return false;
}

#define RETURN_PROBE 1u /* attr.config of the PMU uprobe */

static int set_unknown(const struct site *site, const char *reason, const char *detail)
{
	if (!site->function && site->event->attr.config & RETURN_PROBE) {
		perch_error_set(site->err, EINVAL, PERCH_ERROR_BAD_FIELD,
				"'%s': it is not known if a function begins there: %s%s. A return "
				"probe elsewhere replaces a variable, and can end the program",
				site->event->name, reason, detail);
		return 1;
	}
	perch_error_set(site->err, EINVAL, PERCH_ERROR_BAD_FIELD,
			"'%s': it is not known if an instruction starts there: %s%s. A probe "
			"inside an instruction changes it, and can end the program",
			site->event->name, reason, detail);
	return 1;
}

static int refuse_site(const struct site *site)
{
	perch_error_set(site->err, EINVAL, PERCH_ERROR_BAD_FIELD,
			"'%s': a probe must be at the start of an instruction; %s+%#" PRIx64
			" is inside the one at %s+%#" PRIx64,
			site->event->name, site->function, site->offset, site->function,
			site->before);
	if (site->has_after)
		perch_error_remedy(site->err,
				   "instructions start at %s+%#" PRIx64 " (%#" PRIx64
				   " in the file) and %s+%#" PRIx64 " (%#" PRIx64 ")",
				   site->function, site->before, site->start + site->before,
				   site->function, site->after, site->start + site->after);
	else
		perch_error_remedy(site->err,
				   "the instruction starts at %s+%#" PRIx64 " (%#" PRIx64
				   " in the file)",
				   site->function, site->before, site->start + site->before);
	return -EINVAL;
}

/* Marks the targets of the jumps of the function. */
static void find_targets(uint8_t *targets, struct perch_disassembler *disassembler,
			 const struct perch_code *code)
{
	struct perch_instruction instruction;

	while (perch_disassembler_next(disassembler, &instruction)) {
		const uint64_t at = instruction.target - code->address;

		if (instruction.flow == PERCH_FLOW_JUMP && instruction.has_target &&
		    at < code->size)
			targets[at / 8] |= (uint8_t)(1 << at % 8);
	}
	perch_disassembler_rewind(disassembler);
}

static bool is_target(const uint8_t *targets, uint64_t offset)
{
	return targets[offset / 8] >> offset % 8 & 1;
}

/* Finds the instructions around the probe, and what makes them uncertain. */
static void scan_site(struct site *site, const uint8_t *targets,
		      struct perch_disassembler *disassembler, const struct perch_code *code)
{
	struct perch_instruction instruction;
	bool reached = true; /* the instruction is executed after the one before it, or jumped to */

	while (perch_disassembler_next(disassembler, &instruction)) {
		const uint64_t at = instruction.address - code->address;
		const bool decoded = !instruction.data && !instruction.undecoded;

		if (at > site->offset) {
			site->after = at;
			site->has_after = true;
			break;
		}
		reached |= is_target(targets, at);
		site->before = at;
		site->reached = reached;
		site->none = !decoded && !instruction.vector;
		if (!decoded && !site->has_unknown) {
			site->unknown = at;
			site->has_unknown = true;
		}
		reached = reached && !perch_instruction_ends_run(&instruction);
	}
	site->target = is_target(targets, site->offset);
}

static int evaluate_site(const struct site *site)
{
	char detail[32];

	if (site->none)
		return set_unknown(site, "the file has data or an unknown instruction there", "");
	if (site->before == site->offset)
		return 0;
	if (site->has_unknown) {
		snprintf(detail, sizeof(detail), "%#" PRIx64, site->unknown);
		return set_unknown(
			site,
			"the function has data or an unknown instruction before it, at offset ",
			detail);
	}
	if (site->target)
		return set_unknown(site,
				   "it is inside an instruction, but the function jumps to it", "");
	if (!site->reached) {
		snprintf(detail, sizeof(detail), "%#" PRIx64, site->before);
		return set_unknown(
			site,
			"it is inside an instruction if no data is before that one, at offset ",
			detail);
	}
	return refuse_site(site);
}

static int check_code(struct site *site, const struct perch_code *code)
{
	struct perch_disassembler *disassembler;
	struct perch_error err;
	uint8_t *targets;

	if (site->offset >= code->size)
		return set_unknown(site, "the function is too large", "");
	if (perch_disassembler_new(&disassembler, code, false, &err))
		return set_unknown(site, err.message, "");
	targets = perch__calloc(code->size / 8 + 1, 1);
	if (targets) {
		find_targets(targets, disassembler, code);
		scan_site(site, targets, disassembler, code);
	}
	perch_disassembler_free(disassembler);
	if (!targets)
		return set_unknown(site, "out of memory", "");
	free(targets);
	return evaluate_site(site);
}

static int check_in(struct site *site, struct perch_symbols *symbols)
{
	const struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = site->event->path };
	const uint64_t offset = site->event->attr.probe_offset;
	const struct perch_symbol *symbol = perch_symbols_find(symbols, &dso, offset);
	const char *reason;
	struct perch_code code;
	struct perch_error err;
	int rc;

	if (!symbol) {
		reason = perch_symbols_error(symbols, &dso);
		return set_unknown(site, reason ? reason : "no function is there", "");
	}
	site->start = symbol->start;
	site->offset = offset - symbol->start;
	site->function = perch_symbols_name(symbols, symbol);
	if (!site->offset)
		return 0;
	if (perch_symbols_read_code(symbols, &dso, symbol->start, symbol->end - symbol->start,
				    &code, &err))
		return set_unknown(site, err.message, "");
	rc = check_code(site, &code);
	perch_code_clear(&code);
	return rc;
}

static bool is_user_probe(const struct perch_event *event, struct perch_machine *machine)
{
	const struct perch_pmu *pmu =
		event->path ? perch_machine_pmu_of_type(machine, event->attr.type) : NULL;

	return pmu && !strcmp(pmu->name, "uprobe");
}

int perch_check_probe_start(const struct perch_event *event, struct perch_machine *machine,
			    struct perch_error *err)
{
	struct site site = { .event = event, .err = err };
	struct perch_symbols *symbols;
	int rc;

	if (!may_be_inside(event) || !is_user_probe(event, machine))
		return 0;
	rc = perch_symbols_new(&symbols, NULL, err);
	if (rc)
		return rc;
	rc = check_in(&site, symbols);
	perch_symbols_free(symbols);
	return rc;
}
