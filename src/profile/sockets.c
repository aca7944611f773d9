/* SPDX-License-Identifier: MIT */
/* The sockets of the CPUs of a recording, from its feature CPU_TOPOLOGY. */
#include "internal.h"

#define MAX_CPUS 65536

struct bytes {
	const unsigned char *at;
	size_t left;
	bool swapped;
};

static bool next_word(struct bytes *bytes, uint32_t *word)
{
	if (bytes->left < sizeof(*word))
		return false;
	memcpy(word, bytes->at, sizeof(*word));
	if (bytes->swapped)
		*word = __builtin_bswap32(*word);
	bytes->at += sizeof(*word);
	bytes->left -= sizeof(*word);
	return true;
}

/* Skips a list of texts, each with its length. */
static bool skip_texts(struct bytes *bytes)
{
	uint32_t nr, length;

	if (!next_word(bytes, &nr))
		return false;
	while (nr--) {
		if (!next_word(bytes, &length) || length > bytes->left)
			return false;
		bytes->at += length;
		bytes->left -= length;
	}
	return true;
}

/* Texts of cores and of threads come first; then core and socket of each CPU. */
int perch__sockets_read(struct perch_profile *profile, struct perch_reader *reader)
{
	const void *start = NULL;
	struct bytes bytes = { .swapped = perch_reader_byte_order(reader) != PERCH_BYTES_NATIVE };
	uint32_t core;
	size_t nr;

	if (perch_reader_feature(reader, PERCH_FEATURE_NRCPUS, &start, &bytes.left) < 0 || !start)
		return 0;
	bytes.at = start;
	if (!next_word(&bytes, &core) || core > MAX_CPUS)
		return 0;
	nr = core;
	start = NULL;
	if (perch_reader_feature(reader, PERCH_FEATURE_CPU_TOPOLOGY, &start, &bytes.left) < 0 ||
	    !start)
		return 0;
	bytes.at = start;
	if (!skip_texts(&bytes) || !skip_texts(&bytes))
		return 0;
	profile->socket = calloc(nr + 1, sizeof(*profile->socket));
	if (!profile->socket)
		return -ENOMEM;
	while (profile->nr_sockets < nr && next_word(&bytes, &core) &&
	       next_word(&bytes, &profile->socket[profile->nr_sockets]))
		profile->nr_sockets++;
	return 0;
}
