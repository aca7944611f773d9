/* SPDX-License-Identifier: MIT */
/* Requests of Pyroscope's Push API: the Connect protocol is a POST of one message. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "push.h"
#include "push.pb-c.h"

/* Series with more labels are refused by servers (30 by default). */
enum { LABELS_MAX = 30, UUID_BYTES = 37 };

struct series {
	Perch__Push__RawProfileSeries message;
	Perch__Push__RawSample sample, *samples;
	Perch__Push__LabelPair label[LABELS_MAX], *labels[LABELS_MAX];
	char *names[LABELS_MAX];
};

/* Sets a label. A server refuses a series with two labels of one name. */
static int set_label(struct series *series, const char *from, const char *value)
{
	Perch__Push__LabelPair *label;
	char *name = strdup(from);
	size_t nr = series->message.n_labels, i = 0;

	if (!name)
		return -ENOMEM;
	agent_plain_name(name);
	while (i < nr && strcmp(series->names[i], name))
		i++;
	if (i == LABELS_MAX || i < nr)
		free(name);
	if (i == LABELS_MAX)
		return 0;
	label = &series->label[i];
	if (i == nr) {
		perch__push__label_pair__init(label);
		label->name = series->names[i] = name;
		series->labels[i] = label;
		series->message.n_labels++;
	}
	label->value = (char *)value;
	return 0;
}

static int fill_series(struct series *series, const struct agent_pyroscope_series *from, char *uuid)
{
	int rc;

	perch__push__raw_profile_series__init(&series->message);
	perch__push__raw_sample__init(&series->sample);
	series->sample.raw_profile.data = (uint8_t *)from->pprof;
	series->sample.raw_profile.len = from->size;
	series->sample.id = uuid;
	series->samples = &series->sample;
	series->message.n_samples = 1;
	series->message.samples = &series->samples;
	series->message.labels = series->labels;
	rc = set_label(series, "__name__", "process_cpu");
	for (size_t i = 0; i < from->nr_labels && !rc; i++)
		rc = set_label(series, from->label[i].name, from->label[i].value);
	return rc ? rc : set_label(series, "__name__", "process_cpu");
}

/* Each series has an id of its own: the one of the window, with its number. */
static void make_uuid(const uint8_t id[AGENT_PROFILE_ID], size_t number, char uuid[UUID_BYTES])
{
	uint8_t byte[AGENT_PROFILE_ID];
	size_t at = 0;

	memcpy(byte, id, sizeof(byte));
	byte[15] ^= (uint8_t)number;
	byte[14] ^= (uint8_t)(number >> 8);
	/* version 4: at random */
	byte[6] = (byte[6] & 0x0f) | 0x40;
	byte[8] = (byte[8] & 0x3f) | 0x80;
	for (size_t i = 0; i < sizeof(byte); i++)
		at += (size_t)snprintf(uuid + at, UUID_BYTES - at,
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				       byte[i]);
}

static int pack_request(const Perch__Push__PushRequest *request, void **bytes, size_t *size)
{
	size_t packed = perch__push__push_request__get_packed_size(request);

	if (packed > AGENT_BODY_MAX)
		return -EFBIG;
	*bytes = malloc(packed + 1);
	if (!*bytes)
		return -ENOMEM;
	*size = perch__push__push_request__pack(request, *bytes);
	return 0;
}

int agent_pyroscope_request(const struct agent_pyroscope_series *series, size_t nr,
			    const uint8_t profile_id[AGENT_PROFILE_ID], void **bytes, size_t *size)
{
	Perch__Push__PushRequest request = PERCH__PUSH__PUSH_REQUEST__INIT;
	struct series *filled = calloc(nr + 1, sizeof(*filled));
	char(*uuid)[UUID_BYTES] = calloc(nr + 1, sizeof(*uuid));
	int rc = 0;

	request.series = calloc(nr + 1, sizeof(*request.series));
	request.n_series = nr;
	*bytes = NULL;
	*size = 0;
	if (!filled || !uuid || !request.series)
		rc = -ENOMEM;
	for (size_t i = 0; i < nr && !rc; i++) {
		make_uuid(profile_id, i, uuid[i]);
		rc = fill_series(&filled[i], &series[i], uuid[i]);
		request.series[i] = &filled[i].message;
	}
	if (!rc)
		rc = pack_request(&request, bytes, size);
	for (size_t i = 0; filled && i < nr; i++)
		for (size_t k = 0; k < LABELS_MAX; k++)
			free(filled[i].names[k]);
	free(filled);
	free(uuid);
	free(request.series);
	return rc;
}
