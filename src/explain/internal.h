/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EXPLAIN_INTERNAL_H
#define PERCH_EXPLAIN_INTERNAL_H

#include <stdbool.h>
#include <perch/explain.h>

/*
 * Whether a rule holds for a call. MAYBE: a fact that nobody knows would settle it, or the
 * condition is no proof. The numbers matter: of several conditions the least one counts.
 */
enum perch__match {
	PERCH__NO,
	PERCH__UNKNOWN,
	PERCH__YES,
};

/* What config1 of a uprobe points to. */
enum perch__path {
	PERCH__PATH_NOT_READ, /* nobody has asked yet */
	PERCH__PATH_UNKNOWN,  /* it cannot be read here */
	PERCH__PATH_EMPTY,
	PERCH__PATH_NOT_REGULAR, /* a folder, a device, a pipe */
	PERCH__PATH_SHORT,	 /* the offset is beyond its end */
	PERCH__PATH_OK,
};

/*
 * What the rules look at: the call as the kernel saw it, and facts read when first asked for. A
 * rule's mend changes it into the call that the rule's remedy describes, so everything that can be
 * mended is a copy here.
 */
struct perch__case {
	const struct perch_open_call *call;
	/* zero beyond the size given; all zero when the pointer was NULL */
	struct perch_attr attr;
	/* as passed, 0 included; what the kernel wrote where that is unknown */
	uint32_t size;
	uint32_t kernel_size; /* as the kernel wrote it after E2BIG; 0: unknown */
	/* the first byte beyond struct perch_attr that is not zero; 0: none is */
	uint32_t unknown_at;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	/* 0: not refused, or not known to be; the call and the facts alone count */
	int errnum;
	/* a call proved that nobody answers in perf's place */
	bool reached_perf;
	struct perch_machine *machine; /* NULL: facts are unknown */
	/* read once for all that is made of this case; NULL: it is not kept */
	enum perch__path *path;
};

/* perch_release_rank() of the running kernel; 0 when unknown. */
unsigned perch__running_rank(const struct perch__case *c);

/* Something an attr or a call can ask for that older kernels do not know. */
struct perch__feature {
	char name[32]; /* the field */
	char since[8];
};
/* The newest thing asked for that came after the release of that rank. False: there is none. */
bool perch__newest_feature(const struct perch__case *c, unsigned after,
			   struct perch__feature *feature);
/* The first attr field that is not zero at or beyond an offset, with its release. */
bool perch__field_beyond(const struct perch_attr *attr, size_t offset,
			 struct perch__feature *feature);
/* Takes a feature out: its bits where the field has other, older ones, else the whole field. */
void perch__drop_feature(struct perch_attr *attr, const struct perch__feature *feature);

/* Writes the value of a placeholder of the rules' sentences. False: no such placeholder. */
bool perch__placeholder(const struct perch__case *c, const char *name, size_t length, char *buffer,
			size_t size);

#endif
