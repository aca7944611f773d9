/* SPDX-License-Identifier: MIT */
/*
 * OTLP profiles: an ExportProfilesServiceRequest message (otlp.proto). What profiles refer to is in
 * a dictionary, and an item is written to it when it is first referred to: it has no other ones.
 */
#ifndef PERCH_EXPORT_OTLP_H
#define PERCH_EXPORT_OTLP_H

#include "encoder.h"
#include "otlp.pb-c.h"

enum otlp_table {
	OTLP_TEXTS,
	OTLP_ATTRIBUTES, /* labels */
	OTLP_MAPPINGS,
	OTLP_FUNCTIONS,
	OTLP_LOCATIONS,
	OTLP_STACKS,
	OTLP_NR_TABLES,
};

struct otlp {
	struct perch_encoder *encoder;
	struct encoder_bytes dictionary; /* a ProfilesDictionary */
	int32_t *index[OTLP_NR_TABLES];	 /* by number: in the dictionary; 0: not written yet */
	int32_t nr[OTLP_NR_TABLES];	 /* items of the dictionary, with the empty ones */
	int32_t *location;		 /* of one stack */
	size_t nr_locations;
};

/* Makes a dictionary with the empty items. Returns 0 or a negative errno; the caller clears it in
 * both cases. All texts have been added. */
int perch__otlp_dictionary_open(struct otlp *otlp);
void perch__otlp_dictionary_clear(struct otlp *otlp);

/* Return the index in the dictionary of the item with a number, which is 0 for 0; or a negative
 * errno. */
int perch__otlp_text(struct otlp *otlp, uint32_t number);
int perch__otlp_attribute(struct otlp *otlp, uint32_t label);
int perch__otlp_stack(struct otlp *otlp, uint32_t number);

/* Sets the value of a label. */
void perch__otlp_value(const struct perch_encoder *encoder, const struct encoder_label *label,
		       Perch__Otlp__AnyValue *value);

#endif
