/* SPDX-License-Identifier: MIT */
/*
 * Untrusted text, one character at a time: checks that bytes are valid UTF-8 and that a character
 * is safe to print on a terminal. Cleaned text has a '?' for each character that is not printable
 * and for each byte that is not UTF-8.
 */
#ifndef PERCH_BASE_TEXT_H
#define PERCH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct perch__character {
	uint32_t code;	/* the code point; 0 if invalid */
	uint8_t size;	/* bytes; 1 if invalid */
	bool valid;	/* valid UTF-8: not overlong, not a surrogate, at most U+10FFFF */
	bool printable; /* valid, and not a control character or a mark that reorders text */
};

/*
 * Control characters (C0, DEL, C1), separators of lines and paragraphs, and the marks, embeddings,
 * overrides and isolates of bidirectional text: with those, one name can look like another.
 */
static inline bool perch__printable(uint32_t code)
{
	return code >= 0x20 && (code < 0x7f || code >= 0xa0) && code != 0x200e && code != 0x200f &&
	       (code < 0x2028 || code > 0x202e) && (code < 0x2066 || code > 0x2069);
}

/* Decodes the first character of the text. length is at least 1. */
static inline struct perch__character perch__next_character(const char *text, size_t length)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const struct perch__character invalid = { .size = 1 };
	const unsigned char *byte = (const unsigned char *)text;
	uint8_t size = byte[0] < 0x80 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
	uint32_t code = size == 1 ? byte[0] : byte[0] & (0x7fu >> size);

	if ((byte[0] >= 0x80 && byte[0] < 0xc2) || byte[0] > 0xf4 || size > length)
		return invalid;
	for (uint8_t i = 1; i < size; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return invalid;
		code = code << 6 | (byte[i] & 0x3f);
	}
	if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return invalid;
	return (struct perch__character){ code, size, true, perch__printable(code) };
}

/* True if all bytes are printable ASCII, as those of nearly all texts are. Eight at a time. */
static inline bool perch__is_plain(const char *text, size_t length)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t bad = 0;

	for (uint64_t word; length >= sizeof(word); text += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		/* the highest bit of a byte: not ASCII, less than ' ', or DEL */
		bad |= word | (word - ' ' * ones) | (word + ones);
	}
	for (; length; text++, length--)
		bad |= (uint64_t)(*text < ' ' || *text > '~') << 7;
	return !(bad & 0x80 * ones);
}

#endif
