/* SPDX-License-Identifier: MIT */
/* Filters: makes them, and tests records by their thread, CPU, time and fields. */
#include "base/kernel/dummy_event.h"
#include "base/kernel/off_cpu_event.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "filter.h"
#include "session/internal.h"

/* ---- the tests: 1, 0 or -ENOMEM ---- */

static inline bool has_cpu(const struct perch_filter *filter, uint32_t cpu)
{
	return cpu < MAX_CPUS && filter->cpu_bits[cpu / 64] >> cpu % 64 & 1;
}

static int test_cpu(struct perch_filter *filter, const struct perch_record *record)
{
	uint32_t cpu = record->sample_id.cpu;

	if (cpu < MAX_CPUS && perch__filter_count(&filter->values[PERCH_FILTER_CPU], cpu, NULL))
		return -ENOMEM;
	return has_cpu(filter, cpu);
}

static int test_time(struct perch_filter *filter, const struct perch_record *record)
{
	uint64_t time = record->sample_id.time;

	if (time < filter->first_time)
		filter->first_time = time;
	if (time > filter->last_time)
		filter->last_time = time;
	for (size_t i = 0; i < filter->times.nr; i++)
		if (time >= filter->times.range[i].start && time <= filter->times.range[i].end)
			return 1;
	return 0;
}

static int test_id(struct filter_values *values, struct filter_ranges *ids, uint32_t id)
{
	if (perch__filter_count_id(values, id, NULL))
		return -ENOMEM;
	for (size_t i = 0; i < ids->nr; i++)
		if (ids->range[i].first == id)
			return ids->range[i].seen = true;
	return 0;
}

static int test_pid(struct perch_filter *filter, const struct perch_record *record)
{
	return test_id(&filter->values[PERCH_FILTER_PID], &filter->pids, record->sample.pid);
}

static int test_tid(struct perch_filter *filter, const struct perch_record *record)
{
	return test_id(&filter->values[PERCH_FILTER_TID], &filter->tids, record->sample.tid);
}

static int test_comm(struct perch_filter *filter, const struct perch_record *record)
{
	const struct perch_thread *thread = perch__filter_thread(filter, record);
	uint32_t index = thread ? perch_thread_comm_index(thread) : 0;
	uint8_t *result = thread ? result_of(&filter->by_comm, index) : NULL;

	if (!result || perch__filter_count(&filter->values[PERCH_FILTER_COMM], index,
					   perch_thread_comm(thread)))
		return -ENOMEM;
	if (*result == UNTESTED)
		*result = perch__filter_is_named(&filter->comms, perch_thread_comm(thread)) ? PASSES
											    : FAILS;
	return *result == PASSES;
}

/* True if the path is that of a cgroup in the list, or below it. */
static bool is_in_cgroups(struct perch_filter *filter, const char *path)
{
	bool is_in = false;

	path += strspn(path, "/");
	for (size_t i = 0; i < filter->cgroups.nr; i++) {
		const char *name = filter->cgroups.name[i].text;
		size_t length;

		name += strspn(name, "/");
		length = strlen(name);
		while (length && name[length - 1] == '/')
			length--;
		if (length &&
		    (strncmp(path, name, length) || (path[length] && path[length] != '/')))
			continue;
		is_in = filter->cgroups.name[i].seen = true;
	}
	return is_in;
}

static int test_cgroup(struct perch_filter *filter, const struct perch_record *record)
{
	uint64_t id = record->sample.cgroup;
	const char *path =
		perch_processes_cgroup_name(perch_session_processes(filter->session), id);

	if (perch__filter_count_id(&filter->values[PERCH_FILTER_CGROUP], id, path))
		return -ENOMEM;
	if (!path)
		return 0;
	if (filter->by_cgroup[id % RECENT_CGROUPS].path != path) {
		filter->by_cgroup[id % RECENT_CGROUPS].path = path;
		filter->by_cgroup[id % RECENT_CGROUPS].result = is_in_cgroups(filter, path) ? PASSES
											    : FAILS;
	}
	return filter->by_cgroup[id % RECENT_CGROUPS].result == PASSES;
}

static int test_expression(struct perch_filter *filter, const struct perch_record *record)
{
	const struct perch_thread *thread = NULL;

	if (perch__filter_expression_has_comm(filter->expression)) {
		thread = perch__filter_thread(filter, record);
		if (!thread)
			return -ENOMEM;
	}
	if (perch__filter_expression_match(filter->expression, record->event, record,
					   thread ? perch_thread_comm(thread) : NULL))
		return 1;
	/* for a message, if none matches */
	if (!filter->rejected_text[0] &&
	    perch__filter_expression_is_of(filter->expression, record->event))
		perch_session_tracepoint_text(filter->session, record, filter->rejected_text,
					      sizeof(filter->rejected_text), NULL);
	return 0;
}

static int test_parallelism(struct perch_filter *filter, const struct perch_record *record)
{
	uint32_t nr = perch_processes_parallelism(perch_session_processes(filter->session));

	(void)record;
	if (nr < MAX_CPUS &&
	    perch__filter_count(&filter->values[PERCH_FILTER_PARALLELISM], nr, NULL))
		return -ENOMEM;
	for (size_t i = 0; i < filter->parallelism.nr; i++)
		if (nr >= filter->parallelism.range[i].first &&
		    nr <= filter->parallelism.range[i].last)
			return 1;
	return 0;
}

/* ---- matching ---- */

/* perf(1) tests the CPU of records, and the other properties only of samples. */
static int match_other(struct perch_filter *filter, const struct perch_record *record)
{
	if (!filter->cpus.nr || !(record->sample_id.has & PERCH_SAMPLE_CPU) ||
	    has_cpu(filter, record->sample_id.cpu))
		return 1;
	filter->rejected_by = PERCH_FILTER_CPU;
	return 0;
}

int perch_filter_match(struct perch_filter *filter, const struct perch_record *record)
{
	filter->rejected_by = PERCH_FILTER_NONE;
	if (record->type != PERCH_RECORD_SAMPLE)
		return match_other(filter, record);
	filter->stats.samples++;
	for (size_t i = 0; i < filter->nr_tests; i++) {
		int rc = filter->tests[i].test(filter, record);

		if (rc > 0)
			continue;
		if (!rc) {
			filter->rejected_by = filter->tests[i].part;
			filter->stats.left_out[filter->rejected_by]++;
		}
		return rc;
	}
	filter->stats.matched++;
	return 1;
}

enum perch_filter_part perch_filter_rejected_by(const struct perch_filter *filter)
{
	return filter->rejected_by;
}

void perch_filter_get_stats(const struct perch_filter *filter, struct perch_filter_stats *stats)
{
	*stats = filter->stats;
	if (filter->time && filter->first_time <= filter->last_time) {
		stats->first_time = filter->first_time;
		stats->last_time = filter->last_time;
	}
}

struct filter_names *perch__filter_names_of(struct perch_filter *filter,
					    enum perch_filter_part part)
{
	switch (part) {
	case PERCH_FILTER_COMM:
		return &filter->comms;
	case PERCH_FILTER_CGROUP:
		return &filter->cgroups;
	case PERCH_FILTER_DSO:
		return &filter->dsos;
	case PERCH_FILTER_SYMBOL:
		return &filter->symbol_names;
	default:
		return NULL;
	}
}

struct filter_ranges *perch__filter_ranges_of(struct perch_filter *filter,
					      enum perch_filter_part part)
{
	switch (part) {
	case PERCH_FILTER_CPU:
		return &filter->cpus;
	case PERCH_FILTER_PID:
		return &filter->pids;
	case PERCH_FILTER_TID:
		return &filter->tids;
	case PERCH_FILTER_PARALLELISM:
		return &filter->parallelism;
	default:
		return NULL;
	}
}

/* ---- making ---- */

static void add_test(struct perch_filter *filter, enum perch_filter_part part, filter_test *test)
{
	filter->tests[filter->nr_tests].test = test;
	filter->tests[filter->nr_tests++].part = part;
}

/* Refuses to test what the samples of an event do not have. */
static int require(const struct perch_filter *filter, uint64_t bit, const char *what,
		   const char *remedy, struct perch_error *err)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(filter->session), &events);

	for (size_t i = 0; i < nr; i++) {
		if (perch__sample_type(&events[i]) & bit || perch__is_dummy(&events[i].attr))
			continue;
		perch_error_set(err, ENODATA, PERCH_ERROR_FORMAT,
				"the samples of %s have no %s, which cannot be a filter then",
				events[i].name, what);
		perch_error_remedy(err, "%s", remedy);
		return -ENODATA;
	}
	return 0;
}

static int add_cpus(struct perch_filter *filter, const char *list, struct perch_error *err)
{
	int rc = perch__filter_parse_ranges(&filter->cpus, list, "CPU", 0, err);

	if (!rc)
		rc = require(filter, PERCH_SAMPLE_CPU, "CPU", "Record with --sample-cpu, -a or -C",
			     err);
	for (size_t i = 0; i < filter->cpus.nr; i++)
		for (uint32_t cpu = filter->cpus.range[i].first; cpu <= filter->cpus.range[i].last;
		     cpu++)
			filter->cpu_bits[cpu / 64] |= 1ull << cpu % 64;
	add_test(filter, PERCH_FILTER_CPU, test_cpu);
	return rc;
}

static int add_time(struct perch_filter *filter, const struct perch_filter_options *options,
		    struct perch_error *err)
{
	int rc = require(filter, PERCH_SAMPLE_TIME, "time", "Record with -T", err);

	if (rc)
		return rc;
	filter->time = strdup(options->time);
	if (!filter->time)
		return PERCH__NO_MEMORY(err, "for a filter");
	add_test(filter, PERCH_FILTER_TIME, test_time);
	return perch__filter_parse_time(&filter->times, options, filter->session, err);
}

static int add_ids(struct perch_filter *filter, enum perch_filter_part part, filter_test *test,
		   const char *list, struct perch_error *err)
{
	const char *what = part == PERCH_FILTER_PID ? "process" : "thread";
	int rc = require(filter, PERCH_SAMPLE_TID, "thread", "Record without --no-tid", err);

	filter->values[part].by_number.seed = perch__hash_seed(filter);
	add_test(filter, part, test);
	return rc ? rc
		  : perch__filter_parse_ids(perch__filter_ranges_of(filter, part), list, what, err);
}

static int add_names(struct perch_filter *filter, enum perch_filter_part part, filter_test *test,
		     const char *list, const char *what, struct perch_error *err)
{
	struct filter_names *names = perch__filter_names_of(filter, part);

	add_test(filter, part, test);
	names->of_functions = part == PERCH_FILTER_SYMBOL;
	return perch__filter_parse_names(names, list, what, err);
}

static int add_cgroups(struct perch_filter *filter, const char *list, struct perch_error *err)
{
	int rc = require(filter, PERCH_SAMPLE_CGROUP, "cgroup", "Record with --all-cgroups", err);

	filter->values[PERCH_FILTER_CGROUP].by_number.seed = perch__hash_seed(filter);
	return rc ? rc
		  : add_names(filter, PERCH_FILTER_CGROUP, test_cgroup, list, "paths of cgroups",
			      err);
}

static int add_parent(struct perch_filter *filter, const char *expression, struct perch_error *err)
{
	char reason[128];
	int rc = require(filter, PERCH_SAMPLE_CALLCHAIN, "call chain", "Record with -g", err);

	if (rc)
		return rc;
	rc = regcomp(&filter->parent, expression, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &filter->parent, reason, sizeof(reason));
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "'%s' is no extended regular expression: %s", expression,
				       reason);
	}
	filter->has_parent = true;
	filter->parent_text = strdup(expression);
	if (!filter->parent_text)
		return PERCH__NO_MEMORY(err, "for a filter");
	add_test(filter, PERCH_FILTER_PARENT, perch__filter_test_parent);
	return 0;
}

static int no_formats(size_t nr_tracepoints, struct perch_error *err)
{
	if (nr_tracepoints) {
		perch_error_set(err, ENODATA, PERCH_ERROR_FORMAT,
				"the recording does not have the formats of its tracepoints, so "
				"that their fields cannot be a filter");
		return -ENODATA;
	}
	perch_error_set(err, ENODATA, PERCH_ERROR_FORMAT,
			"the recording has no tracepoint, whose fields can be a filter");
	perch_error_remedy(err, "Record one: -e sched:sched_switch");
	return -ENODATA;
}

static int add_expression(struct perch_filter *filter, const char *text, struct perch_error *err)
{
	const struct perch_tracepoint_format **formats;
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(filter->session), &events);
	size_t nr_tracepoints = 0, nr_formats = 0;
	int rc;

	formats = calloc(nr + 1, sizeof(*formats));
	filter->expression_text = strdup(text);
	if (!formats || !filter->expression_text) {
		free(formats);
		return PERCH__NO_MEMORY(err, "for a filter");
	}
	for (size_t i = 0; i < nr; i++) {
		if (events[i].attr.type != PERCH_TYPE_TRACEPOINT)
			continue;
		nr_tracepoints++;
		nr_formats += !perch_session_format(filter->session, &events[i], &formats[i], NULL);
	}
	rc = nr_formats ? perch__filter_expression_new(&filter->expression, text, formats, nr, err)
			: no_formats(nr_tracepoints, err);
	free(formats);
	add_test(filter, PERCH_FILTER_EXPRESSION, test_expression);
	return rc;
}

static int add_parallelism(struct perch_filter *filter, const char *list, struct perch_error *err)
{
	add_test(filter, PERCH_FILTER_PARALLELISM, test_parallelism);
	if (perch_processes_parallelism(perch_session_processes(filter->session)))
		return perch__filter_parse_ranges(&filter->parallelism, list, "number of threads",
						  1, err);
	perch_error_set(err, ENODATA, PERCH_ERROR_FORMAT,
			"the recording has no context switches of threads and their children, so "
			"that the number of threads that run cannot be a filter");
	perch_error_remedy(err, "Record with --latency");
	return -ENODATA;
}

static int add_tests(struct perch_filter *filter, const struct perch_filter_options *options,
		     struct perch_error *err)
{
	int rc = 0;

	if (options->cpus)
		rc = add_cpus(filter, options->cpus, err);
	if (!rc && options->time)
		rc = add_time(filter, options, err);
	if (!rc && options->pids)
		rc = add_ids(filter, PERCH_FILTER_PID, test_pid, options->pids, err);
	if (!rc && options->tids)
		rc = add_ids(filter, PERCH_FILTER_TID, test_tid, options->tids, err);
	if (!rc && options->comms)
		rc = add_names(filter, PERCH_FILTER_COMM, test_comm, options->comms,
			       "names of threads", err);
	if (!rc && options->cgroups)
		rc = add_cgroups(filter, options->cgroups, err);
	if (!rc && options->dsos)
		rc = add_names(filter, PERCH_FILTER_DSO, perch__filter_test_dso, options->dsos,
			       "names of DSOs", err);
	if (!rc && options->symbols)
		rc = add_names(filter, PERCH_FILTER_SYMBOL, perch__filter_test_symbol,
			       options->symbols, "names of functions", err);
	if (!rc && options->parent)
		rc = add_parent(filter, options->parent, err);
	if (!rc && options->expression)
		rc = add_expression(filter, options->expression, err);
	if (!rc && options->parallelism)
		rc = add_parallelism(filter, options->parallelism, err);
	return rc;
}

int perch_filter_new(struct perch_filter **result, struct perch_session *session,
		     const struct perch_filter_options *options, struct perch_error *err)
{
	static const struct perch_filter_options none = { 0 };
	struct perch_filter *filter;
	int rc;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_filter_options", err))
		return -EINVAL;
	filter = calloc(1, sizeof(*filter));
	if (!filter)
		return PERCH__NO_MEMORY(err, "for a filter");
	filter->session = session;
	filter->no_inline = options && options->no_inline;
	filter->symbols_size = options ? options->symbols_size : 0;
	filter->symbols = perch_session_symbols(session);
	filter->first_time = UINT64_MAX;
	rc = add_tests(filter, options ? options : &none, err);
	if (rc)
		perch_filter_free(filter);
	else
		*result = filter;
	return rc;
}

void perch_filter_free(struct perch_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < PERCH_FILTER_PARTS; i++) {
		free(filter->values[i].value);
		perch__hash_clear(&filter->values[i].by_number);
	}
	perch__filter_clear_names(&filter->comms);
	perch__filter_clear_names(&filter->cgroups);
	perch__filter_clear_names(&filter->dsos);
	perch__filter_clear_names(&filter->symbol_names);
	free(filter->cpus.range);
	free(filter->pids.range);
	free(filter->tids.range);
	free(filter->parallelism.range);
	free(filter->times.range);
	free(filter->by_comm.of);
	free(filter->by_dso.of);
	free(filter->by_address.of);
	free(filter->by_symbol.of);
	free(filter->by_caller.of);
	if (filter->has_parent)
		regfree(&filter->parent);
	free(filter->parent_text);
	perch__filter_expression_free(filter->expression);
	free(filter->expression_text);
	free(filter->time);
	free(filter);
}
