/* SPDX-License-Identifier: MIT */
/*
 * Expressions over the fields of tracepoints, in the syntax of the kernel's filters:
 *
 *	expression = all { "||" all }
 *	all        = one { "&&" one }
 *	one        = "!" one | "(" expression ")" | field operator value
 *	value      = number | "text" | 'text'
 *
 * A recording has several tracepoints, with other fields each: a comparison with a field that the
 * tracepoint of a sample lacks is neither true nor false, as NULL in SQL.
 *
 *   filter_expression.c  parses an expression, and finds the fields in each event
 *   filter_compute.c     computes it for a sample
 */
#ifndef PERCH_SESSION_FILTER_EXPRESSION_H
#define PERCH_SESSION_FILTER_EXPRESSION_H

#include <stdbool.h>
#include <perch/tracepoint.h>

#define FILTER_MAX_NAME 128 /* bytes of the name of a field, with the NUL */

enum operation { EQUAL, NOT_EQUAL, LIKE, AT_MOST, LESS, AT_LEAST, MORE, BITS };

struct comparison {
	char field[FILTER_MAX_NAME];
	enum operation operation;
	bool is_text, negative, inverted; /* inverted: the text began with '!' */
	uint64_t number;
	const char *text; /* in expression.text */
	size_t length;
	size_t column; /* of the field */
};

enum node_kind { COMPARE, NOT, ALL, ANY };

/* A part of the expression; its parts are a list. */
struct expression_node {
	enum node_kind kind;
	uint32_t first, next; /* nodes; 0 is none */
	uint32_t comparison;
};

/* What a comparison reads from the samples of an event. */
enum source { NOTHING, NUMBER, TEXT, COMM, CPU };

struct operand {
	enum source source;
	const struct perch_tracepoint_field *field;
	uint64_t value; /* to compare a number with: as the field is extended to 64 bits */
};

struct filter_expression {
	char *text;
	struct expression_node *node; /* the first one is not used */
	size_t nr_nodes, nodes_capacity;
	struct comparison *comparison;
	size_t nr_comparisons, comparisons_capacity;
	struct operand *operand; /* by event, then by comparison */
	size_t nr_events;
	uint32_t root;
	bool has_comm;
};

/*
 * Parses an expression. formats: of nr events, NULL for those without. They must outlive the
 * expression. Returns 0 or a negative errno: -EINVAL if the expression is wrong, or compares a
 * field that no format has.
 */
int perch__filter_expression_new(struct filter_expression **expression, const char *text,
				 const struct perch_tracepoint_format *const *formats, size_t nr,
				 struct perch_error *err);
void perch__filter_expression_free(struct filter_expression *expression);
/* True if a comparison is with the name of the thread. */
bool perch__filter_expression_has_comm(const struct filter_expression *expression);
/* True if the event has a field of the expression. */
bool perch__filter_expression_is_of(const struct filter_expression *expression, size_t event);
/* True if the expression is true for a sample of the event. comm: the name of its thread, or NULL.
 */
bool perch__filter_expression_match(const struct filter_expression *expression, size_t event,
				    const struct perch_record *record, const char *comm);

#endif
