/* SPDX-License-Identifier: MIT */
/* Reads the data block; page_data.c describes it. */

const KERNEL = 1, JIT = 2, UNKNOWN = 3, INLINED = 4;
const HAS_CPUS = 1, HAS_TIMES = 2, HAS_PERIODS = 4, HAS_AVERAGES = 8, HAS_COUNTS = 16;

/* Returns the bytes of the block in an element. */
async function readBlock(element) {
	const text = atob(element.textContent.trim());
	const packed = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++)
		packed[i] = text.charCodeAt(i);
	const stream = new Response(packed).body.pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Reads numbers and columns of numbers one after the other. */
class NumberReader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	next() {
		let byte = this.bytes[this.at++], number = byte & 127, factor = 128;

		while (byte > 127) {
			byte = this.bytes[this.at++];
			number += (byte & 127) * factor;
			factor *= 128;
		}
		return number;
	}

	/* Fills an array, and returns it. */
	column(array) {
		for (let i = 0; i < array.length; i++)
			array[i] = this.next();
		return array;
	}

	/* Like column(), for numbers that are differences to the one before. */
	sums(array) {
		for (let i = 0, sum = 0; i < array.length; i++)
			array[i] = sum += this.next();
		return array;
	}
}

function readTexts(reader) {
	const size = reader.next(), end = reader.at + size;
	const texts = new TextDecoder().decode(reader.bytes.subarray(reader.at, end)).split('\0');

	reader.at = end;
	return texts;
}

/* Reads the parents of nodes: each is some levels above the node before. Node 0 is the root. */
function readNodes(reader) {
	const count = reader.next() + 1, parent = new Int32Array(count);

	parent[0] = -1;
	for (let i = 1; i < count; i++) {
		let at = i - 1;

		for (let levels = reader.next(); levels > 0; levels--)
			at = parent[at];
		parent[i] = at;
	}
	const location = new Int32Array(count);
	location[0] = -1;
	reader.column(location.subarray(1));
	return { count, parent, location };
}

function readEntries(reader) {
	const count = reader.next();
	const node = reader.sums(new Int32Array(count));
	const thread = reader.column(new Int32Array(count));
	const event = reader.column(new Int32Array(count)), old = event.map((number) => number & 1);
	const state = event.map((number) => number >> 1 & 7);

	event.forEach((number, i) => { event[i] = number >> 4; });
	return {
		count, node, thread, event, old, state,
		samples: reader.column(new Float64Array(count)),
		period: reader.column(new Float64Array(count)),
	};
}

/* Reads the samples of each entry by slice of time and CPU. start: by entry its first group. */
function readGroups(reader, entries, flags) {
	const start = reader.column(new Int32Array(entries.count + 1).subarray(1));
	const first = new Int32Array(entries.count + 1);

	start.forEach((number, i) => { first[i + 1] = first[i] + number; });
	const count = first[entries.count];
	const slice = reader.column(new Int32Array(count));
	for (let entry = 0; entry < entries.count; entry++)
		for (let i = first[entry] + 1; i < first[entry + 1]; i++)
			slice[i] += slice[i - 1];
	const cpu = new Int32Array(count);
	if (flags & HAS_CPUS)
		reader.column(cpu);
	cpu.forEach((number, i) => { cpu[i] = number - 1; }); /* -1: unknown */
	const samples = reader.column(new Float64Array(count));
	const period = flags & HAS_PERIODS ? reader.column(new Float64Array(count)) : null;
	return { count, first, slice, cpu, samples, period };
}

/* States of threads: their numbers, and MIXED for a span that has several. */
const RUNNING = 0, STATES = 6, MIXED = 6, UNCERTAIN = 8;

/* Reads the spans of all rows, whose ranges are in first. Times are ns since the first one. */
function readSpans(reader, rows, first) {
	const count = first[rows.length], column = () => reader.column(new Float64Array(count));
	const start = column(), end = column(), state = reader.column(new Uint8Array(count));
	const thread = new Float64Array(count).fill(-1), parts = new Map();
	const uncertain = state.map((number) => number & UNCERTAIN);

	rows.forEach((row, i) => {
		for (let k = first[i], at = 0; k < first[i + 1]; k++) {
			start[k] += at;
			at = end[k] += start[k];
		}
	});
	rows.forEach((row, i) => {
		for (let k = first[i]; row.isCpu && k < first[i + 1]; k++)
			thread[k] = reader.next() - 1;
	});
	for (let k = 0; k < count; k++) {
		state[k] -= uncertain[k];
		if (state[k] === MIXED)
			parts.set(k, Array.from({ length: STATES }, () => reader.next() / 255));
	}
	return { start, end, state, uncertain, thread, parts };
}

/* Returns what threads and CPUs did; page_states.c describes it. Without states there are no rows. */
function readStates(reader, texts) {
	const count = reader.next(), column = () => Array.from({ length: count }, () => reader.next());

	if (!count)
		return { rows: [], left: null, quantum: 0 };
	const isCpu = column(), pid = column(), id = column(), names = column();
	const sums = Array.from({ length: STATES }, column), lengths = column(), first = [0];

	lengths.forEach((length, i) => first.push(first[i] + length));
	const rows = id.map((number, i) => ({
		isCpu: isCpu[i] === 1, pid: pid[i], id: number, name: texts[names[i]],
		sums: sums.map((sum) => sum[i]), first: first[i], end: first[i + 1],
	}));
	const spans = readSpans(reader, rows, first);

	return {
		rows, spans, quantum: reader.next(),
		left: { count: reader.next(), sums: Array.from({ length: STATES }, () => reader.next()) },
	};
}

/*
 * Adds the event "wall clock" if the data have samples of the time on the CPU and of that off the
 * CPU. Returns the numbers of the three events; null without it.
 */
function addWallClock(data) {
	const used = new Set(data.entries.event), { off } = data;
	const on = data.events.findIndex((name, i) => data.clocks[i] && i !== off && used.has(i));

	if (!used.has(off) || on < 0)
		return null;
	data.clocks = [...data.clocks, 1];
	return { event: data.events.push(`wall clock (${data.events[on]} + offcpu-time)`) - 1, on, off };
}

/* Returns the tables of the block. */
function readData(bytes) {
	const reader = new NumberReader(bytes);

	if (reader.next() !== 3)
		throw new Error('the data block has another version than the script');
	const texts = readTexts(reader), text = () => texts[reader.next()];
	const list = (count) => Array.from({ length: count }, text);
	const numbers = (count) => reader.column(new Int32Array(count));
	const data = { title: text(), oldTitle: text() };
	let count = reader.next();

	data.notes = list(count);
	count = reader.next();
	data.events = list(count);
	data.clocks = numbers(count);
	count = reader.next();
	data.threads = { count, pid: numbers(count), tid: numbers(count), comm: list(count) };
	count = reader.next();
	data.functions = { count, name: list(count), dso: list(count), kind: numbers(count) };
	count = reader.next();
	data.locations = { count, fn: numbers(count), file: list(count), line: numbers(count) };
	data.nodes = readNodes(reader);
	data.entries = readEntries(reader);
	data.flags = reader.next();
	data.digits = reader.next();
	data.first = reader.next();
	data.duration = reader.next();
	data.slices = reader.next();
	data.groups = readGroups(reader, data.entries, data.flags);
	data.states = readStates(reader, texts);
	data.off = data.events.findIndex((name, i) => name === 'offcpu-time' && data.clocks[i]);
	data.wall = addWallClock(data);
	data.rows = makeRows(data);
	return data;
}
