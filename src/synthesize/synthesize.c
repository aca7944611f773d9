/* SPDX-License-Identifier: MIT */
/* The public functions. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Makes one batch of the records that add adds. subject: see perch__batch. */
static int make_batch(int (*add)(struct perch__batch *batch), const void *subject,
		      const struct perch_synthesize_options *options, struct perch_machine *machine,
		      perch_synthesize_sink *sink, void *context,
		      struct perch_synthesize_counts *counts, struct perch_error *err)
{
	struct perch__batch *batch;
	int rc = perch__batch_new(&batch, machine, options, sink, context, err);

	if (rc)
		return rc;
	batch->subject = subject;
	return perch__batch_end(batch, add(batch), counts);
}

/* ---- One process ---- */

static int add_process(struct perch__batch *batch)
{
	pid_t pid = *(const pid_t *)batch->subject;
	struct perch_error *err = batch->err;
	int errnum, rc = 0;

	pid = pid ? perch__process_of(batch, pid) : getpid();
	errnum = perch__add_process(batch, pid);
	if (errnum == ESRCH) {
		rc = perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
				     "there is no process or thread %d", (int)pid);
	} else if (errnum == EACCES) {
		rc = perch_error_set(
			err, EACCES, PERCH_ERROR_PRIVILEGE,
			"this user may not read the mappings or namespaces of process %d",
			(int)pid);
		perch_error_remedy(
			err, "run as the user of the process, as root or with CAP_SYS_PTRACE");
	} else if (errnum) {
		rc = perch_error_set(err, errnum, PERCH_ERROR_FILE,
				     "the files of process %d in /proc cannot be read: %s",
				     (int)pid, strerror(errnum));
	}
	return rc;
}

int perch_synthesize_process(pid_t pid, const struct perch_synthesize_options *options,
			     struct perch_machine *machine, perch_synthesize_sink *sink,
			     void *context, struct perch_synthesize_counts *counts,
			     struct perch_error *err)
{
	if (pid < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "pid is %d; it must be a process, or 0", (int)pid);
	return make_batch(add_process, &pid, options, machine, sink, context, counts, err);
}

/* ---- Several processes ---- */

int perch_synthesize_all_processes(const struct perch_synthesize_options *options,
				   struct perch_machine *machine, perch_synthesize_sink *sink,
				   void *context, struct perch_synthesize_counts *counts,
				   struct perch_error *err)
{
	return make_batch(perch__add_all_processes, NULL, options, machine, sink, context, counts,
			  err);
}

static int add_target(struct perch__batch *batch, struct perch__done *done, pid_t tid)
{
	pid_t pid = tid ? perch__process_of(batch, tid) : getpid();
	int rc = perch__add_done(batch, done, pid);

	return rc > 0 ? perch__add_process_or_count(batch, pid) : rc;
}

static bool has_other_targets_than_threads(const struct perch_targets *targets)
{
	for (size_t i = 0; i < targets->nr; i++)
		if (targets->target[i].tid < 0 || targets->target[i].use_cgroup)
			return true;
	return false;
}

static int add_targets(struct perch__batch *batch)
{
	const struct perch_targets *targets = batch->subject;
	struct perch__done done = { 0 };
	pid_t last = -1;
	int rc = 0;

	if (!targets)
		return perch__add_process_or_count(batch, getpid());
	if (has_other_targets_than_threads(targets))
		return perch__add_all_processes(batch);
	done.table.seed = perch__hash_seed(&done);
	for (size_t i = 0; !rc && i < targets->nr; i++) {
		pid_t tid = targets->target[i].tid;

		if (tid != last) /* the targets of a thread on several CPUs follow each other */
			rc = add_target(batch, &done, tid);
		last = tid;
	}
	perch__done_clear(&done);
	return rc;
}

int perch_synthesize_targets(const struct perch_targets *targets,
			     const struct perch_synthesize_options *options,
			     struct perch_machine *machine, perch_synthesize_sink *sink,
			     void *context, struct perch_synthesize_counts *counts,
			     struct perch_error *err)
{
	return make_batch(add_targets, targets, options, machine, sink, context, counts, err);
}

/* ---- The kernel, cgroups, BPF programs ---- */

static int add_kernel_and_modules(struct perch__batch *batch)
{
	struct perch_error *err = batch->err;
	int rc = perch__add_kernel(batch), later;

	if (rc)
		batch->err = NULL; /* of the two sources, the first failure is reported */
	later = perch__add_modules(batch);
	batch->err = err;
	return rc ? rc : later;
}

int perch_synthesize_kernel(const struct perch_synthesize_options *options,
			    struct perch_machine *machine, perch_synthesize_sink *sink,
			    void *context, struct perch_synthesize_counts *counts,
			    struct perch_error *err)
{
	return make_batch(add_kernel_and_modules, NULL, options, machine, sink, context, counts,
			  err);
}

int perch_synthesize_cgroups(const struct perch_synthesize_options *options,
			     struct perch_machine *machine, perch_synthesize_sink *sink,
			     void *context, struct perch_synthesize_counts *counts,
			     struct perch_error *err)
{
	return make_batch(perch__add_cgroups, NULL, options, machine, sink, context, counts, err);
}

int perch_synthesize_bpf(const struct perch_synthesize_options *options,
			 struct perch_machine *machine, perch_synthesize_sink *sink, void *context,
			 struct perch_synthesize_counts *counts, struct perch_error *err)
{
	return make_batch(perch__add_bpf, NULL, options, machine, sink, context, counts, err);
}
