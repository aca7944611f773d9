/* SPDX-License-Identifier: MIT */
/* Addresses become frames: each distinct address has one symbol lookup, if a function is shown. */
#include "internal.h"

/*
 * DSOs with the same displayed name, for example libc inside and outside of a container, are shown
 * as one: the first of them is the canonical DSO of all, and functions of the same name share a
 * row.
 */
static bool find_canonical(struct perch_profile *profile, struct canonical *canonical)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(profile->processes, &dsos);
	struct key_set names = { 0 };
	uint32_t *first = calloc(nr + 1, sizeof(*first));
	bool is_new, ok;

	canonical->of = calloc(nr + 1, sizeof(*canonical->of));
	canonical->shared = calloc(nr + 1, sizeof(*canonical->shared));
	ok = first && canonical->of && canonical->shared;
	for (size_t i = 0; ok && i < nr; i++) {
		const char *text = perch_symbols_dso_name(profile->symbols, dsos[i]);
		uint64_t hash = perch__hash_text(profile->names_seed, text);
		uint32_t name = perch__key_set_add(&names, hash, dsos[i]->kind, &is_new);

		if (name == NO_NUMBER) {
			ok = false;
			break;
		}
		if (is_new)
			first[name] = i;
		else
			canonical->shared[first[name]] = true;
		canonical->of[i] = dsos[first[name]];
	}
	perch__key_set_clear(&names);
	free(first);
	return ok;
}

/* A number for the position of a frame: equal positions have equal ones. An offset is shown as that
 * in the function. */
static uint64_t hash_of_position(const struct perch_profile *profile,
				 const struct position *position, const struct perch_symbol *symbol)
{
	uint64_t start = symbol && position->offset ? symbol->start : 0;

	if (!position->file)
		return perch__hash_integer(profile->names_seed, position->offset - start);
	return perch__hash_pair(profile->names_seed,
				perch__hash_text(profile->names_seed, position->file),
				position->line);
}

/* With lines, frames are functions at one line, or at one address. */
static struct frame_id add_position(struct perch_profile *profile, uint32_t function,
				    struct position position, const struct perch_symbol *symbol,
				    uint64_t offset)
{
	bool by_address = profile->graph_key == PERCH_CALL_GRAPH_ADDRESS, is_new;
	uint64_t key;
	struct frame_id frame;

	position.hash = hash_of_position(profile, &position, symbol);
	position.function = function;
	key = perch__hash_pair(profile->names_seed, position.hash, position.symoff);
	key = perch__hash_pair(profile->names_seed, key, by_address ? offset : 0);
	frame.nr = perch__key_set_add(&profile->frames, function, key, &is_new);
	if (frame.nr == NO_NUMBER || !is_new)
		return frame;
	if (PERCH__ARRAY_RESERVE_BY_NR(profile->frame, frame.nr, 1) ||
	    PERCH__ARRAY_RESERVE_BY_NR(profile->position, frame.nr, 1)) {
		perch__key_set_remove_last(&profile->frames);
		return NO_FRAME;
	}
	profile->position[frame.nr] = position;
	return frame;
}

/* Keeps of a line what the columns show. */
static struct position position_of(const struct perch_profile *profile,
				   const struct perch_symbol_frame *found, uint64_t offset)
{
	bool with_column = perch__columns_has(profile, &perch__column_srcline) ||
			   perch__columns_has(profile, &perch__column_srcline_from) ||
			   perch__columns_has(profile, &perch__column_srcline_to);
	bool with_line = with_column || profile->graph_key != PERCH_CALL_GRAPH_FUNCTION;
	bool with_offset = with_column || profile->graph_key == PERCH_CALL_GRAPH_ADDRESS;
	const char *slash = found->file ? strrchr(found->file, '/') : NULL;

	return (struct position){
		.file = slash && !profile->full_paths ? slash + 1 : found->file,
		.line = with_line ? found->line : 0,
		.offset = with_offset && !found->file ? offset : 0,
	};
}

/* What makes a function, or an address without one, a frame of its own. */
struct frame_key {
	uint64_t where, what;
};

static struct frame_key key_of(const struct perch_profile *profile,
			       const struct canonical *canonical,
			       const struct perch_address *address,
			       const struct perch_symbol *symbol)
{
	const struct perch_dso *dso = canonical->of[address->dso->index];
	uint64_t where = (uint64_t)dso->index << 10 | (symbol && symbol->inlined ? 1u << 9 : 0) |
			 (symbol ? 1u << 8 : 0) | (uint8_t)address->cpumode_char;
	uint64_t what = address->offset;

	if (symbol)
		what = canonical->shared[dso->index]
			       ? perch__hash_text(profile->names_seed, symbol->name)
			       : symbol->index;
	return (struct frame_key){ where, what };
}

static void set_frame(struct perch_profile *profile, struct frame_id frame,
		      const struct canonical *canonical, const struct perch_address *address,
		      const struct perch_symbol *symbol)
{
	profile->frame[frame.nr] = (struct perch_frame){
		.dso = canonical->of[address->dso->index],
		.symbol = symbol,
		.offset = symbol ? 0 : address->offset,
		.cpumode_char = address->cpumode_char,
		.number = frame.nr,
	};
}

static struct frame_id get_frame(struct perch_profile *profile, const struct canonical *canonical,
				 const struct perch_address *address,
				 const struct perch_symbol *symbol, const struct position *position)
{
	struct frame_key key = key_of(profile, canonical, address, symbol);
	struct frame_id frame;
	bool is_new;

	frame.nr = perch__key_set_add(position ? &profile->functions : &profile->frames, key.where,
				      key.what, &is_new);
	if (position && frame.nr != NO_NUMBER) {
		size_t before = profile->frames.nr;

		frame = add_position(profile, frame.nr, *position, symbol, address->offset);
		is_new = profile->frames.nr > before;
	}
	if (frame.nr == NO_NUMBER || !is_new)
		return frame;
	if (!position && PERCH__ARRAY_RESERVE_BY_NR(profile->frame, frame.nr, 1)) {
		perch__key_set_remove_last(&profile->frames);
		return NO_FRAME;
	}
	set_frame(profile, frame, canonical, address, symbol);
	return frame;
}

/*
 * True if no other address has the frame of this one: it has no function, and no other DSO has the
 * name of its DSO. Several modes have the character '?'.
 */
static bool is_alone(const struct perch_profile *profile, const struct canonical *canonical,
		     const struct perch_address *address)
{
	return profile->with_functions && !profile->with_lines && !address->symbol &&
	       address->cpumode_char != '?' &&
	       !canonical->shared[canonical->of[address->dso->index]->index];
}

/* The frame of an address that is alone is new, so it needs no key. */
static struct frame_id new_frame(struct perch_profile *profile, const struct canonical *canonical,
				 const struct perch_address *address)
{
	struct frame_id frame;

	if (PERCH__ARRAY_RESERVE_BY_NR(profile->frame, profile->frames.nr, 1))
		return NO_FRAME;
	frame.nr = perch__key_set_skip(&profile->frames);
	if (frame.nr != NO_NUMBER)
		set_frame(profile, frame, canonical, address, NULL);
	return frame;
}

/* All addresses of a DSO are one frame if no function is shown. */
static struct frame_id frame_of_dso(struct perch_profile *profile,
				    const struct canonical *canonical,
				    const struct perch_address *address)
{
	const struct perch_address first = { .dso = address->dso,
					     .cpumode_char = address->cpumode_char };

	return get_frame(profile, canonical, &first, NULL, NULL);
}

/* Returns the function of an address, or of the call before it. NULL: none. */
static const struct perch_symbol *function_at(const struct perch_profile *profile,
					      const struct perch_address *address, bool is_caller)
{
	return is_caller ? perch_symbols_caller(profile->symbols, address->dso, address->offset,
						address->symbol)
			 : address->symbol;
}

/* Finds the position of the function itself at an address. Returns 0 or -ENOMEM. */
static int find_position(struct perch_profile *profile, const struct perch_address *address,
			 const struct perch_symbol *symbol, bool is_caller,
			 struct position *position)
{
	const struct perch_symbol_frame *found;
	int nr;

	*position = (struct position){ 0 };
	if (profile->with_source) {
		nr = perch_symbols_frames(profile->symbols, address->dso,
					  address->offset - (is_caller && address->offset ? 1 : 0),
					  &found);
		if (nr < 0)
			return nr;
		/* the line of the function itself if its inlined functions have frames of their own
		 */
		*position = position_of(profile,
					profile->inlined && !profile->flat ? &found[nr - 1] : found,
					address->offset);
	}
	if (perch__columns_has(profile, &perch__column_symoff))
		position->symoff = address->offset - (symbol ? symbol->start : 0);
	return 0;
}

/* Returns the frame of an address. is_caller: it is a return address, so that the function and the
 * line of the call before it are meant. */
static struct frame_id find_frame(struct perch_profile *profile, struct frame_lists *lists,
				  struct address_id number, bool is_caller)
{
	const struct perch_address *address;
	const struct perch_symbol *symbol;
	struct position position;

	if (!profile->with_functions)
		return frame_of_dso(profile, &lists->canonical,
				    &profile->addresses->address[number.nr]);
	address = perch_addresses_at(profile->addresses, number.nr);
	symbol = function_at(profile, address, is_caller);
	if (!symbol && is_alone(profile, &lists->canonical, address))
		return new_frame(profile, &lists->canonical, address);
	if (!profile->with_lines)
		return get_frame(profile, &lists->canonical, address, symbol, NULL);
	if (find_position(profile, address, symbol, is_caller, &position))
		return NO_FRAME;
	return get_frame(profile, &lists->canonical, address, symbol, &position);
}

/* Begins to open the debug information of all DSOs, which takes longer than finding symbols. */
static void start_debug_info(struct perch_profile *profile)
{
	size_t nr = perch_addresses_count(profile->addresses);
	const struct perch_dso *last = NULL;

	if (!profile->with_source && (!profile->inlined || profile->flat))
		return;
	for (size_t i = 0; i < nr; i++) {
		const struct perch_dso *dso = profile->addresses->address[i].dso;

		if (dso != last)
			perch_symbols_start_debug_info(profile->symbols, dso);
		last = dso;
	}
}

int perch__frames_of_addresses(struct perch_profile *profile, struct frame_lists *lists)
{
	size_t nr = perch_addresses_count(profile->addresses);
	size_t kinds = profile->inlined ? 2 : 0;

	if (profile->starts_debug_info)
		start_debug_info(profile);
	lists->frame = calloc(nr ? nr : 1, sizeof(*lists->frame));
	if (!lists->frame || !find_canonical(profile, &lists->canonical))
		return -ENOMEM;
	for (size_t i = 0; i < kinds; i++) {
		lists->inlined[i] = calloc(nr ? nr : 1, sizeof(*lists->inlined[i]));
		if (!lists->inlined[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++) {
		if (perch__profile_progress(profile, WORK_SYMBOLS, i, nr))
			return -ECANCELED;
		lists->frame[i] = find_frame(profile, lists, (struct address_id){ i }, false);
		if (lists->frame[i].nr == NO_NUMBER)
			return -ENOMEM;
	}
	return 0;
}

struct frame_id perch__frames_of_caller(struct perch_profile *profile, struct frame_lists *lists,
					struct address_id number)
{
	const struct perch_address *address = &profile->addresses->address[number.nr];
	struct brief *brief = &lists->brief[number.nr];

	if (brief->caller == CALLER_UNKNOWN)
		brief->caller = function_at(profile, address, true) == address->symbol
					? CALLER_SAME
					: CALLER_OTHER;
	return profile->with_lines || brief->caller == CALLER_OTHER
		       ? find_frame(profile, lists, number, true)
		       : lists->frame[number.nr];
}

int perch__frames_describe(struct perch_profile *profile, struct frame_lists *lists)
{
	size_t nr = perch_addresses_count(profile->addresses);
	const struct perch_dso *last = NULL;
	bool has_debug_info = false;

	lists->brief = malloc((nr + 1) * sizeof(*lists->brief));
	if (!lists->brief)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct perch_address *address = &profile->addresses->address[i];

		/* the symbols count each address without debug information, here or with its line
		 */
		if (profile->inlined && (address->dso != last || !has_debug_info)) {
			last = address->dso;
			has_debug_info = profile->with_source ||
					 perch_symbols_has_debug_info(profile->symbols, last);
		}
		lists->brief[i] = (struct brief){
			.cpumode_char = address->cpumode_char,
			.has_debug_info = has_debug_info,
			.is_alone = is_alone(profile, &lists->canonical, address),
			.caller = profile->with_functions &&
						  (!address->symbol ||
						   address->offset == address->symbol->start)
					  ? CALLER_UNKNOWN
					  : CALLER_SAME,
		};
	}
	return 0;
}

/* Adds the frames of the functions that are inlined at an address. Returns 0 or -ENOMEM. */
static int add_inlined(struct perch_profile *profile, struct frame_lists *lists,
		       const struct perch_address *address, bool is_caller, struct inlined *inlined)
{
	const struct perch_symbol_frame *found;
	int nr = perch_symbols_frames(profile->symbols, address->dso,
				      address->offset - (is_caller ? 1 : 0), &found);

	if (nr < 0)
		return nr;
	/* the byte before the start of a function that handlers of signals return to */
	if (found[nr - 1].symbol != function_at(profile, address, is_caller))
		return 0;
	for (int i = 0; i < nr - 1; i++) {
		struct position position = { 0 };
		struct frame_id frame;

		if (!found[i].symbol)
			continue;
		if (profile->with_source)
			position = position_of(profile, &found[i], address->offset);
		frame = get_frame(profile, &lists->canonical, address, found[i].symbol,
				  profile->with_lines ? &position : NULL);
		if (frame.nr == NO_NUMBER ||
		    PERCH__ARRAY_RESERVE(lists->inlined_frame, lists->capacity,
					 lists->nr_inlined_frames + 1))
			return -ENOMEM;
		lists->inlined_frame[lists->nr_inlined_frames++] = frame;
		inlined->nr++;
	}
	return 0;
}

const struct inlined *perch__frames_inlined(struct perch_profile *profile,
					    struct frame_lists *lists, struct address_id number,
					    bool is_caller)
{
	struct inlined *inlined = &lists->inlined[is_caller][number.nr];
	const struct perch_address *address;

	if (inlined->looked_up)
		return inlined;
	inlined->looked_up = true;
	inlined->first = (uint32_t)lists->nr_inlined_frames;
	address = perch_addresses_at(profile->addresses, number.nr);
	if ((address->offset || !is_caller) &&
	    add_inlined(profile, lists, address, is_caller, inlined))
		return NULL;
	return inlined;
}

void perch__frames_clear(struct frame_lists *lists)
{
	free(lists->frame);
	free(lists->brief);
	free(lists->canonical.of);
	free(lists->canonical.shared);
	free(lists->inlined[0]);
	free(lists->inlined[1]);
	free(lists->inlined_frame);
}
