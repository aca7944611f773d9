/* SPDX-License-Identifier: MIT */
/* A profile: adds samples up by stack of addresses, then folds the stacks into a tree of frames. */
#include "base/reserved.h"
#include "base/kernel/user_mode.h"
#include "base/no_memory.h"
#include "internal.h"

int perch_profile_new(struct perch_profile **result, struct perch_processes *processes,
		      struct perch_symbols *symbols, const struct perch_profile_options *options,
		      struct perch_error *err)
{
	struct perch_profile *profile;
	int rc;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_profile_options", err))
		return -EINVAL;
	profile = calloc(1, sizeof(*profile));
	if (!profile)
		return PERCH__NO_MEMORY(err, "for the profile");
	profile->processes = processes;
	profile->symbols = symbols;
	profile->reader = options ? options->reader : NULL;
	profile->unit = 1;
	profile->inlined = options && options->inlined;
	profile->names_seed = perch__hash_seed(profile);
	profile->time_quantum = options && options->time_quantum ? options->time_quantum
								 : 100000000;
	profile->max_stack = options && options->max_stack ? options->max_stack : MAX_DEPTH;
	profile->branches = options && options->branches;
	profile->resolved_branches = options && options->resolved_branches;
	profile->exact_chains = options && options->exact_chains;
	profile->graph_key = options ? options->graph_key : PERCH_CALL_GRAPH_FUNCTION;
	profile->graph_samples = options && options->graph_samples;
	profile->full_paths = options && options->full_paths;
	profile->nanoseconds = profile->time_quantum % 1000 || (options && options->nanoseconds);
	rc = perch__columns_set(profile, options, err);
	profile->with_source = profile->graph_key != PERCH_CALL_GRAPH_FUNCTION ||
			       perch__columns_has(profile, &perch__column_srcline) ||
			       perch__columns_has(profile, &perch__column_srcfile) ||
			       perch__columns_has(profile, &perch__column_srcline_from) ||
			       perch__columns_has(profile, &perch__column_srcline_to);
	profile->with_lines = profile->with_source ||
			      perch__columns_has(profile, &perch__column_symoff);
	profile->with_functions = !options || !(options->flat || options->branches) ||
				  perch__columns_need_functions(profile);
	if (!rc && profile->reader && perch__columns_has(profile, &perch__column_socket) &&
	    perch__sockets_read(profile, profile->reader))
		rc = PERCH__NO_MEMORY(err, "for the profile");
	if (!rc)
		rc = perch__parent_set(profile, options,
				       perch__columns_has(profile, &perch__column_parent), err);
	/* numbers of addresses are needed at once, or while samples are counted */
	profile->threads = options && options->threads && !profile->branches &&
			   !profile->parent.is_set && !profile->ignored.is_set;
	profile->starts_debug_info = options && options->threads && profile->with_functions;
	if (!rc)
		rc = perch_addresses_new(&profile->addresses, processes, symbols, err);
	if (!rc) {
		profile->batch = calloc(1, sizeof(*profile->batch));
		rc = profile->batch ? 0 : PERCH__NO_MEMORY(err, "for the profile");
	}
	if (!rc && options && (options->flat || options->branches)) {
		profile->flat = calloc(1, sizeof(*profile->flat));
		rc = profile->flat ? 0 : PERCH__NO_MEMORY(err, "for the profile");
	}
	if (rc)
		perch_profile_free(profile);
	else
		*result = profile;
	return rc;
}

/* Leaves allocated what a thread may have been changing: its pointers may be those of memory that
 * is free. */
static void abandon_counts(struct perch_profile *profile)
{
	profile->addresses = NULL;
	profile->flat = NULL;
	profile->stacks = (struct stacks){ 0 };
}

#define CLEAR_PART(member, clear, detach) clear(&profile->member);
#define FREE_ARRAY(member, nr)		  free(profile->member);

void perch_profile_free(struct perch_profile *profile)
{
	if (!profile)
		return;
	if (perch__batch_thread_is_forked(profile->count_thread))
		abandon_counts(profile);
	perch__batch_thread_free(profile->count_thread);
	if (!profile->shares_addresses)
		perch_addresses_free(profile->addresses);
	PERCH__PROFILE_MEMBERS(CLEAR_PART, FREE_ARRAY)
	perch__tree_clear(&profile->tree);
	perch__latency_clear(profile);
	free(profile->batch);
	free(profile);
}

#define DETACH_PART(member, clear, detach) failed |= detach(&copy->member);
#define DETACH_ARRAY(member, nr)	   failed |= PERCH__DETACH(copy->member, copy->nr);

/* Gives a profile that is a copy of another one members of its own. All of them are detached, also
 * after a failure, so that the copy can be freed. Returns 0 or -ENOMEM. */
static int detach(struct perch_profile *copy)
{
	int failed = 0;

	copy->shares_addresses = true;
	copy->batch = NULL;
	copy->count_thread = NULL;
	PERCH__PROFILE_MEMBERS(DETACH_PART, DETACH_ARRAY)
	copy->events_capacity = copy->nr_events;
	return failed ? -ENOMEM : 0;
}

int perch_profile_snapshot(struct perch_profile *profile, struct perch_profile **snapshot,
			   struct perch_error *err)
{
	struct perch_profile *copy;
	int rc;

	*snapshot = NULL;
	if (!profile->addresses || !profile->batch)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a profile that is finished has no snapshot");
	copy = perch__samples_count(profile) ? NULL : malloc(sizeof(*copy));
	if (!copy)
		return PERCH__NO_MEMORY(err, "for the profile");
	*copy = *profile;
	rc = detach(copy) ? PERCH__NO_MEMORY(err, "for the profile")
			  : perch_profile_finish(copy, err);
	if (rc)
		perch_profile_free(copy);
	else
		*snapshot = copy;
	return rc;
}

/* Returns 0, or a negative errno: -ENOMEM, or one of a column. */
static int add_sample(struct perch_profile *profile, const struct sample *sample)
{
	struct perch_profile_total *total = &profile->event[sample->record->event].total;
	struct context_id context;
	int rc = perch__context_of(sample, &context);

	if (rc)
		return rc;
	if (perch__samples_add(profile, sample, context))
		return -ENOMEM;
	total->samples += profile->unit;
	total->period += sample->record->sample.period;
	return 0;
}

static int reserve_event(struct perch_profile *profile, unsigned event)
{
	while (profile->nr_events <= event)
		if (!PERCH__ARRAY_APPEND(profile->event, profile->nr_events,
					 profile->events_capacity))
			return -ENOMEM;
	return 0;
}

int perch_profile_set_calls(struct perch_profile *profile, unsigned event, struct perch_error *err)
{
	if (reserve_event(profile, event))
		return PERCH__NO_MEMORY(err, "for the profile");
	profile->event[event].has_calls = true;
	return 0;
}

/* Reads the call chain of a sample. Returns 0 or -ENOMEM. */
static int read_chain(struct perch_profile *profile, struct sample *sample, struct chain *chain,
		      bool truncated)
{
	perch__chain_read(chain, sample->record);
	if (truncated)
		perch__chain_add_truncated(chain);
	if (chain->nr > profile->max_stack)
		chain->nr = profile->max_stack;
	sample->chain = chain;
	return profile->ignored.is_set
		       ? perch__ignore_callees(
				 profile->addresses, &profile->ignored, sample->thread, chain,
				 profile->exact_chains ||
					 profile->event[sample->record->event].has_calls)
		       : 0;
}

static int add_record(struct perch_profile *profile, const struct perch_record *record,
		      bool truncated, struct perch_error *err)
{
	struct sample sample = { .profile = profile, .record = record };
	struct chain chain;
	int rc;

	if (record->type != PERCH_RECORD_SAMPLE)
		return 0;
	sample.thread =
		perch_processes_thread(profile->processes, record->sample.pid, record->sample.tid);
	if (!sample.thread || reserve_event(profile, record->event))
		return PERCH__NO_MEMORY(err, "for the profile");
	if ((!profile->flat || profile->parent.is_set || profile->ignored.is_set) &&
	    read_chain(profile, &sample, &chain, truncated))
		return PERCH__NO_MEMORY(err, "for the profile");
	rc = profile->branches ? perch__branches_add(profile, &sample)
			       : add_sample(profile, &sample);
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "for the profile");
	if (rc < 0)
		return perch_error_set(err, -rc, PERCH_ERROR_USAGE,
				       "a column of the program refused a sample");
	profile->event[record->event].has_chains |= record->sample.callchain.nr > 0;
	return 0;
}

int perch_profile_add(struct perch_profile *profile, const struct perch_record *record,
		      struct perch_error *err)
{
	return add_record(profile, record, false, err);
}

int perch_profile_add_truncated(struct perch_profile *profile, const struct perch_record *record,
				struct perch_error *err)
{
	return add_record(profile, record, true, err);
}

int perch_profile_skip(struct perch_profile *profile, const struct perch_record *record,
		       struct perch_error *err)
{
	uint64_t nr, period;

	if (record->type != PERCH_RECORD_SAMPLE)
		return 0;
	if (reserve_event(profile, record->event))
		return PERCH__NO_MEMORY(err, "for the profile");
	nr = profile->branches ? perch__branches_of(record) : 1;
	profile->event[record->event].skipped_samples += nr * profile->unit;
	period = profile->branches ? nr : record->sample.period;
	profile->event[record->event].skipped_period += period;
	if (profile->latency.word)
		perch__latency_skip(profile, record->event, period);
	return 0;
}

/*
 * Returns by node whether its address is a return address: code of the same kind was called from
 * there, and no sample was taken there. Returns NULL if out of memory.
 */
static bool *find_callers(const struct perch_profile *profile, const struct brief *brief)
{
	size_t nr = profile->stacks.nr;
	bool *callers = calloc(nr ? nr : 1, sizeof(*callers));

	for (size_t i = 0; callers && !profile->exact_chains && i < nr; i++) {
		const struct stack *stack = &profile->stacks.stack[i], *parent;
		char mode = brief[stack->address.nr].cpumode_char;
		unsigned event = perch__context_event(profile, stack->context);

		if (stack->parent == NO_NUMBER ||
		    (profile->event[event].has_calls && perch__is_user_mode(mode)))
			continue;
		parent = &profile->stacks.stack[stack->parent];
		if (!parent->samples && mode == brief[parent->address.nr].cpumode_char)
			callers[stack->parent] = true;
	}
	return callers;
}

/* The tree of addresses while it becomes the tree of frames. */
struct stack_folding {
	struct perch_profile *profile;
	struct frame_lists *lists;
	size_t nr;	      /* stacks */
	bool *callers;	      /* by stack: see find_callers(). NULL: no functions are shown */
	struct node_id *node; /* by stack: that of its innermost function */
	bool *lone;	      /* by stack: its node is of no other stack */
	bool may_merge;	      /* stacks may be equal */
};

/* Adds the nodes of the functions that are inlined at an address, below the node of the function
 * around them. Returns the innermost one, or NO_NODE if out of memory. */
static struct node_id fold_inlined(struct stack_folding *folding, const struct stack *stack,
				   bool is_caller, struct node_id at)
{
	struct frame_lists *lists = folding->lists;
	const struct inlined *inlined =
		perch__frames_inlined(folding->profile, lists, stack->address, is_caller);
	struct context_id context = perch__latency_context(folding->profile, stack->context);

	if (!inlined)
		return NO_NODE;
	for (uint32_t i = inlined->nr; i-- > 0 && at.nr != NO_NUMBER;)
		at = perch__tree_child(&folding->profile->tree, context, at,
				       lists->inlined_frame[inlined->first + i]);
	return at;
}

#define AHEAD 16

/* Loads the memory that later stacks need into the CPU's cache. */
static void prefetch_fold(const struct stack_folding *folding, size_t i)
{
	const struct perch_profile *profile = folding->profile;
	const struct frame_lists *lists = folding->lists;
	const struct stack *stack = profile->stacks.stack + i;
	const struct node_id *node = folding->node;
	size_t nr = folding->nr;

	if (i + 2 * AHEAD < nr) {
		__builtin_prefetch(&lists->frame[stack[2 * AHEAD].address.nr]);
		__builtin_prefetch(&lists->brief[stack[2 * AHEAD].address.nr]);
	}
	if (folding->callers && i + AHEAD < nr &&
	    lists->brief[stack[AHEAD].address.nr].has_debug_info)
		__builtin_prefetch(
			&lists->inlined[folding->callers[i + AHEAD]][stack[AHEAD].address.nr], 1);
	if (i + AHEAD < nr && stack[AHEAD].parent < i)
		__builtin_prefetch(&profile->tree.node[node[stack[AHEAD].parent].nr], 1);
	if (i + AHEAD / 2 < nr && !lists->brief[stack[AHEAD / 2].address.nr].is_alone &&
	    (stack[AHEAD / 2].parent == NO_NUMBER || stack[AHEAD / 2].parent < i))
		perch__tree_prefetch_child(
			&profile->tree, perch__latency_context(profile, stack[AHEAD / 2].context),
			stack[AHEAD / 2].parent == NO_NUMBER ? NO_NODE
							     : node[stack[AHEAD / 2].parent],
			lists->frame[stack[AHEAD / 2].address.nr]);
}

/* The stacks before a number are not needed any more: their memory is released in parts, while the
 * tree grows. */
static void release_stacks(struct stack *stacks, size_t before)
{
	enum { PART = 1 << 16 };

	if (before && before % PART == 0)
		perch__release_pages(&stacks[before - PART], PART * sizeof(*stacks));
}

/* Folds a stack, whose parent is folded. Returns 0 or -ENOMEM. */
static int fold_stack(struct stack_folding *folding, size_t i)
{
	struct perch_profile *profile = folding->profile;
	const struct stack *stack = &profile->stacks.stack[i];
	const struct brief *brief = &folding->lists->brief[stack->address.nr];
	bool is_root = stack->parent == NO_NUMBER,
	     is_caller = folding->callers && folding->callers[i];
	struct node_id parent = is_root ? NO_NODE : folding->node[stack->parent], node;
	struct frame_id frame;
	struct context_id context = perch__latency_context(profile, stack->context);
	unsigned event = perch__context_event(profile, stack->context);

	frame = is_caller && (profile->with_lines || brief->caller != CALLER_SAME)
			? perch__frames_of_caller(profile, folding->lists, stack->address)
			: folding->lists->frame[stack->address.nr];
	if (frame.nr == NO_NUMBER)
		return -ENOMEM;
	folding->lone[i] = brief->is_alone &&
			   frame.nr == folding->lists->frame[stack->address.nr].nr &&
			   !folding->may_merge && (is_root || folding->lone[stack->parent]);
	node = folding->lone[i] ? perch__tree_add(&profile->tree, context, parent, frame)
				: perch__tree_child(&profile->tree, context, parent, frame);
	if (folding->callers && brief->has_debug_info && profile->event[event].has_chains &&
	    node.nr != NO_NUMBER) {
		struct node_id innermost = fold_inlined(folding, stack, is_caller, node);

		folding->lone[i] &= innermost.nr == node.nr;
		node = innermost;
	}
	folding->node[i] = node;
	if (node.nr == NO_NUMBER)
		return -ENOMEM;
	profile->tree.node[node.nr].self += stack->self;
	profile->tree.node[node.nr].samples += stack->samples;
	return profile->latency.word && stack->samples
		       ? perch__latency_add(profile, node, stack->context, stack->self)
		       : 0;
}

/* Folds the tree of addresses into the tree of frames. */
static int fold(struct perch_profile *profile, struct frame_lists *lists)
{
	size_t nr = profile->stacks.nr;
	struct stack_folding folding = {
		.profile = profile,
		.lists = lists,
		.nr = nr,
		.node = calloc(nr + 1, sizeof(*folding.node)),
		.lone = calloc(nr + 1, sizeof(*folding.lone)),
		.may_merge = perch__contexts_have_addresses(profile) || profile->latency.hidden,
	};
	int rc = folding.node && folding.lone ? perch__frames_describe(profile, lists) : -ENOMEM;

	if (!rc && (profile->with_functions || profile->inlined)) {
		folding.callers = find_callers(profile, lists->brief);
		rc = folding.callers ? 0 : -ENOMEM;
	}
	perch__tree_reserve(&profile->tree, nr);
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = perch__profile_progress(profile, WORK_FOLD, i, nr);
		if (rc)
			break;
		release_stacks(profile->stacks.stack, i);
		prefetch_fold(&folding, i);
		rc = fold_stack(&folding, i);
	}
	free(folding.node);
	free(folding.lone);
	free(folding.callers);
	if (!rc)
		perch__tree_link(&profile->tree);
	return rc;
}

int perch_profile_finish(struct perch_profile *profile, struct perch_error *err)
{
	struct frame_lists lists = { 0 };
	int rc;

	rc = perch__samples_count(profile);
	perch__batch_thread_free(profile->count_thread);
	profile->count_thread = NULL;
	/* what follows uses numbers only */
	perch__hash_clear(&profile->stacks.table);
	if (!profile->shares_addresses)
		perch__key_set_end(&profile->addresses->keys);
	if (!rc)
		rc = perch__frames_of_addresses(profile, &lists);
	if (!rc)
		rc = perch__contexts_fold(profile, &lists);
	if (!rc)
		rc = perch__latency_start(profile);
	if (!rc)
		rc = profile->flat ? perch__flat_fold(profile, &lists) : fold(profile, &lists);
	if (!rc)
		rc = perch__latency_finish(profile);
	perch__frames_clear(&lists);
	free(profile->batch);
	profile->batch = NULL;
	/* the addresses are not needed any more */
	perch__stacks_clear(&profile->stacks);
	perch__flat_free(&profile->flat);
	if (!profile->shares_addresses)
		perch_addresses_free(profile->addresses);
	profile->addresses = NULL;
	/* neither are the keys of what is complete now */
	perch__key_set_end(&profile->frames);
	perch__key_set_end(&profile->functions);
	perch__hash_clear(&profile->tree.children);
	if (!rc)
		rc = perch__rows_fill(profile);
	if (!rc)
		rc = perch__latency_of_rows(profile);
	if (rc == -ECANCELED)
		return perch_error_set(err, ECANCELED, PERCH_ERROR_USAGE,
				       "the program ended the call");
	return rc ? PERCH__NO_MEMORY(err, "for the profile") : 0;
}
