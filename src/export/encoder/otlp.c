/* SPDX-License-Identifier: MIT */
/* OTLP: profiles, their samples and resources. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/version.h>

#include "base/array.h"
#include "otlp.h"

struct writer {
	struct otlp otlp;
	struct encoder_output *output;
	uint32_t cpu_type[2], samples_type[2]; /* texts: name and unit */
	/* by number of a set of labels: those of the resource, and the others, as numbers of lists;
	 * 0: none */
	struct encoder_lists lists;
	uint32_t *resource, *attributes;
	size_t *times; /* by number of a sum: the first of its times in encoder.time */
	uint32_t nr_profiles;
	/* of one sample */
	int32_t *attribute;
	int64_t *value;
	uint64_t *time;
	size_t attribute_capacity, value_capacity, time_capacity;
};

/* ---- labels ---- */

/* Makes the lists of a set. Returns 0 or -ENOMEM. */
static int split_set(struct writer *writer, uint32_t set)
{
	const struct perch_encoder *encoder = writer->otlp.encoder;
	size_t nr, used[2] = { 0 };
	const uint32_t *word = perch__encoder_words(&encoder->label_sets, set, &nr);
	uint32_t *part = calloc(2 * nr + 1, sizeof(*part));
	uint32_t *to[2] = { &writer->attributes[set], &writer->resource[set] };
	int rc = part ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !rc; i++) {
		bool resource = ENCODER_ITEM(encoder_label, encoder->label, word[i])->resource;

		part[resource * nr + used[resource]++] = word[i];
	}
	for (size_t i = 0; i < 2 && !rc; i++) {
		if (!used[i])
			continue;
		*to[i] = perch__encoder_list(&writer->lists, part + i * nr, used[i]);
		rc = *to[i] ? 0 : -ENOMEM;
	}
	free(part);
	return rc;
}

static int split_labels(struct writer *writer)
{
	const struct perch_encoder *encoder = writer->otlp.encoder;
	int rc = 0;

	writer->resource = calloc(encoder->label_sets.nr + 1, sizeof(uint32_t));
	writer->attributes = calloc(encoder->label_sets.nr + 1, sizeof(uint32_t));
	if (!writer->resource || !writer->attributes)
		return -ENOMEM;
	for (uint32_t i = 1; i <= encoder->label_sets.nr && !rc; i++)
		rc = i == encoder->labels ? 0 : split_set(writer, i);
	return rc;
}

/* ---- samples ---- */

static int set_attributes(struct writer *writer, uint32_t list, size_t *nr)
{
	const uint32_t *word = list ? perch__encoder_words(&writer->lists, list, nr) : NULL;

	if (PERCH__ARRAY_RESERVE(writer->attribute, writer->attribute_capacity, *nr))
		return -ENOMEM;
	for (size_t i = 0; i < *nr; i++) {
		writer->attribute[i] = perch__otlp_attribute(&writer->otlp, word[i]);
		if (writer->attribute[i] < 0)
			return writer->attribute[i];
	}
	return 0;
}

/* Sets the times of a sample and their values, which all are 1 if it has none. */
static int set_times(struct writer *writer, uint32_t number, bool is_cpu,
		     Perch__Otlp__Sample *sample)
{
	const struct perch_encoder *encoder = writer->otlp.encoder;
	const struct encoder_time *time = encoder->time + writer->times[number];
	size_t nr = writer->times[number + 1] - writer->times[number];

	if (PERCH__ARRAY_RESERVE(writer->time, writer->time_capacity, nr) ||
	    PERCH__ARRAY_RESERVE(writer->value, writer->value_capacity, nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		writer->time[i] = time[i].time;
		writer->value[i] = (int64_t)time[i].value;
	}
	sample->n_timestamps_unix_nano = nr;
	sample->timestamps_unix_nano = writer->time;
	sample->n_values = is_cpu && !encoder->several ? 0 : nr;
	sample->values = writer->value;
	return 0;
}

static int put_sum(struct writer *writer, uint32_t number, struct encoder_bytes *bytes)
{
	const struct perch_encoder *encoder = writer->otlp.encoder;
	const struct encoder_sum *sum = ENCODER_ITEM(encoder_sum, encoder->sums, number);
	bool is_cpu = sum->event == encoder->cpu;
	int64_t value = (int64_t)(is_cpu ? sum->samples : sum->value);
	Perch__Otlp__Profile profile = PERCH__OTLP__PROFILE__INIT;
	Perch__Otlp__Sample sample = PERCH__OTLP__SAMPLE__INIT, *samples = &sample;
	int rc = set_attributes(writer, writer->attributes[sum->labels],
				&sample.n_attribute_indices);

	if (rc)
		return rc;
	sample.attribute_indices = writer->attribute;
	sample.stack_index = perch__otlp_stack(&writer->otlp, sum->stack);
	if (sample.stack_index < 0)
		return sample.stack_index;
	sample.n_values = 1;
	sample.values = &value;
	if (encoder->options.timestamps)
		rc = set_times(writer, number, is_cpu, &sample);
	profile.n_samples = 1;
	profile.samples = &samples;
	return rc ? rc : perch__encoder_put(bytes, &profile.base);
}

/* ---- profiles ---- */

static int set_type(struct writer *writer, uint32_t name, uint32_t unit,
		    Perch__Otlp__ValueType *type)
{
	perch__otlp__value_type__init(type);
	type->type_strindex = perch__otlp_text(&writer->otlp, name);
	type->unit_strindex = perch__otlp_text(&writer->otlp, unit);
	return type->type_strindex < 0	 ? type->type_strindex
	       : type->unit_strindex < 0 ? type->unit_strindex
					 : 0;
}

/* Writes what all samples of an event have. */
static int put_head(struct writer *writer, uint32_t index, struct encoder_bytes *bytes)
{
	const struct perch_encoder *encoder = writer->otlp.encoder;
	const struct encoder_event *event = &encoder->event[index];
	bool is_cpu = index == encoder->cpu;
	Perch__Otlp__Profile profile = PERCH__OTLP__PROFILE__INIT;
	Perch__Otlp__ValueType sample_type, period_type;
	const uint32_t own[2] = { event->name, event->unit };
	const uint32_t *samples = is_cpu ? writer->samples_type : own;
	const uint32_t *between = is_cpu ? writer->cpu_type : own;
	int rc = set_type(writer, samples[0], samples[1], &sample_type);

	profile.sample_type = &sample_type;
	profile.time_unix_nano = encoder->options.time_ns;
	profile.duration_nano = encoder->options.duration_ns;
	profile.period = (int64_t)(is_cpu ? event->sample_ns : event->period);
	if (!rc && profile.period) {
		rc = set_type(writer, between[0], between[1], &period_type);
		profile.period_type = &period_type;
	}
	return rc ? rc : perch__encoder_put(bytes, &profile.base);
}

/* Writes the id of a profile: of its contents, or made of the one that was given. */
static int put_id(struct writer *writer, struct encoder_bytes *bytes)
{
	static const uint8_t none[16];
	const struct encoder_bytes *dictionary = &writer->otlp.dictionary;
	Perch__Otlp__Profile profile = PERCH__OTLP__PROFILE__INIT;
	uint32_t number = writer->nr_profiles++, end;
	uint64_t hash[2];
	uint8_t id[16];

	memcpy(id, writer->otlp.encoder->profile_id, sizeof(id));
	if (!memcmp(id, none, sizeof(id))) {
		for (size_t i = 0; i < 2; i++) {
			hash[i] = perch__hash_bytes(i + 1, bytes->byte, bytes->nr);
			hash[i] = perch__hash_bytes(hash[i], dictionary->byte, dictionary->nr);
		}
		memcpy(id, hash, sizeof(id));
	}
	memcpy(&end, id + 12, sizeof(end));
	end ^= number;
	memcpy(id + 12, &end, sizeof(end));
	profile.profile_id = (ProtobufCBinaryData){ sizeof(id), id };
	return perch__encoder_put(bytes, &profile.base);
}

/* Writes the profile of an event of a resource: sums that follow each other. */
static int put_profile(struct writer *writer, const uint32_t *number, size_t nr,
		       struct encoder_bytes *scope)
{
	const struct encoder_sum *first =
		ENCODER_ITEM(encoder_sum, writer->otlp.encoder->sums, number[0]);
	Perch__Otlp__ScopeProfiles message = PERCH__OTLP__SCOPE_PROFILES__INIT;
	struct encoder_bytes bytes = { 0 };
	ProtobufCBinaryData data;
	int rc = put_head(writer, first->event, &bytes);

	for (size_t i = 0; i < nr && !rc; i++)
		rc = put_sum(writer, number[i], &bytes);
	if (!rc)
		rc = put_id(writer, &bytes);
	data = (ProtobufCBinaryData){ bytes.nr, bytes.byte };
	message.n_profiles = 1;
	message.profiles = &data;
	if (!rc)
		rc = perch__encoder_put(scope, &message.base);
	free(bytes.byte);
	return rc;
}

/* ---- resources ---- */

static int put_attribute(const struct perch_encoder *encoder, uint32_t number,
			 struct encoder_bytes *bytes)
{
	const struct encoder_label *label = ENCODER_ITEM(encoder_label, encoder->label, number);
	Perch__Otlp__Resource resource = PERCH__OTLP__RESOURCE__INIT;
	Perch__Otlp__KeyValue item = PERCH__OTLP__KEY_VALUE__INIT, *items = &item;
	Perch__Otlp__AnyValue value;

	perch__otlp_value(encoder, label, &value);
	item.key = (char *)perch__export_text(&encoder->texts, label->key);
	item.value = &value;
	resource.n_attributes = 1;
	resource.attributes = &items;
	return perch__encoder_put(bytes, &resource.base);
}

/* Writes the labels that all resources have, then those of one. */
static int put_labels(const struct writer *writer, uint32_t resource, struct encoder_bytes *bytes)
{
	const struct perch_encoder *encoder = writer->otlp.encoder;
	const struct encoder_lists *lists[2] = { &encoder->label_sets, &writer->lists };
	const uint32_t number[2] = { encoder->labels, resource };
	int rc = 0;

	for (size_t i = 0; i < 2; i++) {
		size_t nr = 0;
		const uint32_t *word = number[i] ? perch__encoder_words(lists[i], number[i], &nr)
						 : NULL;

		for (size_t j = 0; j < nr && !rc; j++)
			rc = put_attribute(encoder, word[j], bytes);
	}
	return rc;
}

static int put_scope(struct encoder_bytes *bytes)
{
	Perch__Otlp__ScopeProfiles message = PERCH__OTLP__SCOPE_PROFILES__INIT;
	Perch__Otlp__InstrumentationScope scope = PERCH__OTLP__INSTRUMENTATION_SCOPE__INIT;
	char name[] = "perch", version[] = PERCH_VERSION_STRING;

	scope.name = name;
	scope.version = version;
	message.scope = &scope;
	return perch__encoder_put(bytes, &message.base);
}

/* Writes a ResourceProfiles message to the file. */
static int put_resource(struct writer *writer, const struct encoder_bytes *labels,
			const struct encoder_bytes *scope)
{
	Perch__Otlp__ExportProfilesServiceRequest request =
		PERCH__OTLP__EXPORT_PROFILES_SERVICE_REQUEST__INIT;
	Perch__Otlp__ResourceProfiles profiles = PERCH__OTLP__RESOURCE_PROFILES__INIT;
	ProtobufCBinaryData in_profiles[2] = { { labels->nr, labels->byte },
					       { scope->nr, scope->byte } };
	struct encoder_bytes bytes = { 0 }, whole = { 0 };
	ProtobufCBinaryData in_request;
	int rc;

	profiles.resource = in_profiles[0];
	profiles.n_scope_profiles = 1;
	profiles.scope_profiles = &in_profiles[1];
	rc = perch__encoder_put(&bytes, &profiles.base);
	in_request = (ProtobufCBinaryData){ bytes.nr, bytes.byte };
	request.n_resource_profiles = 1;
	request.resource_profiles = &in_request;
	if (!rc)
		rc = perch__encoder_put(&whole, &request.base);
	if (!rc)
		rc = perch__encoder_flush(writer->output, &whole);
	free(bytes.byte);
	free(whole.byte);
	return rc;
}

/* Writes the profiles of a resource: sums that follow each other. */
static int put_profiles(struct writer *writer, const uint32_t *number, size_t nr)
{
	const struct encoder_items *sums = &writer->otlp.encoder->sums;
	uint32_t set = ENCODER_ITEM(encoder_sum, *sums, number[0])->labels;
	struct encoder_bytes labels = { 0 }, scope = { 0 };
	int rc = put_labels(writer, writer->resource[set], &labels);

	if (!rc)
		rc = put_scope(&scope);
	for (size_t i = 0, end; i < nr && !rc; i = end) {
		uint32_t event = ENCODER_ITEM(encoder_sum, *sums, number[i])->event;

		for (end = i; end < nr; end++)
			if (ENCODER_ITEM(encoder_sum, *sums, number[end])->event != event)
				break;
		rc = put_profile(writer, number + i, end - i, &scope);
	}
	if (!rc)
		rc = put_resource(writer, &labels, &scope);
	free(labels.byte);
	free(scope.byte);
	return rc;
}

/* ---- the request ---- */

static int compare_sums(const void *left, const void *right, void *context)
{
	const struct writer *writer = context;
	const struct encoder_items *sums = &writer->otlp.encoder->sums;
	const struct encoder_sum *a = ENCODER_ITEM(encoder_sum, *sums, *(const uint32_t *)left);
	const struct encoder_sum *b = ENCODER_ITEM(encoder_sum, *sums, *(const uint32_t *)right);
	uint32_t a_resource = writer->resource[a->labels], b_resource = writer->resource[b->labels];

	if (a_resource != b_resource)
		return a_resource < b_resource ? -1 : 1;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->labels != b->labels)
		return a->labels < b->labels ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Writes all resources. */
static int put_resources(struct writer *writer)
{
	const struct encoder_items *sums = &writer->otlp.encoder->sums;
	uint32_t *sorted = perch__encoder_numbers(sums);
	int rc = sorted ? 0 : -ENOMEM;

	if (sorted)
		qsort_r(sorted, sums->nr, sizeof(*sorted), compare_sums, writer);
	for (size_t i = 0, end; i < sums->nr && !rc; i = end) {
		uint32_t set = ENCODER_ITEM(encoder_sum, *sums, sorted[i])->labels;

		for (end = i; end < sums->nr; end++)
			if (writer->resource[ENCODER_ITEM(encoder_sum, *sums, sorted[end])
						     ->labels] != writer->resource[set])
				break;
		rc = put_profiles(writer, sorted + i, end - i);
	}
	free(sorted);
	return rc;
}

static int put_dictionary(struct writer *writer)
{
	const struct encoder_bytes *from = &writer->otlp.dictionary;
	Perch__Otlp__ExportProfilesServiceRequest request =
		PERCH__OTLP__EXPORT_PROFILES_SERVICE_REQUEST__INIT;
	struct encoder_bytes bytes = { 0 };
	int rc;

	request.dictionary = (ProtobufCBinaryData){ from->nr, from->byte };
	rc = perch__encoder_put(&bytes, &request.base);
	if (!rc)
		rc = perch__encoder_flush(writer->output, &bytes);
	free(bytes.byte);
	return rc;
}

static int compare_times(const void *left, const void *right)
{
	const struct encoder_time *a = left, *b = right;

	if (a->sum != b->sum)
		return a->sum < b->sum ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* Sorts the times, by sum. Returns 0 or -ENOMEM. */
static int sort_times(struct writer *writer)
{
	struct perch_encoder *encoder = writer->otlp.encoder;

	writer->times = calloc(encoder->sums.nr + 2, sizeof(*writer->times));
	if (!writer->times)
		return -ENOMEM;
	if (encoder->nr_times)
		qsort(encoder->time, encoder->nr_times, sizeof(*encoder->time), compare_times);
	for (size_t i = 0; i < encoder->nr_times; i++)
		writer->times[encoder->time[i].sum + 1]++;
	for (size_t i = 0; i <= encoder->sums.nr; i++)
		writer->times[i + 1] += writer->times[i];
	return 0;
}

/* Adds the texts of CPU time. Returns 0 or -ENOMEM. */
static int add_texts(struct writer *writer)
{
	static const char *const texts[] = { "samples", "count", "cpu", "nanoseconds" };
	uint32_t *const to[] = { &writer->samples_type[0], &writer->samples_type[1],
				 &writer->cpu_type[0], &writer->cpu_type[1] };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*to[i] = perch__encoder_text(writer->otlp.encoder, texts[i]);
		if (*to[i] == NO_INDEX)
			return -ENOMEM;
	}
	return 0;
}

int perch__encoder_otlp(struct perch_encoder *encoder, struct encoder_output *output)
{
	struct writer writer = { .otlp.encoder = encoder, .output = output };
	int rc = add_texts(&writer);

	writer.lists.table.seed = encoder->texts.table.seed;
	if (!rc)
		rc = perch__otlp_dictionary_open(&writer.otlp);
	if (!rc)
		rc = split_labels(&writer);
	if (!rc)
		rc = sort_times(&writer);
	if (!rc)
		rc = put_resources(&writer);
	if (!rc)
		rc = put_dictionary(&writer);
	perch__otlp_dictionary_clear(&writer.otlp);
	perch__encoder_lists_clear(&writer.lists);
	free(writer.resource);
	free(writer.attributes);
	free(writer.times);
	free(writer.attribute);
	free(writer.value);
	free(writer.time);
	return rc;
}
