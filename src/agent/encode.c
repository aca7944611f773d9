/* SPDX-License-Identifier: MIT */
/* Slices of the window become a profile, by an encoder of the library. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <perch/encoder.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/kernel/off_cpu_event.h"
#include "base/no_memory.h"
#include "groups.h"
#include "names.h"
#include "page.h"
#include "push/push.h"
#include "state.h"

#define MOST_TYPE     64	  /* bytes of the name of a type of values */
#define FIRST_ADDRESS 0x10000000u /* of files: each has a range of its own */
#define PAGE_MASK     0xfffu

/* A DSO with samples. */
struct module {
	const struct perch_dso *dso;
	uint64_t last;	  /* offset */
	uint64_t start;	  /* address of offset 0 */
	uint64_t samples; /* with it at their end */
	uint32_t number;  /* of its mapping; 0: not added yet */
};

struct encoding {
	const struct agent *agent;
	struct perch_encoder *encoder;
	struct agent_row *row;
	size_t nr_rows;
	struct module *module;
	size_t nr_modules, module_capacity;
	struct perch__hash_table modules;
	/* numbers of the encoder by index in the window; 0: not added yet */
	uint32_t *location, *stack, *labels;
	struct agent_names *names;
	uint32_t event[AGENT_MOST_EVENTS]; /* by index of an event: its index in the encoder */
	char type[AGENT_MOST_EVENTS][MOST_TYPE]; /* by index in the encoder: the type of values */
	struct agent_groups groups;
	enum agent_kind kind;
	uint64_t from, to;
	bool functions;		       /* have names */
	struct agent_unnamed *unnamed; /* is set */
};

/* ---- mappings ---- */

static bool is_module(const void *modules, uint32_t index, const void *dso)
{
	return ((const struct module *)modules)[index].dso == dso;
}

static struct module *get_module(struct encoding *encoding, const struct perch_dso *dso)
{
	uint64_t hash = perch__hash_integer(encoding->modules.seed, (uintptr_t)dso);
	uint32_t index =
		perch__hash_find(&encoding->modules, hash, is_module, encoding->module, dso);
	struct module *module;

	if (index != PERCH__HASH_NONE)
		return &encoding->module[index];
	module = PERCH__ARRAY_APPEND(encoding->module, encoding->nr_modules,
				     encoding->module_capacity);
	if (!module || perch__hash_add(&encoding->modules, hash, encoding->nr_modules - 1))
		return NULL;
	module->dso = dso;
	return module;
}

/* Processes map files at different addresses, so each file gets a range of its own. */
static int set_ranges(struct encoding *encoding)
{
	const struct agent_window *window = encoding->agent->window;
	uint64_t next = FIRST_ADDRESS;

	for (size_t i = 0; i < encoding->nr_rows; i++) {
		uint32_t stack = encoding->row[i].stack;
		bool innermost = true;

		while (stack != AGENT_NONE) {
			const struct agent_address *address =
				agent_window_frame(window, stack, &stack);
			struct module *module;

			if (!address->dso)
				continue;
			module = get_module(encoding, address->dso);
			if (!module)
				return -ENOMEM;
			if (address->offset > module->last)
				module->last = address->offset;
			if (innermost)
				module->samples += encoding->row[i].samples;
			innermost = false;
		}
	}
	for (size_t i = 0; i < encoding->nr_modules; i++) {
		struct module *module = &encoding->module[i];

		if (!perch_dso_is(module->dso, PERCH_DSO_IS_FILE))
			continue;
		module->start = next;
		next += (module->last | PAGE_MASK) + 1;
	}
	return 0;
}

static int add_mapping(struct encoding *encoding, struct module *module, struct perch_error *err)
{
	const struct perch_dso *dso = module->dso;
	struct perch_encoder_mapping mapping = {
		.path = dso->path,
		.build_id = dso->build_id_size ? dso->build_id : NULL,
		.build_id_size = dso->build_id_size,
		.start = module->start ? module->start : dso->start,
		.limit = module->start + (module->last | PAGE_MASK) + 1,
		/* otherwise pprof searches files of its machine for names */
		.functions = true,
	};

	if (!mapping.limit) /* the end of the address space */
		mapping.limit = UINT64_MAX;
	return perch_encoder_add_mapping(encoding->encoder, &mapping, &module->number, err);
}

/* Adds the file with most samples as the first one: pprof takes it for the program. */
static int add_main(struct encoding *encoding, struct perch_error *err)
{
	struct module *main = NULL;

	for (size_t i = 0; i < encoding->nr_modules; i++) {
		struct module *module = &encoding->module[i];

		if (perch_dso_is(module->dso, PERCH_DSO_IS_FILE) && module->samples &&
		    (!main || module->samples > main->samples))
			main = module;
	}
	return main ? add_mapping(encoding, main, err) : 0;
}

/* ---- call chains ---- */

#define MOST_LINES 64 /* functions at a location */

static int add_location(struct encoding *encoding, uint32_t index,
			const struct agent_address *address, struct perch_error *err)
{
	struct perch_encoder_line line[MOST_LINES];
	struct perch_encoder_location location = { .lines = line,
						   .type = address->mode == 'k' ? "kernel"
										: "native" };
	size_t nr;
	const struct agent_function *function = agent_names_at(encoding->names, index, &nr);
	int rc = 0;

	for (size_t i = 0; i < nr && i < MOST_LINES; i++)
		line[location.nr_lines++] = (struct perch_encoder_line){
			.name = function[i].name,
			.system_name = function[i].system_name,
			.file = function[i].file,
			.line = function[i].line,
		};
	if (address->dso) {
		struct module *module = get_module(encoding, address->dso);

		if (!module)
			return PERCH__NO_MEMORY(err, "for a profile");
		if (!module->number)
			rc = add_mapping(encoding, module, err);
		location.mapping = module->number;
		location.address = module->start + address->offset;
	}
	if (rc >= 0)
		rc = perch_encoder_add_location(encoding->encoder, &location,
						&encoding->location[index], err);
	return rc;
}

static int add_frame(struct encoding *encoding, uint32_t stack, uint32_t *number,
		     struct perch_error *err)
{
	const struct agent_window *window = encoding->agent->window;
	uint32_t callers, index = agent_window_address(window, stack);
	const struct agent_address *address = agent_window_frame(window, stack, &callers);
	int rc = 0;

	if (!encoding->location[index])
		rc = add_location(encoding, index, address, err);
	if (rc >= 0)
		rc = perch_encoder_add_stack(encoding->encoder, *number, encoding->location[index],
					     &encoding->stack[stack], err);
	*number = encoding->stack[stack];
	return rc;
}

static int add_stack(struct encoding *encoding, uint32_t stack, uint32_t *number,
		     struct perch_error *err)
{
	uint32_t chain[PERCH_MAX_CALL_CHAIN];
	size_t nr = 0;
	int rc = 0;

	*number = 0;
	for (uint32_t at = stack; at != AGENT_NONE && nr < PERCH_MAX_CALL_CHAIN;) {
		if (encoding->stack[at]) {
			*number = encoding->stack[at];
			break;
		}
		chain[nr++] = at;
		agent_window_frame(encoding->agent->window, at, &at);
	}
	while (nr-- > 0 && rc >= 0)
		rc = add_frame(encoding, chain[nr], number, err);
	return rc;
}

/* ---- labels ---- */

#define MOST_LABELS 24

static int add_labels(struct encoding *encoding, uint32_t index, struct perch_error *err)
{
	struct agent_sample_labels from = agent_window_labels(encoding->agent->window, index);
	const struct agent_labels *labels = &encoding->groups.labels[encoding->groups.of[index]];
	struct perch_encoder_label label[MOST_LABELS];
	size_t nr = 0;

	/* labels of the series, which Pyroscope makes of those of a sample, too, come with it */
	for (size_t i = 0; i < labels->nr && encoding->kind != AGENT_PYROSCOPE; i++)
		label[nr++] = (struct perch_encoder_label){
			.key = agent_label_key(labels, i),
			.text = agent_label_value(labels, i),
			.resource = true,
		};
	if (from.cgroup && encoding->kind != AGENT_PYROSCOPE)
		label[nr++] = (struct perch_encoder_label){ .key = "process.linux.cgroup",
							    .text = from.cgroup };
	if (from.comm && (encoding->kind != AGENT_PYROSCOPE || from.tid))
		label[nr++] =
			(struct perch_encoder_label){ .key = "thread.name", .text = from.comm };
	if (from.pid)
		label[nr++] =
			(struct perch_encoder_label){ .key = "process.pid", .number = from.pid };
	if (from.tid)
		label[nr++] =
			(struct perch_encoder_label){ .key = "thread.id", .number = from.tid };
	return nr ? perch_encoder_add_labels(encoding->encoder, label, nr, &encoding->labels[index],
					     err)
		  : 0;
}

/* ---- samples ---- */

static int add_row(struct encoding *encoding, const struct agent_row *row, struct perch_error *err)
{
	struct perch_encoder_sample sample = {
		.event = encoding->event[row->event],
		.samples = row->samples,
		.value = row->period,
	};
	int rc = 0;

	if (sample.event == AGENT_NONE)
		return 0;
	if (!encoding->labels[row->labels])
		rc = add_labels(encoding, row->labels, err);
	sample.labels = encoding->labels[row->labels];
	if (rc >= 0)
		rc = add_stack(encoding, row->stack, &sample.stack, err);
	return rc < 0 ? rc : perch_encoder_add(encoding->encoder, &sample, err);
}

static bool has_type(const struct encoding *encoding, size_t nr, const char *type)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(encoding->type[i], type))
			return true;
	return false;
}

/* Types of values are in queries: Pyroscope refuses one as "page-faults". Names that differ only
 * in what is replaced or cut get numbers. Returns the type. */
static const char *set_type(struct encoding *encoding, size_t at, const char *name)
{
	char plain[MOST_TYPE], *type = encoding->type[at];

	snprintf(plain, sizeof(plain), "%s", name);
	agent_plain_name(plain);
	memcpy(type, plain, sizeof(plain));
	for (unsigned number = 2; has_type(encoding, at, type); number++)
		snprintf(type, MOST_TYPE, "%.*s_%u", MOST_TYPE - 12, plain, number);
	return type;
}

/* The events of a profile: those of the user, or that of off-CPU time. */
static size_t choose_events(struct encoding *encoding, struct perch_encoder_event *chosen)
{
	const bool wants_off_cpu = encoding->kind == AGENT_OFF_CPU ||
				   encoding->kind == AGENT_OTLP || encoding->kind == AGENT_ALL;
	const bool wants_cpu = encoding->kind != AGENT_OFF_CPU;
	const struct agent *agent = encoding->agent;
	const struct perch_file_event *events;
	size_t nr = agent_source_events(agent->source, &events), nr_chosen = 0;

	for (size_t i = 0; i < nr && i < AGENT_MOST_EVENTS; i++) {
		bool has_samples = perch_encoder_describe(&events[i], &chosen[nr_chosen]);

		encoding->event[i] = AGENT_NONE;
		if (!has_samples || !(perch__is_off_cpu(&events[i]) ? wants_off_cpu : wants_cpu))
			continue;
		chosen[nr_chosen].name = set_type(encoding, nr_chosen, chosen[nr_chosen].name);
		encoding->event[i] = (uint32_t)nr_chosen++;
	}
	return nr_chosen;
}

static int make_encoder(struct encoding *encoding, struct perch_error *err)
{
	const struct agent *agent = encoding->agent;
	struct perch_encoder_event events[AGENT_MOST_EVENTS];
	char host[HOST_NAME_MAX + 1] = "";
	const struct perch_encoder_label label = { .key = "host.name", .text = host };
	struct perch_encoder_options options = {
		.events = events,
		.profile_id = agent->profile_id[encoding->kind],
		.labels = &label,
	};
	struct timespec now;
	uint64_t begin, end;

	options.nr_events = choose_events(encoding, events);
	options.nr_labels = !gethostname(host, sizeof(host) - 1) && *host;
	agent_window_times(agent->window, encoding->from, encoding->to, &begin, &end);
	clock_gettime(CLOCK_REALTIME, &now);
	options.duration_ns = end - begin;
	options.time_ns =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - (agent_now() - begin);
	return perch_encoder_new(&encoding->encoder, &options, err);
}

static void clear_encoding(struct encoding *encoding)
{
	agent_names_free(encoding->names);
	perch_encoder_free(encoding->encoder);
	agent_groups_clear(&encoding->groups);
	perch__hash_clear(&encoding->modules);
	free(encoding->module);
	free(encoding->location);
	free(encoding->stack);
	free(encoding->labels);
	free(encoding->row);
}

/* Finds all that profiles of the rows have in common. */
static int prepare_rows(struct encoding *encoding, struct perch_error *err)
{
	const struct agent *agent = encoding->agent;
	const struct agent_window *window = agent->window;
	char mount[PATH_MAX];
	bool environment = agent->options->environment &&
			   perch_machine_cgroups(agent->options->source.machine, mount,
						 sizeof(mount), NULL) >= 0;

	encoding->modules.seed = perch__hash_seed(encoding);
	encoding->row = agent_window_sum(window, encoding->from, encoding->to, &encoding->nr_rows);
	encoding->location =
		calloc(agent_window_nr_addresses(window) + 1, sizeof(*encoding->location));
	encoding->stack = calloc(agent_window_nr_stacks(window) + 1, sizeof(*encoding->stack));
	encoding->labels = calloc(agent_window_nr_labels(window) + 1, sizeof(*encoding->labels));
	if (!encoding->location || !encoding->stack || !encoding->labels || set_ranges(encoding) ||
	    agent_groups_find(&encoding->groups, agent->options->rules, environment ? mount : NULL,
			      window, encoding->row, encoding->nr_rows))
		return PERCH__NO_MEMORY(err, "for a profile");
	return agent_names_new(&encoding->names, window, agent->source, encoding->row,
			       encoding->nr_rows, encoding->functions, err);
}

/* Writes the profile of all rows, or of those of a group (AGENT_NONE: all). */
static int write_rows(struct encoding *encoding, uint32_t group, FILE *out, struct perch_error *err)
{
	bool otlp = encoding->kind == AGENT_OTLP;
	int rc = make_encoder(encoding, err);

	if (rc >= 0 && group == AGENT_NONE)
		rc = add_main(encoding, err);
	for (size_t i = 0; i < encoding->nr_rows && rc >= 0; i++)
		if (group == AGENT_NONE || encoding->groups.of[encoding->row[i].labels] == group)
			rc = add_row(encoding, &encoding->row[i], err);
	/* push/push.c compresses requests */
	return rc < 0 ? rc
		      : perch_encoder_write(encoding->encoder,
					    otlp ? PERCH_ENCODER_OTLP : PERCH_ENCODER_PPROF,
					    otlp ? 0 : PERCH_ENCODER_GZIP, out, err);
}

/* The numbers of an encoder are not those of the next one. */
static void reset_numbers(struct encoding *encoding)
{
	const struct agent_window *window = encoding->agent->window;

	perch_encoder_free(encoding->encoder);
	encoding->encoder = NULL;
	memset(encoding->location, 0,
	       agent_window_nr_addresses(window) * sizeof(*encoding->location));
	memset(encoding->stack, 0, agent_window_nr_stacks(window) * sizeof(*encoding->stack));
	memset(encoding->labels, 0, agent_window_nr_labels(window) * sizeof(*encoding->labels));
	for (size_t i = 0; i < encoding->nr_modules; i++)
		encoding->module[i].number = 0;
}

/* Each group is a series of its own in a request of Pyroscope. */
static int write_groups(struct encoding *encoding, FILE *out, struct perch_error *err)
{
	struct agent_pprof *pprof = calloc(encoding->groups.nr, sizeof(*pprof));
	int rc = pprof ? 0 : PERCH__NO_MEMORY(err, "for a profile");

	for (size_t i = 0; i < encoding->groups.nr && rc >= 0; i++) {
		FILE *memory = open_memstream(&pprof[i].bytes, &pprof[i].size);

		rc = memory ? write_rows(encoding, (uint32_t)i, memory, err)
			    : PERCH__NO_MEMORY(err, "for a profile");
		if (memory && fclose(memory) && rc >= 0)
			rc = PERCH__NO_MEMORY(err, "for a profile");
		reset_numbers(encoding);
	}
	if (rc >= 0)
		rc = agent_groups_put(&encoding->groups, pprof,
				      encoding->agent->profile_id[AGENT_PYROSCOPE], out, err);
	for (size_t i = 0; pprof && i < encoding->groups.nr; i++)
		free(pprof[i].bytes);
	free(pprof);
	return rc;
}

/* Engines refuse a request without profiles, so it has no bytes then. */
static bool is_empty_request(const struct encoding *encoding)
{
	return !encoding->nr_rows &&
	       (encoding->kind == AGENT_OTLP || encoding->kind == AGENT_PYROSCOPE);
}

static int encode_slices(struct encoding *encoding, FILE *out, struct perch_error *err)
{
	int rc;

	if (encoding->kind == AGENT_PAGE)
		return agent_page(encoding->agent, encoding->from, encoding->to,
				  encoding->functions, out, encoding->unnamed, err);
	rc = prepare_rows(encoding, err);
	if (rc >= 0 && !is_empty_request(encoding))
		rc = encoding->kind == AGENT_PYROSCOPE ? write_groups(encoding, out, err)
						       : write_rows(encoding, AGENT_NONE, out, err);
	if (encoding->names)
		agent_names_unnamed(encoding->names, encoding->unnamed);
	clear_encoding(encoding);
	return rc;
}

int agent_encode(const struct agent *agent, enum agent_kind kind, uint64_t from, uint64_t to,
		 FILE *out, struct agent_unnamed *unnamed, struct perch_error *err)
{
	int rc = -ENOMEM;

	/* the samples of a profile that is not made are lost, so it may lack names */
	for (int functions = 1; functions >= 0 && rc == -ENOMEM; functions--) {
		struct encoding encoding = {
			.agent = agent,
			.kind = kind,
			.from = from,
			.to = to,
			.functions = functions,
			.unnamed = unnamed,
		};

		rewind(out);
		rc = ftruncate(fileno(out), 0) ? -errno : encode_slices(&encoding, out, err);
	}
	return rc;
}
