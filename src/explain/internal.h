/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EXPLAIN_INTERNAL_H
#define PERCH_EXPLAIN_INTERNAL_H

#include <stdbool.h>
#include <perch/explain.h>

/*
 * Whether a rule holds for a call. MAYBE: a fact that nobody knows would settle it, or the condition is no proof.
 * The numbers matter: of several conditions the least one counts.
 */
enum perch__fit {
	PERCH__NO,
	PERCH__MAYBE,
	PERCH__YES,
};

/*
 * What the rules look at: the call as the kernel saw it, and facts read when first asked for. A rule's mend changes it
 * into the call that the rule's remedy describes, so everything that can be mended is a copy here.
 */
struct perch__case {
	const struct perch_call *call;
	struct perch_attr attr;			/* zero beyond the size given; all zero when the pointer was NULL */
	uint32_t size;				/* as passed, 0 included */
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	int errnum;
	struct perch_machine *machine;		/* NULL: facts are unknown */
};

/* Ranks: major * 1000 + minor; 0 for "" and what is no release. */
unsigned perch__release_rank(const char *since);
/* The rank of the running kernel; 0 when unknown. */
unsigned perch__running_rank(const struct perch__case *c);

/* Something an attr or a call can ask for that older kernels do not know. */
struct perch__feature {
	char name[32];				/* the field */
	char since[8];
};
/* The newest thing asked for that came after the release of that rank. False: there is none. */
bool perch__newest_feature(const struct perch__case *c, unsigned after, struct perch__feature *feature);
/* The first attr field that is not zero at or beyond an offset, with its release. */
bool perch__field_beyond(const struct perch_attr *attr, size_t offset, struct perch__feature *feature);

/* Facts. Those that name a comparison say true when the fact is unknown: the errno already hints at it. */
bool perch__may_lack_privilege(const struct perch__case *c);	/* neither CAP_PERFMON nor CAP_SYS_ADMIN */
bool perch__may_lack_admin(const struct perch__case *c);	/* no CAP_SYS_ADMIN */
bool perch__paranoid_may_exceed(const struct perch__case *c, long level);
bool perch__paranoid_exceeds(const struct perch__case *c, long level);	/* false when unknown */
bool perch__above_max_rate(const struct perch__case *c);
bool perch__cpu_absent(const struct perch__case *c);
bool perch__no_core_pmu(const struct perch__case *c);		/* false when unknown */
bool perch__type_unregistered(const struct perch__case *c);	/* false when unknown */
bool perch__pmu_is(const struct perch__case *c, const char *name);
bool perch__seccomp_filters(const struct perch__case *c);	/* false when unknown */
bool perch__locked_down(const struct perch__case *c);		/* lockdown=confidentiality; false when unknown */

/* Writes the value of a placeholder of the rules' sentences. False: no such placeholder. */
bool perch__fact_text(const struct perch__case *c, const char *name, size_t length, char *buffer, size_t size);

/* Puts facts in the place of {words}. */
void perch__fill_in(const struct perch__case *c, const char *sentence, char *buffer, size_t size);

#endif
