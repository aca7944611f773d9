/* SPDX-License-Identifier: MIT */
/* The profiles of groups as series of Pyroscope. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groups.h"
#include "push/push.h"

/* Fills the labels of a series: a service, which it must have, and the host, unless the group has
 * them, too: the last label of a name counts. */
static void fill_series(const struct agent_labels *labels, const char *host,
			struct agent_pyroscope_series *series, struct agent_pyroscope_label *label)
{
	series->label = label;
	label[series->nr_labels++] =
		(struct agent_pyroscope_label){ AGENT_SERVICE_NAME, "unknown_service" };
	if (*host)
		label[series->nr_labels++] = (struct agent_pyroscope_label){ "host.name", host };
	for (size_t i = 0; i < labels->nr; i++)
		label[series->nr_labels++] =
			(struct agent_pyroscope_label){ agent_label_key(labels, i),
							agent_label_value(labels, i) };
}

int agent_groups_put(const struct agent_groups *groups, const struct agent_pprof *pprof,
		     const uint8_t *profile_id, FILE *out, struct perch_error *err)
{
	struct agent_pyroscope_series *series = calloc(groups->nr, sizeof(*series));
	struct agent_pyroscope_label(*label)[AGENT_LABELS_MAX + 2] =
		calloc(groups->nr, sizeof(*label));
	char host[HOST_NAME_MAX + 1] = "";
	void *bytes = NULL;
	size_t size;
	int rc = series && label ? 0 : -ENOMEM;

	if (gethostname(host, sizeof(host) - 1))
		*host = 0;
	for (size_t i = 0; i < groups->nr && !rc; i++) {
		fill_series(&groups->labels[i], host, &series[i], label[i]);
		series[i].pprof = pprof[i].bytes;
		series[i].size = pprof[i].size;
	}
	if (!rc)
		rc = agent_pyroscope_request(series, groups->nr, profile_id, &bytes, &size);
	if (!rc && fwrite(bytes, 1, size, out) != size)
		rc = -EIO;
	free(bytes);
	free(series);
	free(label);
	return rc ? perch_error_set(err, -rc, PERCH_ERROR_FILE, "a window cannot be written: %s",
				    strerror(-rc))
		  : 0;
}
