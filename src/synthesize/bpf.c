/* SPDX-License-Identifier: MIT */
/* The BPF programs that are loaded, by bpf(2). */
#include <stdlib.h>
#include <string.h>

#include "base/kernel/bpf.h"
#include "internal.h"

struct ksymbol_body {
	uint64_t address;
	uint32_t length;
	uint16_t type, flags;
};

struct bpf_event_body {
	uint16_t type, flags;
	uint32_t id;
	uint8_t tag[PERCH__BPF_TAG_SIZE];
};

/* The kernel hides addresses from users without the right to see them: they are 0. */
static bool add_functions(struct perch__batch *batch, const struct perch__bpf_program *program,
			  const struct perch__btf *btf)
{
	struct ksymbol_body body = { .type = PERCH_RECORD_KSYMBOL_TYPE_BPF };
	bool any = false;
	char name[512];

	for (uint32_t i = 0; perch__bpf_function(program, i, &body.address, &body.length); i++) {
		if (!body.address || !body.length)
			continue;
		perch__bpf_function_name(program, btf, i, name, sizeof(name));
		perch__batch_add(batch, PERCH_RECORD_KSYMBOL, PERCH_MISC_KERNEL, &body,
				 sizeof(body), name);
		any = true;
	}
	return any;
}

static void add_program(struct perch__batch *batch, const struct perch__bpf_calls *calls,
			const struct perch__bpf_program *program)
{
	struct bpf_event_body body = { .type = PERCH_BPF_EVENT_PROG_LOAD, .id = program->info.id };
	struct perch__btf btf;
	uint8_t *owned = NULL;
	bool has_btf = program->info.btf &&
		       !perch__btf_read(calls, program->info.btf, &btf, &owned);

	if (add_functions(batch, program, has_btf ? &btf : NULL)) {
		memcpy(body.tag, program->info.tag, sizeof(body.tag));
		perch__batch_add(batch, PERCH_RECORD_BPF_EVENT, PERCH_MISC_KERNEL, &body,
				 sizeof(body), NULL);
	} else {
		batch->counts.denied++;
	}
	free(owned);
}

int perch__add_bpf(struct perch__batch *batch)
{
	const struct perch_syscalls *table = perch_machine_syscalls(batch->machine);
	const struct perch__bpf_calls calls = { table->context,
						table->bpf ? table->bpf : perch_kernel_syscalls.bpf,
						table->close };
	struct perch__bpf_program program;
	uint32_t id = 0;
	int rc;

	while (!batch->rc && !(rc = perch__bpf_next(&calls, &id))) {
		rc = perch__bpf_read(&calls, id, &program);
		if (rc == -ENOENT) {
			batch->counts.ended++;
			continue;
		}
		if (rc < 0)
			break;
		add_program(batch, &calls, &program);
		perch__bpf_free(&program);
	}
	if (batch->rc || rc == -ENOENT)
		return 0;
	if (rc == -EPERM || rc == -EACCES || rc == -ENOSYS) {
		rc = perch_error_set(batch->err, EACCES, PERCH_ERROR_PRIVILEGE,
				     "this user may not list BPF programs");
		perch_error_remedy(batch->err, "run as root or with CAP_SYS_ADMIN");
		return rc;
	}
	return perch_error_set(batch->err, -rc, PERCH_ERROR_SYSTEM,
			       "BPF programs cannot be read: %s", strerror(-rc));
}
