/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Fields of tracepoints: what a sample of a tracepoint has in sample.raw.
 *
 * A format describes the fields of one tracepoint. It is read from tracefs, or parsed from the text
 * that a recording has (perch_reader_tracepoint() of perch/file.h). A value is then read from a
 * record with a field of the format:
 *
 *     const struct perch_tracepoint_field *pid = perch_tracepoint_format_find(format, "next_pid");
 *     ...
 *     if (pid && !perch_tracepoint_get_s64(pid, &record, &value))
 *
 * Reading a value allocates nothing. Offsets and lengths in the format and in the record are
 * checked against the size of sample.raw. Numbers are converted from the byte order of the record.
 *
 * Threads: a format does not change. Any number of threads may use it at the same time.
 *
 * Fork: a format is plain memory. A child can use and free its copy.
 *
 * Signals: perch_tracepoint_format_find(), _fields() and the perch_tracepoint_get_*() functions are
 * async-signal-safe. The others are not.
 */
#ifndef PERCH_TRACEPOINT_H
#define PERCH_TRACEPOINT_H

#include <stdbool.h>
#include <perch/error.h>
#include <perch/fields.h>
#include <perch/machine.h>
#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the bytes of a field are. */
enum perch_tracepoint_kind {
	PERCH_TRACEPOINT_NUMBER,  /**< an integer of 1, 2, 4 or 8 bytes */
	PERCH_TRACEPOINT_POINTER, /**< an address of 4 or 8 bytes */
	PERCH_TRACEPOINT_TEXT,	  /**< an array of char: a string */
	PERCH_TRACEPOINT_ARRAY,	  /**< an array of integers */
	PERCH_TRACEPOINT_BYTES,	  /**< anything else: structs, and arrays of them */
};

/** Where the bytes of a field are. */
enum perch_tracepoint_location {
	PERCH_TRACEPOINT_AT_OFFSET, /**< at offset */
	/** A u32 at offset has their offset from the start of sample.raw, and their size. */
	PERCH_TRACEPOINT_DATA_LOC,
	/** A u32 at offset has their offset from the end of this u32, and their size. Linux 5.17 */
	PERCH_TRACEPOINT_REL_LOC,
	/** From offset to the end of sample.raw, which includes up to 7 bytes of padding. */
	PERCH_TRACEPOINT_TO_END,
};

/** A field of a tracepoint. Strings are those of the format. */
struct perch_tracepoint_field {
	const char *name; /**< "prev_pid" */
	const char *type; /**< C type without the name: "pid_t", "char[16]", "__data_loc char[]" */
	enum perch_tracepoint_kind kind;	 /**< what the bytes are */
	enum perch_tracepoint_location location; /**< where they are */
	uint32_t offset;			 /**< in sample.raw, in bytes */
	uint32_t size;	       /**< at offset, in bytes: 4 for DATA_LOC and REL_LOC; 0 for TO_END */
	uint32_t element_size; /**< of one number in bytes: 1, 2, 4 or 8; 1 for TEXT and BYTES */
	bool is_signed;	       /**< numbers are signed */
	bool is_common;	       /**< all tracepoints have this field: common_type, common_pid... */
	uint64_t reserved[2];  /**< for members of later versions */
};

/** The fields of one tracepoint. */
struct perch_tracepoint_format;

/** The text of a format, as the file `format` of a tracepoint in tracefs. */
struct perch_tracepoint_text {
	const char *system; /**< "sched"; NULL if unknown */
	const char *text;   /**< need not be NUL-terminated */
	size_t size;	    /**< of text in bytes, at most 1 MiB */
	/** sizeof(long) of the kernel that wrote the text: 4 or 8; 0 is that of this program. */
	uint8_t long_size;
	uint64_t reserved[2]; /**< must be 0 */
};

/**
 * Parses the text of a format.
 *
 * The text is untrusted. Lines of unknown form are ignored.
 *
 * @param[out] format  the new format; NULL after a failure
 * @param text         the text, which is copied
 * @param[out] err     the reason of a failure, with the byte offset in err.column; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EBADMSG  a line with a field is not as the kernel writes it, or there are no fields
 * @retval -EFBIG    the text is longer than 1 MiB
 * @retval -EINVAL   long_size is not 0, 4 or 8
 * @retval -ENOMEM   out of memory
 */
PERCH_API int perch_tracepoint_format_parse(struct perch_tracepoint_format **format,
					    const struct perch_tracepoint_text *text,
					    struct perch_error *err);

/**
 * Reads the format of a tracepoint from tracefs, by its name.
 *
 * @param[out] format  the new format; NULL after a failure
 * @param name         "sched:sched_switch"
 * @param machine      NULL is this machine
 * @param[out] err     the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ENOENT  tracefs is not mounted, or there is no such tracepoint
 * @retval -EACCES  this user may not read tracefs
 * @retval -EINVAL  the name is not of this form
 */
PERCH_API int perch_tracepoint_format_read(struct perch_tracepoint_format **format,
					   const char *name, struct perch_machine *machine,
					   struct perch_error *err);

/**
 * Reads the format of a tracepoint from tracefs, by its id.
 *
 * It reads the id files of all tracepoints until it finds this one (about 2000 files): use
 * perch_tracepoint_format_read() if the name is known.
 *
 * @param[out] format  the new format; NULL after a failure
 * @param id           perch_attr.config of the tracepoint
 * @param machine      NULL is this machine
 * @param[out] err     the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ENOENT  tracefs is not mounted, or no tracepoint has this id
 * @retval -EACCES  this user may not read tracefs
 */
PERCH_API int perch_tracepoint_format_read_id(struct perch_tracepoint_format **format, uint64_t id,
					      struct perch_machine *machine,
					      struct perch_error *err);

/** Frees a format and its fields. NULL is allowed. */
PERCH_API void perch_tracepoint_format_free(struct perch_tracepoint_format *format);

/** Returns the system of the tracepoint, such as "sched"; "" if it is unknown. */
PERCH_API const char *perch_tracepoint_format_system(const struct perch_tracepoint_format *format);

/** Returns the name of the tracepoint without its system, such as "sched_switch"; "" if the text
 * has none. */
PERCH_API const char *perch_tracepoint_format_name(const struct perch_tracepoint_format *format);

/** Returns the id of the tracepoint, perch_attr.config; 0 if the text has none. */
PERCH_API uint64_t perch_tracepoint_format_id(const struct perch_tracepoint_format *format);

/** Returns the text after "print fmt:", which describes how the kernel prints the fields; "" if
 * there is none. */
PERCH_API const char *perch_tracepoint_format_print_fmt(
	const struct perch_tracepoint_format *format);

/**
 * Returns the fields in the order of the text: first the common ones.
 *
 * @param format       the format
 * @param[out] fields  the fields; valid as long as the format
 * @return the number of fields
 */
PERCH_API size_t perch_tracepoint_format_fields(const struct perch_tracepoint_format *format,
						const struct perch_tracepoint_field **fields);

/**
 * Finds a field by its name.
 *
 * @param format  the format
 * @param name    "next_pid"
 * @return the field, valid as long as the format; NULL if there is none
 */
PERCH_API const struct perch_tracepoint_field *perch_tracepoint_format_find(
	const struct perch_tracepoint_format *format, const char *name);

/**
 * Reads a number: a field of kind NUMBER or POINTER.
 *
 * A negative value of a signed field is extended to 64 bits: -1 is UINT64_MAX.
 *
 * @param field       a field of the format of the record's tracepoint
 * @param record      a SAMPLE
 * @param[out] value  the number; 0 after a failure
 * @return 0, or a negative errno; it needs no err, because each errno has one reason
 * @retval -ENODATA  the record is no sample, or its sample.raw ends before the field
 * @retval -EINVAL   the field is not a number
 */
PERCH_API int perch_tracepoint_get_u64(const struct perch_tracepoint_field *field,
				       const struct perch_record *record, uint64_t *value);

/**
 * Reads a number as signed.
 *
 * @param field       as for perch_tracepoint_get_u64()
 * @param record      a SAMPLE
 * @param[out] value  the number; 0 after a failure. Unsigned numbers of 8 bytes above INT64_MAX
 *                    become negative.
 * @return as perch_tracepoint_get_u64()
 */
PERCH_API int perch_tracepoint_get_s64(const struct perch_tracepoint_field *field,
				       const struct perch_record *record, int64_t *value);

/**
 * Finds the bytes of a field of any kind.
 *
 * @param field       a field of the format of the record's tracepoint
 * @param record      a SAMPLE
 * @param[out] bytes  the bytes, in sample.raw: not aligned, numbers in the byte order of the
 * record; NULL after a failure
 * @param[out] size   number of bytes; may be 0
 * @return 0, or a negative errno; it needs no err, because each errno has one reason
 * @retval -ENODATA  the record is no sample, or the bytes are not within its sample.raw
 */
PERCH_API int perch_tracepoint_get_bytes(const struct perch_tracepoint_field *field,
					 const struct perch_record *record, const void **bytes,
					 size_t *size);

/**
 * Finds the text of a field of kind TEXT: its bytes up to the first NUL.
 *
 * The text is untrusted and may have any bytes. It is not always NUL-terminated: a thread name of
 * 16 bytes fills a char[16].
 *
 * @param field        a field of the format of the record's tracepoint
 * @param record       a SAMPLE
 * @param[out] text    the text, in sample.raw; NULL after a failure
 * @param[out] length  of the text in bytes
 * @return 0, or a negative errno; it needs no err, because each errno has one reason
 * @retval -ENODATA  the record is no sample, or the text is not within its sample.raw
 * @retval -EINVAL   the field is not text
 */
PERCH_API int perch_tracepoint_get_text(const struct perch_tracepoint_field *field,
					const struct perch_record *record, const char **text,
					size_t *length);

/**
 * Reads a number of a field of kind ARRAY. A field of kind NUMBER or POINTER is an array of one.
 *
 * @param field       a field of the format of the record's tracepoint
 * @param record      a SAMPLE
 * @param index       from 0
 * @param[out] value  the number, as perch_tracepoint_get_u64() extends it; 0 after a failure
 * @return 0, or a negative errno; it needs no err, because each errno has one reason
 * @retval -ENODATA  the record is no sample, the array is not within its sample.raw, or has no such
 *                   index
 * @retval -EINVAL   the field is not numbers
 */
PERCH_API int perch_tracepoint_get_element(const struct perch_tracepoint_field *field,
					   const struct perch_record *record, size_t index,
					   uint64_t *value);

/**
 * Visits the fields of a record with their values.
 *
 * Kinds of the visited fields: NUMBER or SIGNED for numbers, ADDRESS for pointers, TEXT, BYTES, and
 * LIST for arrays. A field that is not within sample.raw is left out.
 *
 * @param format    the format of the record's tracepoint
 * @param record    a SAMPLE; other records have no fields
 * @param function  called for each field
 * @param context   passed to the function
 * @return 0, or the result of the function that ended the visit
 */
PERCH_API int perch_tracepoint_visit(const struct perch_tracepoint_format *format,
				     const struct perch_record *record,
				     perch_field_function *function, void *context);

#ifdef __cplusplus
}
#endif
#endif
