/* SPDX-License-Identifier: MIT */
/* The lint rules: predicates of their conditions, the table, and its evaluation. */
#include <string.h>

#include "event/kernel_only.h"
#include "finding.h"
#include "lint.h"
#include "machine/breakpoints.h"

#define SAMPLES(what) (l->a->sample_type & PERCH_SAMPLE_##what)
/* False for a partial attr, where 0 may be unknown. */
#define LACKS(field)	   (!l->partial && !l->a->field)
#define LACKS_SAMPLE(what) (!l->partial && !SAMPLES(what))
#define FIELD_BEYOND(size) finds_beyond(l, size)
#define OF_KERNEL                                                                    \
	(l->a->type == PERCH_TYPE_SOFTWARE || l->a->type == PERCH_TYPE_TRACEPOINT || \
	 l->a->type == PERCH_TYPE_BREAKPOINT)
#define HARDWARE                                                                   \
	(l->a->type == PERCH_TYPE_HARDWARE || l->a->type == PERCH_TYPE_HW_CACHE || \
	 l->a->type == PERCH_TYPE_RAW ||                                           \
	 (l->a->type >= PERCH_TYPE_MAX && perch__pmu_is_core(&l->c) == PERCH__YES))
#define SOFTWARE(which) \
	(l->a->type == PERCH_TYPE_SOFTWARE && l->a->config == PERCH_COUNT_SW_##which)
#define CLOCK	    (SOFTWARE(CPU_CLOCK) || SOFTWARE(TASK_CLOCK))
#define KERNEL_ONLY (perch__kernel_only(l->a, NULL, l->c.machine) == PERCH__KERNEL_ONLY_YES)
#define DUMMY	    SOFTWARE(DUMMY)
#define BPF_OUTPUT  SOFTWARE(BPF_OUTPUT)
/* Records other than samples: their sample ids also use sample_type. */
#define RECORDS                                                                               \
	(l->a->mmap || l->a->comm || l->a->task || l->a->mmap_data || l->a->context_switch || \
	 l->a->namespaces || l->a->ksymbol || l->a->bpf_event || l->a->cgroup ||              \
	 l->a->text_poke || l->a->inherit_stat || l->a->aux_output)
#define HARDWARE_SAMPLES \
	(uint64_t)(PERCH_SAMPLE_WEIGHT_TYPE | PERCH_SAMPLE_DATA_SRC | PERCH_SAMPLE_TRANSACTION)
#define WHOLE_CPU	 (l->c.pid == -1 || l->c.flags & PERCH_FLAG_PID_CGROUP)
#define SMALLEST_RECORDS 32 /* bytes: a sample of one word and its header has 16 */
#define FEWEST_COUNTERS	 4  /* general ones of an Intel core with two threads */
#if defined(__x86_64__) || defined(__i386__)
#define X86 1
#else
#define X86 0
#endif

/* For other events, the same word is config2. */
static bool finds_beyond(struct perch__lint *l, size_t size)
{
	if (!perch__field_beyond(&l->whole, size, &l->beyond))
		return false;
	if (!strcmp(l->beyond.name, "bp_len") && l->a->type != PERCH_TYPE_BREAKPOINT)
		strcpy(l->beyond.name, "config2");
	return true;
}

/* clang-format off */
#define FIELDS(...) { __VA_ARGS__ }
/* clang-format on */

#define LINT(name, cause, fields, since, condition, message, remedy)                 \
	static bool match_##name(struct perch__lint *l)                              \
	{                                                                            \
		return condition;                                                    \
	}                                                                            \
	static void fields_##name(const struct perch__lint *l, const char *field[4]) \
	{                                                                            \
		const char *const those[4] = fields;                                 \
                                                                                     \
		(void)l;                                                             \
		memcpy(field, those, sizeof(those));                                 \
	}
#include "lint.def"
#undef LINT

/* clang-format off */
#define LINT(name, cause, fields, since, condition, message, remedy)                              \
	{ #name, PERCH_CAUSE_##cause, since, match_##name, fields_##name, message, remedy },
/* clang-format on */
const struct perch__lint_rule perch__lint_rules[] = {
#include "lint.def"
	{ NULL, PERCH_CAUSE_NONE, NULL, NULL, NULL, NULL, NULL },
};

static void init_case(struct perch__lint *l, const struct perch_open_call *call,
		      struct perch_machine *machine)
{
	size_t size = call->attr->size ? call->attr->size : PERCH_ATTR_SIZE_VER0;

	*l = (struct perch__lint){
		.c = { .call = call,
		       .size = call->attr->size,
		       .pid = call->pid,
		       .cpu = call->cpu,
		       .group_fd = call->group_fd,
		       .flags = call->flags,
		       .machine = machine },
		.whole = *call->attr,
		.partial = !perch__shows_up_to(call, PERCH_ATTR_SIZE_VER6),
	};
	l->a = &l->c.attr;
	memcpy(&l->c.attr, &l->whole, size < sizeof(l->whole) ? size : sizeof(l->whole));
}

static void compose_finding(const struct perch__lint *l, const struct perch__lint_rule *rule,
			    struct perch_finding *finding)
{
	char message[sizeof(finding->message)], remedy[sizeof(finding->remedy)];
	const struct perch_attr_field *beyond = perch_attr_get_field(l->beyond.name);
	const char *field[4];

	rule->fields(l, field);
	for (size_t i = 0; i < 4; i++)
		if (field[i] == l->beyond.name)
			/* a static string */
			field[i] = beyond ? beyond->name : NULL;
	perch__finding_init(finding, rule->cause, field, rule->since);
	perch__expand(rule->message, perch__lint_placeholder, l, message, sizeof(message));
	perch__expand(rule->remedy, perch__lint_placeholder, l, remedy, sizeof(remedy));
	perch__finding_set_text(finding, message, remedy);
}

size_t perch_lint(const struct perch_open_call *call, struct perch_machine *machine,
		  struct perch_finding *findings, size_t max)
{
	struct perch_machine *own;
	struct perch__lint l;
	size_t nr = 0;

	if (!call || !call->attr)
		return 0;
	init_case(&l, call, perch__machine_of(machine, call->from_log, &own));
	for (const struct perch__lint_rule *rule = perch__lint_rules; rule->name; rule++) {
		if (!rule->match(&l))
			continue;
		if (nr < max)
			compose_finding(&l, rule, &findings[nr]);
		nr++;
	}
	perch_machine_free(own);
	return nr;
}
