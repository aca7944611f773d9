/* SPDX-License-Identifier: MIT */
/* A profile: adds samples up by stack of addresses, then folds the stacks into a tree of frames. */
#include "base/reserved.h"
#include "base/kernel/user_mode.h"
#include "base/no_memory.h"
#include "internal.h"

/* Samples without call chains are counted faster than they are read: one thread is enough. */
static size_t nr_threads(const struct perch_profile_options *options)
{
	const uint64_t most = 64;

	if (options->flat || !options->max_threads)
		return 1;
	return options->max_threads < most ? options->max_threads : most;
}

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
	if (options && options->threads && !profile->branches && !profile->parent.is_set &&
	    !profile->ignored.is_set)
		profile->nr_threads = nr_threads(options);
	profile->reads_ahead = profile->reader && options->read_ahead;
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
	profile->stacks = (struct tree){ 0 };
}

#define CLEAR_PART(member, clear, detach) clear(&profile->member);
#define FREE_ARRAY(member, nr)		  free(profile->member);

void perch_profile_free(struct perch_profile *profile)
{
	if (!profile)
		return;
	if (perch__counters_are_forked(profile->counters))
		abandon_counts(profile);
	perch__counters_free(profile->counters);
	if (!profile->shares_addresses)
		perch_addresses_free(profile->addresses);
	PERCH__PROFILE_MEMBERS(CLEAR_PART, FREE_ARRAY)
	perch__tree_clear(&profile->tree);
	perch__forest_clear(&profile->forest);
	perch__row_nodes_clear(&profile->row_nodes);
	free(profile->graph_item);
	perch__latency_clear(profile);
	perch__batch_free(profile->batch);
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
	copy->counters = NULL;
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

/* The tree of addresses while it becomes the tree of frames. */
struct stack_folding {
	struct perch_profile *profile;
	struct frame_lists *lists;
	struct node_id *node; /* by stack: that of its innermost function */
	struct stack_flags {
		bool calls : 1;	 /* callers in user space have the addresses of their calls */
		bool chains : 1; /* samples of the event have call chains */
		/* its address is a return address: code of the same kind was called from there, and
		 * no sample was taken there. False if no functions are shown. */
		bool caller : 1;
		bool lone : 1; /* its node is of no other stack */
	} * flags;	       /* by stack */
	bool shows_functions;
	bool may_merge; /* stacks may be equal */
};

/* Finds out what events and callers the stacks have. */
static void set_flags(const struct stack_folding *folding)
{
	const struct perch_profile *profile = folding->profile;
	const struct tree *stacks = &profile->stacks;
	const struct brief *brief = folding->lists->brief;

	for (size_t i = 0; i < stacks->nr; i++) {
		const struct node *stack = &stacks->node[i], *parent;
		struct stack_flags *flags = &folding->flags[i];
		char mode = brief[stack->key].cpumode_char;

		if (perch__is_root(stack->above)) {
			struct context_id context = perch__root_context(stack->above);
			unsigned event = perch__context_event(profile, context);

			flags->calls = profile->event[event].has_calls;
			flags->chains = profile->event[event].has_chains;
			continue;
		}
		flags->calls = folding->flags[stack->above.nr].calls;
		flags->chains = folding->flags[stack->above.nr].chains;
		if (profile->exact_chains || (flags->calls && perch__is_user_mode(mode)))
			continue;
		parent = &stacks->node[stack->above.nr];
		if (!perch__tree_samples(stacks, parent) && mode == brief[parent->key].cpumode_char)
			folding->flags[stack->above.nr].caller = folding->shows_functions;
	}
}

/* Adds the nodes of the functions that are inlined at an address, below the node of the function
 * around them. Returns the innermost one, or NO_NODE if out of memory. */
static struct node_id fold_inlined(struct stack_folding *folding, const struct node *stack,
				   bool is_caller, struct node_id at)
{
	struct frame_lists *lists = folding->lists;
	const struct inlined *inlined = perch__frames_inlined(
		folding->profile, lists, (struct address_id){ stack->key }, is_caller);

	if (!inlined)
		return NO_NODE;
	for (uint32_t i = inlined->nr; i-- > 0 && at.nr != NO_NUMBER;)
		at = perch__tree_child(&folding->profile->tree, perch__below_node(at),
				       lists->inlined_frame[inlined->first + i].nr);
	return at;
}

/* What is above the node of a stack whose parent is folded. */
static inline struct above fold_above(const struct stack_folding *folding, const struct node *stack)
{
	return perch__is_root(stack->above)
		       ? perch__root_of(perch__latency_context(folding->profile,
							       perch__root_context(stack->above)))
		       : perch__below_node(folding->node[stack->above.nr]);
}

#define AHEAD 16

/* Loads the memory that later stacks need into the CPU's cache. */
static void prefetch_fold(const struct stack_folding *folding, size_t i)
{
	const struct perch_profile *profile = folding->profile;
	const struct frame_lists *lists = folding->lists;
	const struct node *stack = profile->stacks.node + i, *next = stack + AHEAD / 2;
	size_t nr = profile->stacks.nr;

	if (i + 2 * AHEAD < nr) {
		__builtin_prefetch(&lists->frame[stack[2 * AHEAD].key]);
		__builtin_prefetch(&lists->brief[stack[2 * AHEAD].key]);
	}
	if (i + AHEAD >= nr)
		return;
	if (folding->shows_functions && lists->brief[stack[AHEAD].key].has_debug_info)
		__builtin_prefetch(
			&lists->inlined[folding->flags[i + AHEAD].caller][stack[AHEAD].key], 1);
	if (stack[AHEAD].above.nr < i)
		__builtin_prefetch(&profile->tree.node[folding->node[stack[AHEAD].above.nr].nr], 1);
	if (!lists->brief[next->key].is_alone &&
	    (perch__is_root(next->above) || next->above.nr < i))
		perch__tree_prefetch(&profile->tree, fold_above(folding, next),
				     lists->frame[next->key].nr);
}

/* The stacks before a number are not needed any more: their memory is released in parts, while the
 * tree grows. */
static void release_stacks(struct node *stacks, size_t before)
{
	enum { PART = 1 << 16 };

	if (before && before % PART == 0)
		perch__release_pages(&stacks[before - PART], PART * sizeof(*stacks));
}

/* The frame of a stack's address. NO_FRAME if out of memory. */
static struct frame_id frame_of(struct stack_folding *folding, size_t i)
{
	struct perch_profile *profile = folding->profile;
	struct address_id address = { profile->stacks.node[i].key };

	return folding->flags[i].caller && (profile->with_lines ||
					    folding->lists->brief[address.nr].caller != CALLER_SAME)
		       ? perch__frames_of_caller(profile, folding->lists, address)
		       : folding->lists->frame[address.nr];
}

/* Adds the samples of a stack to its node. Returns 0 or -ENOMEM. */
static int fold_samples(struct perch_profile *profile, const struct node *stack,
			struct node_id node)
{
	const struct tree *stacks = &profile->stacks;
	const struct node_count *count = &stacks->count[stack->count];
	struct above above = stack->above;

	/* for latencies; the stacks above it are not released then */
	while (profile->latency.word && !perch__is_root(above))
		above = stacks->node[above.nr].above;
	return perch__count_samples(profile, node, perch__root_context(above), count->period,
				    count->samples);
}

/* Folds a stack, whose parent is folded. Returns 0 or -ENOMEM. */
static int fold_stack(struct stack_folding *folding, size_t i)
{
	struct perch_profile *profile = folding->profile;
	const struct node *stack = &profile->stacks.node[i];
	const struct brief *brief = &folding->lists->brief[stack->key];
	struct stack_flags *flags = &folding->flags[i];
	struct above above = fold_above(folding, stack);
	struct frame_id frame = frame_of(folding, i);
	struct node_id node;

	if (frame.nr == NO_NUMBER)
		return -ENOMEM;
	flags->lone = brief->is_alone && frame.nr == folding->lists->frame[stack->key].nr &&
		      !folding->may_merge &&
		      (perch__is_root(stack->above) || folding->flags[stack->above.nr].lone);
	node = flags->lone ? perch__tree_add(&profile->tree, above, frame.nr)
			   : perch__tree_child(&profile->tree, above, frame.nr);
	if (folding->shows_functions && brief->has_debug_info && flags->chains &&
	    node.nr != NO_NUMBER) {
		struct node_id innermost = fold_inlined(folding, stack, flags->caller, node);

		flags->lone &= innermost.nr == node.nr;
		node = innermost;
	}
	folding->node[i] = node;
	if (node.nr == NO_NUMBER)
		return -ENOMEM;
	return perch__tree_samples(&profile->stacks, stack) ? fold_samples(profile, stack, node)
							    : 0;
}

/* Folds the tree of addresses into the tree of frames. */
static int fold(struct perch_profile *profile, struct frame_lists *lists)
{
	size_t nr = profile->stacks.nr;
	struct stack_folding folding = {
		.profile = profile,
		.lists = lists,
		.node = calloc(nr + 1, sizeof(*folding.node)),
		.flags = calloc(nr + 1, sizeof(*folding.flags)),
		.shows_functions = profile->with_functions || profile->inlined,
		.may_merge = perch__contexts_have_addresses(profile) || profile->latency.hidden,
	};
	int rc = folding.node && folding.flags ? perch__frames_describe(profile, lists) : -ENOMEM;

	if (!rc)
		set_flags(&folding);
	perch__tree_expect(&profile->tree, nr);
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = perch__profile_progress(profile, WORK_FOLD, i, nr);
		if (rc)
			break;
		if (!profile->latency.word)
			release_stacks(profile->stacks.node, i);
		prefetch_fold(&folding, i);
		rc = fold_stack(&folding, i);
	}
	free(folding.node);
	free(folding.flags);
	return rc;
}

int perch_profile_finish(struct perch_profile *profile, struct perch_error *err)
{
	struct frame_lists lists = { 0 };
	int rc;

	rc = perch__samples_count(profile);
	perch__counters_free(profile->counters);
	profile->counters = NULL;
	/* what follows uses numbers only */
	perch__hash_clear(&profile->stacks.children);
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
	perch__frames_clear(&lists);
	perch__batch_free(profile->batch);
	profile->batch = NULL;
	/* the addresses are not needed any more */
	perch__tree_clear(&profile->stacks);
	perch__flat_free(&profile->flat);
	if (!profile->shares_addresses)
		perch_addresses_free(profile->addresses);
	profile->addresses = NULL;
	/* neither are the keys of what is complete now */
	perch__key_set_end(&profile->frames);
	perch__key_set_end(&profile->functions);
	if (!rc)
		rc = perch__forest_make(&profile->forest, &profile->tree, profile->latency.self);
	if (!rc) {
		perch__latency_finish(profile);
		rc = perch__rows_fill(profile);
	}
	if (!rc)
		rc = perch__latency_of_rows(profile);
	if (rc == -ECANCELED)
		return perch_error_set(err, ECANCELED, PERCH_ERROR_USAGE,
				       "the program ended the call");
	return rc ? PERCH__NO_MEMORY(err, "for the profile") : 0;
}
