/* SPDX-License-Identifier: MIT */
/* Prints the records of a child process from fork to exit: one function for each record type. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/fields.h>
#include <perch/sampler.h>

struct counts {
	int forks, names, mappings, exits;
};

static int fork_record(void *context, const struct perch_record *record)
{
	((struct counts *)context)->forks++;
	printf("thread %u was started by %u\n", record->task.tid, record->task.ptid);
	return 0;
}

static int comm_record(void *context, const struct perch_record *record)
{
	char name[64];

	((struct counts *)context)->names++;
	perch_clean_text(record->comm.comm.text, name, sizeof(name));
	printf("thread %u has the name %s%s\n", record->comm.tid, name,
	       record->comm.exec ? ", by exec" : "");
	return 0;
}

static int mmap_record(void *context, const struct perch_record *record)
{
	char file[256];

	((struct counts *)context)->mappings++;
	perch_clean_text(record->mmap.filename.text, file, sizeof(file));
	printf("process %u maps %s\n", record->mmap.pid, file);
	return 0;
}

static int exit_record(void *context, const struct perch_record *record)
{
	((struct counts *)context)->exits++;
	printf("thread %u ended\n", record->task.tid);
	return 0;
}

/* Prints each number of a record: this works for all record types, also unknown ones. */
static int print_field(void *context, const struct perch_field *field)
{
	const char *type = context;

	if (field->name && (field->kind == PERCH_FIELD_NUMBER || field->kind == PERCH_FIELD_SIGNED))
		printf("%s: %s is %lld\n", type, field->name, (long long)field->value);
	return 0;
}

static int other_record(void *context, const struct perch_record *record)
{
	const char *name = perch_record_name(record->type);

	(void)context;
	return perch_record_fields(record, perch_arch_here(), print_field,
				   (void *)(name ? name : "unknown"));
}

static int run_true(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

int main(void)
{
	static const struct perch_visitor visitor = {
		.fork = fork_record,
		.comm = comm_record,
		.mmap = mmap_record,
		.exit = exit_record,
		.other = other_record,
	};
	struct perch_sampler_options options = {
		.event = { .inherit = 1,
			   .sideband = PERCH_SIDEBAND_TASK | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_MMAP },
	};
	struct perch_sampler *sampler = NULL;
	struct perch_record record;
	struct perch_error err;
	struct counts counts = { 0 };
	int rc;

	if (perch_sampler_open(&sampler, "dummy:u", NULL, &options, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	perch_sampler_enable(sampler, NULL);
	if (run_true())
		return 1;
	while ((rc = perch_sampler_next(sampler, &record, NULL)) > 0)
		perch_record_visit(&record, &visitor, &counts);
	perch_sampler_close(sampler);
	return rc < 0 || counts.forks != 1 || counts.names != 1 || !counts.mappings ||
	       counts.exits != 1;
}
