/* SPDX-License-Identifier: MIT */
/* The sockets of the CPUs of a recording. */
#include "internal.h"

int perch__sockets_read(struct perch_profile *profile, struct perch_reader *reader)
{
	struct perch_cpu_topology *cpus;
	size_t nr;
	int rc = perch_reader_topology(reader, &cpus, &nr);

	if (rc || !nr || cpus[0].socket < 0) {
		free(cpus);
		return rc;
	}
	profile->socket = calloc(nr, sizeof(*profile->socket));
	for (size_t i = 0; profile->socket && i < nr; i++)
		profile->socket[i] = (uint32_t)cpus[i].socket;
	profile->nr_sockets = profile->socket ? nr : 0;
	free(cpus);
	return profile->socket ? 0 : -ENOMEM;
}
