/* SPDX-License-Identifier: MIT */
/* A profile: adds samples up by stack of addresses, then folds the stacks into a tree of frames. */
#include "internal.h"

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for the profile");
}

int perch_profile_new(struct perch_profile **result, struct perch_processes *processes,
		      struct perch_symbols *symbols, unsigned keys, struct perch_error *err)
{
	struct perch_profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return no_memory(err);
	if (perch_addresses_new(&profile->addresses, processes, symbols, err)) {
		free(profile);
		return -ENOMEM;
	}
	profile->processes = processes;
	profile->symbols = symbols;
	profile->keys = keys;
	profile->names_seed = perch__hash_seed(profile);
	*result = profile;
	return 0;
}

void perch_profile_free(struct perch_profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->nr_events; i++)
		free(profile->event[i].sorted);
	perch__key_set_clear(&profile->contexts);
	perch_addresses_free(profile->addresses);
	perch__key_set_clear(&profile->frames);
	perch__key_set_clear(&profile->row_keys);
	perch__tree_clear(&profile->stacks);
	perch__tree_clear(&profile->tree);
	free(profile->context);
	free(profile->frame);
	free(profile->row);
	free(profile->lists);
	free(profile->hits);
	free(profile->cached_row);
	free(profile->group_of);
	free(profile->event);
	free(profile);
}

static uint32_t get_context(struct perch_profile *profile, const struct perch_thread *thread,
			    const struct perch_record *record)
{
	unsigned keys = profile->keys;
	struct context context = { .event = record->event };
	uint32_t at, id = 0;
	bool is_new;

	if (keys & (PERCH_KEY_COMM | PERCH_KEY_PID | PERCH_KEY_TID)) {
		context.comm = perch_thread_comm(thread);
		context.comm_index = perch_thread_comm_index(thread) + 1;
	}
	if (keys & (PERCH_KEY_PID | PERCH_KEY_TID))
		context.pid = id = perch_thread_pid(thread);
	if (keys & PERCH_KEY_TID)
		context.tid = id = perch_thread_tid(thread);
	if (keys & PERCH_KEY_CPU)
		context.cpu = record->parse_info->sample_type & PERCH_SAMPLE_CPU
				      ? record->sample.cpu
				      : PERCH_NO_CPU;
	at = perch__key_set_add(&profile->contexts, (uint64_t)context.comm_index << 32 | id,
				(uint64_t)context.event << 32 | context.cpu, &is_new);
	if (!is_new)
		return at;
	if (PERCH__ARRAY_RESERVE_BY_NR(profile->context, at, 1)) {
		perch__key_set_remove_last(&profile->contexts);
		return NO_NUMBER;
	}
	profile->context[at] = context;
	return at;
}

static uint32_t get_stack(struct perch_profile *profile, struct perch_thread *thread,
			  uint32_t context, const struct chain *chain)
{
	struct last_stack *last = &profile->last_stack[perch_thread_tid(thread) % LAST_STACKS];
	bool other = last->context != context;
	uint32_t node = NO_NODE;
	size_t depth = perch__last_stack_update(last, profile->processes, thread, chain);

	if (other)
		depth = 0;
	if (depth)
		node = last->number[depth - 1];
	last->context = context;
	for (; depth < chain->nr; depth++) {
		size_t at = chain->nr - 1 - depth;
		uint32_t address = perch__address_number(profile->addresses, thread,
							 chain->cpumode[at], chain->ip[at]);

		node = address == NO_NUMBER
			       ? NO_NODE
			       : perch__tree_child(&profile->stacks, context, node, address);
		if (node == NO_NODE) {
			last->generation = 0;
			return NO_NODE;
		}
		last->number[depth] = node;
	}
	return node;
}

static int reserve_event(struct perch_profile *profile, unsigned event)
{
	while (profile->nr_events <= event)
		if (!PERCH__ARRAY_APPEND(profile->event, profile->nr_events,
					 profile->events_capacity))
			return -ENOMEM;
	return 0;
}

int perch_profile_add(struct perch_profile *profile, const struct perch_record *record,
		      struct perch_error *err)
{
	struct perch_thread *thread;
	struct chain chain;
	uint32_t context, node;

	if (record->type != PERCH_RECORD_SAMPLE)
		return 0;
	thread = perch_processes_thread(profile->processes, record->sample.pid, record->sample.tid);
	if (!thread || reserve_event(profile, record->event))
		return no_memory(err);
	context = get_context(profile, thread, record);
	if (context == NO_NUMBER)
		return no_memory(err);
	perch__chain_read(&chain, record);
	node = get_stack(profile, thread, context, &chain);
	if (node == NO_NODE)
		return no_memory(err);
	profile->stacks.node[node].self += record->sample.period;
	profile->stacks.node[node].samples++;
	profile->event[record->event].has_chains |= record->sample.callchain.nr > 0;
	profile->event[record->event].total.samples++;
	profile->event[record->event].total.period += record->sample.period;
	return 0;
}

/*
 * Returns by node whether its address is a return address: code of the same kind was called from
 * there, and no sample was taken there. Returns NULL if out of memory.
 */
static bool *find_callers(const struct perch_profile *profile)
{
	size_t nr = profile->stacks.nr;
	bool *callers = calloc(nr ? nr : 1, sizeof(*callers));

	for (size_t i = 0; callers && i < nr; i++) {
		const struct node *node = &profile->stacks.node[i], *parent;

		if (node->parent == NO_NODE)
			continue;
		parent = &profile->stacks.node[node->parent];
		if (!parent->samples &&
		    perch_addresses_at(profile->addresses, node->frame)->cpumode_char ==
			    perch_addresses_at(profile->addresses, parent->frame)->cpumode_char)
			callers[node->parent] = true;
	}
	return callers;
}

/* Adds the nodes of the functions that are inlined at an address, below the node of the function
 * around them. Returns the innermost one, or NO_NODE if out of memory. */
static uint32_t fold_inlined(struct perch_profile *profile, struct frame_lists *lists,
			     const struct node *node, bool is_caller, uint32_t at)
{
	const struct inlined *inlined =
		perch__frames_inlined(profile, lists, node->frame, is_caller);

	if (!inlined)
		return NO_NODE;
	for (uint32_t i = inlined->nr; i-- > 0 && at != NO_NODE;)
		at = perch__tree_child(&profile->tree, node->context, at,
				       lists->inlined_frame[inlined->first + i]);
	return at;
}

/* Folds the tree of addresses into the tree of frames. */
static int fold(struct perch_profile *profile, struct frame_lists *lists)
{
	bool with_inlined = profile->keys & PERCH_KEY_INLINED;
	size_t nr = profile->stacks.nr;
	uint32_t *folded = calloc(nr ? nr : 1, sizeof(*folded));
	bool *callers = with_inlined ? find_callers(profile) : NULL;
	int rc = folded && (callers || !with_inlined) ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !rc; i++) {
		const struct node *node = &profile->stacks.node[i];
		uint32_t parent = node->parent == NO_NODE ? NO_NODE : folded[node->parent];
		unsigned event = profile->context[node->context].event;

		folded[i] = perch__tree_child(&profile->tree, node->context, parent,
					      lists->frame[node->frame]);
		if (with_inlined && profile->event[event].has_chains && folded[i] != NO_NODE)
			folded[i] = fold_inlined(profile, lists, node, callers[i], folded[i]);
		if (folded[i] == NO_NODE) {
			rc = -ENOMEM;
			break;
		}
		profile->tree.node[folded[i]].self += node->self;
		profile->tree.node[folded[i]].samples += node->samples;
	}
	free(folded);
	free(callers);
	if (!rc)
		perch__tree_link(&profile->tree);
	return rc;
}

int perch_profile_finish(struct perch_profile *profile, struct perch_error *err)
{
	struct frame_lists lists = { 0 };
	int rc;

	rc = perch__frames_of_addresses(profile, &lists);
	if (!rc)
		rc = fold(profile, &lists);
	perch__frames_clear(&lists);
	/* the addresses are not needed any more */
	perch__tree_clear(&profile->stacks);
	perch_addresses_free(profile->addresses);
	profile->addresses = NULL;
	if (!rc)
		rc = perch__rows_fill(profile);
	return rc ? no_memory(err) : 0;
}

void perch_profile_get_total(const struct perch_profile *profile, unsigned event,
			     struct perch_profile_total *total)
{
	*total = event < profile->nr_events ? profile->event[event].total
					    : (struct perch_profile_total){ 0, 0 };
}
