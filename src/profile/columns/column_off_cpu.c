/* SPDX-License-Identifier: MIT */
/* Columns of the time off the CPU. */
#include "base/kernel/off_cpu_event.h"
#include "profile/internal.h"

/* Returns false for a sample of another event. */
static bool is_off_cpu(const struct sample *sample, struct perch_off_cpu *off_cpu)
{
	struct perch_reader *reader = sample->profile->reader;
	const struct perch_file_event *events;
	uint32_t event = sample->record->event;

	return reader && event < perch_reader_events(reader, &events) &&
	       perch__is_off_cpu(&events[event]) && !sample->record->parse_info->swapped &&
	       perch_off_cpu_decode(off_cpu, &sample->record->sample);
}

/* ---- offcpu_state: the state + 1; 0: it was on the CPU ---- */

static int state_value(const struct sample *sample, uint64_t *value)
{
	struct perch_off_cpu off_cpu;

	*value = is_off_cpu(sample, &off_cpu) ? off_cpu.state + (uint64_t)1 : 0;
	return 0;
}

static const char *state_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			      size_t size)
{
	(void)profile;
	(void)buffer;
	(void)size;
	return cell->value ? perch_off_cpu_state_name((uint32_t)(cell->value - 1)) : "running";
}

const struct perch_column_methods perch__column_offcpu_state = { .value = state_value,
								 .text = state_text };

/* ---- waker: the value of the column tid ---- */

#define NO_WAKER  UINT64_MAX
#define INTERRUPT (UINT64_MAX - 1)

static int waker_value(const struct sample *sample, uint64_t *value)
{
	struct perch_profile *profile = sample->profile;
	struct perch_off_cpu off_cpu;
	const struct perch_thread *waker;

	*value = NO_WAKER;
	if (!is_off_cpu(sample, &off_cpu) || !(off_cpu.flags & PERCH_OFF_CPU_WOKEN))
		return 0;
	/* the thread that it interrupted has nothing to do with the wait */
	*value = INTERRUPT;
	if (off_cpu.flags & PERCH_OFF_CPU_WOKEN_BY_INTERRUPT)
		return 0;
	waker = perch_processes_thread(profile->processes, off_cpu.waker_pid, off_cpu.waker_tid);
	return waker ? perch__named_value(profile, waker, off_cpu.waker_tid, value) : -ENOMEM;
}

static int waker_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	if (a->value >= INTERRUPT || b->value >= INTERRUPT)
		return (a->value > b->value) - (a->value < b->value);
	return perch__column_tid.compare(profile, a, b);
}

static const char *waker_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			      size_t size)
{
	const char *text;

	if (cell->value >= INTERRUPT)
		return cell->value == INTERRUPT ? "[interrupt]" : "[unknown]";
	text = perch__column_tid.text(profile, cell, buffer, size);
	return text + strspn(text, " ");
}

const struct perch_column_methods perch__column_waker = { .value = waker_value,
							  .compare = waker_compare,
							  .text = waker_text };
