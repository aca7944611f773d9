/* SPDX-License-Identifier: MIT */
/*
 * Calls like the one that failed. Each is made harmless first and closed at once: it is disabled,
 * and nothing that would patch code, own a trace unit or hold a debug register that others wait for
 * comes to life by it.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "facts.h"

#define DEFAULT_CALLS	     25
#define DEFAULT_MICROSECONDS 5000

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Opening an event of these changes code that runs, or takes a unit that there is one of. */
static bool is_dangerous(const char *pmu)
{
	static const char *const prefixes[] = { "kprobe",   "uprobe",	"intel_pt", "intel_bts",
						"arm_spe",  "arm_trbe", "cs_etm",   "coresight",
						"hisi_ptt", "vpa_pmu" };

	for (size_t i = 0; i < PERCH__NR(prefixes); i++)
		if (!strncmp(pmu, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Every branch, one at a time: what x86 makes of it is its branch trace store. */
static bool traces_branches(const struct perch_attr *attr)
{
	if (attr->sample_period != 1 || attr->freq)
		return false;
	if (attr->type == PERCH_TYPE_HARDWARE)
		return (uint32_t)attr->config == PERCH_COUNT_HW_BRANCH_INSTRUCTIONS;
	return (attr->type == PERCH_TYPE_RAW || attr->type >= PERCH_TYPE_MAX) &&
	       (attr->config & 0xff) == 0xc4;
}

/*
 * Nothing that takes long when it is closed, or patches code when it is opened, comes to life: of
 * tracepoints none, for the last one of a kind waits until no CPU is inside it, and those made of
 * probes register them.
 */
bool perch__needs_substitute(const struct perch__case *c)
{
	const struct perch_pmu *pmus, *pmu;
	size_t nr = 0;

	if (c->attr.type < PERCH_TYPE_MAX)
		return c->attr.type == PERCH_TYPE_TRACEPOINT || traces_branches(&c->attr);
	pmu = perch_machine_pmu_of_type(c->machine, c->attr.type);
	if (pmu)
		return is_dangerous(pmu->name) || traces_branches(&c->attr);
	/* no PMU of that type: it is refused in any case, if all of them can be seen */
	return perch_machine_pmus(c->machine, &pmus, &nr, NULL) || !nr;
}

void perch__substitute(struct perch__case *c)
{
	struct perch_attr *attr = &c->attr;

	attr->type = PERCH_TYPE_SOFTWARE;
	attr->config = PERCH_COUNT_SW_DUMMY;
	attr->config1 = attr->config2 = attr->config3 = attr->config4 = 0;
	attr->bp_type = 0;
}

/*
 * A size that the kernel would mind is the fault, and stays. Else as many bytes as were passed, for
 * whoever makes the call in the program's place has no more room there; more only where a mend has
 * set what lies behind.
 */
static uint32_t size_to_pass(const struct perch__case *c)
{
	const unsigned char *bytes = (const unsigned char *)&c->attr;
	uint32_t size = c->size ? c->size : PERCH_ATTR_SIZE_VER0;

	if (size < PERCH_ATTR_SIZE_VER0 || size > (uint32_t)sysconf(_SC_PAGESIZE))
		return c->size;
	if (size > sizeof(c->attr))
		return sizeof(c->attr);
	for (size_t i = size; i < sizeof(c->attr); i++)
		if (bytes[i])
			return sizeof(c->attr);
	return size;
}

static bool knows_cloexec(const struct perch__case *c)
{
	unsigned running = perch__running_rank(c);

	return !running || running >= perch_release_rank("3.14");
}

static bool has_budget(struct perch__prober *prober)
{
	if (prober->made < prober->limit && now() < prober->deadline)
		return true;
	prober->out_of_budget = true;
	return false;
}

static int call(struct perch__prober *prober, const struct perch_attr *attr,
		const struct perch__case *c, unsigned long flags)
{
	const struct perch_syscalls *calls = prober->calls;
	int fd;

	if (!has_budget(prober))
		return PERCH__NOT_TRIED;
	prober->made++;
	fd = calls->perf_event_open(calls->context, attr, c->pid, c->cpu, c->group_fd, flags);
	if (fd < 0)
		return errno;
	calls->close(calls->context, fd);
	return 0;
}

/* A thread that the failed call did not name, as a group leader's, is left in peace. */
static bool targets_unrelated_thread(const struct perch__case *c)
{
	return c->pid > 0 && !(c->flags & PERCH_FLAG_PID_CGROUP) &&
	       (c->pid != c->call->pid || c->call->flags & PERCH_FLAG_PID_CGROUP);
}

int perch__try(struct perch__prober *prober, const struct perch__case *c)
{
	struct perch__case harmless = *c;
	int rc;

	if (targets_unrelated_thread(c))
		return PERCH__NOT_TRIED;
	if (perch__needs_substitute(c)) {
		perch__substitute(&harmless);
		harmless.attr.enable_on_exec = harmless.attr.sigtrap = harmless.attr.sig_data = 0;
	}
	harmless.attr.disabled = 1;
	harmless.attr.size = size_to_pass(c);
	if (knows_cloexec(c))
		harmless.flags |= PERCH_FLAG_FD_CLOEXEC;
	rc = call(prober, &harmless.attr, &harmless, harmless.flags);
	/* whoever makes the calls could not make this one */
	return rc == ENOSYS && c->errnum != ENOSYS ? PERCH__NOT_TRIED : rc;
}

/* A call without an attr: perf says EFAULT, whoever else answers says something of his own. */
static int try_without_attr(struct perch__prober *prober)
{
	const struct perch__case nobody = { .cpu = -1, .group_fd = -1 };

	return call(prober, NULL, &nobody, 0);
}

/* What needs more of the kernel when it succeeds, and is seldom at fault: left out where the call
 * fails without it too. */
static void reduce_side_effects(struct perch__case *c)
{
	struct perch_attr *attr = &c->attr;

	attr->enable_on_exec = 0;
	attr->sigtrap = attr->sig_data = 0;
	attr->context_switch = attr->cgroup = 0;
	if (c->group_fd < 0)
		attr->inherit = attr->inherit_thread = attr->inherit_stat = 0;
}

static void set_certain(struct perch__result *result, const struct perch__candidate *candidate)
{
	result->candidate[0] = *candidate;
	result->nr = 1;
	result->confidence = PERCH_CONFIDENCE_CERTAIN;
}

/* The rule of that cause which fits, else one that tells the same of any call. */
static const struct perch__rule *rule_of(const struct perch__case *c, enum perch_cause cause)
{
	const struct perch__rule *found = NULL;
	/* a filter that is there and has answered: its first rule says so, the later ones guess */
	bool proven = cause == PERCH_CAUSE_SECCOMP && perch__seccomp_filters(c) == PERCH__YES;

	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++) {
		if (rule->cause != cause)
			continue;
		if (rule->errnum == c->errnum && (proven || rule->match(c) != PERCH__NO))
			return rule;
		/* what is said of ENOSYS is true of that alone */
		if (!found || (found->errnum == ENOSYS && c->errnum != ENOSYS))
			found = rule;
	}
	return found;
}

/* Perf itself has answered: whatever stands in front of it is not to blame. */
static void drop_causes_before_perf(struct perch__result *result)
{
	size_t nr = 0;

	for (size_t i = 0; i < result->nr; i++)
		if (!perch__is_before_perf(result->candidate[i].cause))
			result->candidate[nr++] = result->candidate[i];
	if (!nr)
		result->candidate[nr++] =
			(struct perch__candidate){ .cause = PERCH_CAUSE_UNEXPLAINED };
	result->nr = nr;
	if (nr == 1 && result->confidence == PERCH_CONFIDENCE_AMBIGUOUS)
		result->confidence = PERCH_CONFIDENCE_LIKELY;
}

/* True: settled, for perf never saw the call. If it did, the rules are asked again, which may be
 * certain then. */
static bool probe_before_perf(struct perch__prober *prober, struct perch__case *c,
			      struct perch__result *result)
{
	enum perch_cause cause = c->errnum == ENOSYS ? PERCH_CAUSE_NO_SYSCALL : PERCH_CAUSE_SECCOMP;
	struct perch_sandbox sandbox;
	struct perch__candidate before_perf;
	int rc = try_without_attr(prober);

	if (rc == EFAULT) {
		c->reached_perf = true;
		perch__evaluate(c, result);
		drop_causes_before_perf(result);
	}
	if (rc != c->errnum || rc == EFAULT)
		return false;
	if (!perch_machine_sandbox(c->machine, &sandbox, NULL) && sandbox.seccomp == 2)
		cause = PERCH_CAUSE_SECCOMP;
	before_perf = (struct perch__candidate){ .rule = rule_of(c, cause),
						 .cause = cause,
						 .match = PERCH__YES };
	set_certain(result, &before_perf);
	result->nr_next = 0;
	return true;
}

static bool needs_probe_before_perf(const struct perch__case *c, const struct perch__result *result)
{
	if (perch__seccomp_filters(c) == PERCH__YES) /* it may answer whatever it likes */
		return c->errnum != EFAULT;
	for (size_t i = 0; i < result->nr; i++)
		if (perch__is_before_perf(result->candidate[i].cause) ||
		    result->candidate[i].cause == PERCH_CAUSE_UNEXPLAINED)
			return c->errnum != EFAULT;
	return c->errnum == EPERM || c->errnum == ENOSYS;
}

/* Nothing of these is in the call: it is made again as it is, and no more than that. */
static bool is_transient(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == EINTR ||
	       errnum == EAGAIN;
}

static void compose_transient(const struct perch__case *c, struct perch__result *result)
{
	const struct perch__candidate transient = { .cause = PERCH_CAUSE_TRANSIENT,
						    .match = PERCH__YES };

	if (!is_transient(c->errnum))
		set_certain(result, &transient);
	result->succeeds_now = true;
	result->nr_next = 0;
}

/*
 * Makes the call again, first as calm as it can be: if that is refused alike, what was left out is
 * not to blame, and the case is calm from now on.
 */
static int try_again(struct perch__prober *prober, struct perch__case *base)
{
	struct perch__case reduced = *base;
	int rc;

	reduce_side_effects(&reduced);
	if (perch__same_open_call(&reduced, base))
		return perch__try(prober, base);
	rc = perch__try(prober, &reduced);
	if (rc == base->errnum)
		*base = reduced;
	return rc == base->errnum ? rc : perch__try(prober, base);
}

/* A certain cause that was left out to be calm is still one. */
static void keep_certain(const struct perch__case *c, const struct perch__case *base,
			 const struct perch__result *before, struct perch__result *result)
{
	for (size_t i = 0; i < before->nr; i++) {
		const struct perch__candidate *candidate = &before->candidate[i];

		if (candidate->rule && candidate->match == PERCH__YES &&
		    candidate->rule->match(base) != PERCH__YES)
			perch__add_next(result, candidate, c);
	}
}

static void probe_uncertain(struct perch__prober *prober, struct perch__case *c,
			    struct perch__result *result)
{
	bool stands_in = perch__needs_substitute(c);
	struct perch__case base;
	int rc;

	if (needs_probe_before_perf(c, result) && probe_before_perf(prober, c, result))
		return;
	if (result->confidence == PERCH_CONFIDENCE_CERTAIN) {
		perch__probe_certain(prober, c, result);
		return;
	}
	base = *c;
	if (stands_in) {
		perch__substitute(&base);
		reduce_side_effects(&base);
	}
	rc = try_again(prober, &base);
	if (!rc && stands_in)
		perch__blame_event(c, result);
	else if (!rc)
		compose_transient(c, result);
	else if (rc == c->errnum && !is_transient(rc)) {
		struct perch__result before = *result;

		if (!perch__probe_fixes(prober, &base, result))
			perch__probe_parts(prober, &base, result);
		keep_certain(c, &base, &before, result);
	}
}

/* An event that is none has no mend: a software event in its place shows what else is wrong. */
static bool is_event_cause(const struct perch__candidate *candidate)
{
	static const char *const fields[] = { "type",	 "config",  "config1", "config2",
					      "bp_addr", "bp_type", "bp_len" };

	for (size_t i = 0; candidate->rule && i < PERCH__NR(fields); i++)
		if (perch__names_field(candidate->rule->fields, fields[i]))
			return true;
	return false;
}

/* What comes next is asked for the call with its first fault mended, as harmless as it can be. */
void perch__probe_certain(struct perch__prober *prober, const struct perch__case *c,
			  struct perch__result *result)
{
	struct perch__case fixed = *c;
	int rc;

	if (!perch__fix(&result->candidate[0], &fixed)) {
		if (!is_event_cause(&result->candidate[0]))
			return;
		perch__substitute(&fixed);
	}
	if (perch__needs_substitute(&fixed))
		perch__substitute(&fixed);
	reduce_side_effects(&fixed);
	rc = perch__try(prober, &fixed);
	if (rc != PERCH__NOT_TRIED)
		perch__probe_next(prober, &fixed, rc, result);
}

/* A debug register that somebody waits for, or an attr that nobody can read, are not to be asked
 * about. */
static bool may_probe(const struct perch__case *c)
{
	struct perch_sandbox sandbox;

	if (c->errnum == ENOSPC || c->errnum == EFAULT || !c->call->attr ||
	    c->call->attr_is_partial || c->unknown_at)
		return false;
	return perch_machine_sandbox(c->machine, &sandbox, NULL) || sandbox.seccomp != 1;
}

void perch__probe_case(const struct perch__case *c, const struct perch_probing *budget,
		       struct perch__result *result)
{
	unsigned microseconds = budget->microseconds ? budget->microseconds : DEFAULT_MICROSECONDS;
	struct perch__prober prober = {
		.calls = perch_machine_syscalls(c->machine),
		.machine = c->machine,
		.limit = budget->calls ? budget->calls : DEFAULT_CALLS,
	};
	struct perch__case at = *c;

	if (!may_probe(c))
		return;
	prober.deadline = now() + microseconds * 1000ull;
	if (result->confidence == PERCH_CONFIDENCE_CERTAIN)
		perch__probe_certain(&prober, c, result);
	else
		probe_uncertain(&prober, &at, result);
	result->calls = prober.made;
	result->out_of_budget = prober.out_of_budget;
}
