/* SPDX-License-Identifier: MIT */
/*
 * From the tables of the block to what the views show: the selected samples (weigh), the tree of
 * functions (buildTree), the sums of each function (sumFunctions), the callers and callees of one
 * (buildButterfly) and its lines (sumLines).
 */

/* Returns whether samples of an event are among those of the selected one. */
function isOfEvent({ wall }, event, selected) {
	return event === selected ||
		(wall !== null && selected === wall.event && (event === wall.on || event === wall.off));
}

/* Returns whether a state is selected: one by its number, 'off' for all off the CPU, '' for any. */
function isOfState(state, selected) {
	return selected === '' || (selected === 'off' ? state !== RUNNING : state === Number(selected));
}

/* Returns whether an entry is of the selected event, command, thread, row and state. */
function entryFilter(data, selection) {
	const { entries, threads, rows } = data, { event, comm, thread, row, state } = selection;
	const ofRow = row === null ? null : (i) => threads.tid[i] === rows[row].id &&
		(threads.pid[i] === rows[row].pid || !rows[row].pid);

	return (i) => isOfEvent(data, entries.event[i], event) &&
		(comm === null || threads.comm[entries.thread[i]] === comm) &&
		(entries.old[i] || (thread === null || entries.thread[i] === thread) &&
			(ofRow === null || ofRow(entries.thread[i])) && isOfState(entries.state[i], state));
}

/*
 * Returns the time of a group in slices, with fractions. A wait ends at its sample. Those of a thread
 * do not overlap, so all that end in one slice have the time before its middle.
 */
function timeOfGroup(data, event, slice, period) {
	const wide = event === data.off ? period / 10 ** data.digits / data.duration * data.slices : 0;

	return wide <= 1 ? { from: slice, to: slice + 1 } :
		{ from: Math.max(0, slice + 0.5 - wide), to: slice + 0.5 };
}

/* Adds a sum to the slices of a time. steps: by slice the change of what each slice from it on has. */
function addToSlices(sums, steps, { from, to }, sum) {
	const first = Math.floor(from), last = Math.ceil(to) - 1, rate = sum / (to - from);

	if (first === last) {
		sums[first] += sum;
		return;
	}
	sums[first] += rate * (first + 1 - from);
	sums[last] += rate * (to - last);
	steps[first + 1] += rate;
	steps[last] -= rate;
}

/*
 * Returns for each entry the selected samples and their periods. Those of the recording to compare
 * with are in old: CPUs, threads and times do not select among them, because they are of another
 * run. A wait has the part of its period that is in the time.
 */
function weigh(data, selection) {
	const { entries, groups } = data, { cpu, from, to } = selection;
	const whole = cpu === null && from === 0 && to === data.slices;
	const matches = entryFilter(data, selection);
	const weights = {
		samples: new Float64Array(entries.count), period: new Float64Array(entries.count),
		old: new Float64Array(entries.count), total: 0, totalSamples: 0, totalOld: 0,
		allSamples: 0, /* also of other times and CPUs */
	};

	for (let i = 0; i < entries.count; i++) {
		if (!matches(i))
			continue;
		if (entries.old[i]) {
			weights.old[i] = selection.samples ? entries.samples[i] : entries.period[i];
			weights.totalOld += weights.old[i];
			continue;
		}
		let samples = entries.samples[i], period = entries.period[i];
		weights.allSamples += samples;
		if (!whole) {
			const each = period / samples;

			samples = period = 0;
			for (let k = groups.first[i]; k < groups.first[i + 1]; k++) {
				const all = groups.period ? groups.period[k] : each * groups.samples[k];
				const time = timeOfGroup(data, selection.samples ? -1 : entries.event[i], groups.slice[k], all);
				const inside = Math.min(to, time.to) - Math.max(from, time.from);

				if (inside <= 0 || (cpu !== null && groups.cpu[k] !== cpu))
					continue;
				/* of several waits only the first one can begin before the slice */
				samples += groups.slice[k] < to ? groups.samples[k] : 1;
				period += all * inside / (time.to - time.from);
			}
		}
		weights.samples[i] = samples;
		weights.period[i] = selection.samples ? samples : period;
		weights.totalSamples += samples;
		weights.total += weights.period[i];
	}
	return weights;
}

/* Returns the sums of each slice of the time, of the selection without its range. */
function sumSlices(data, selection) {
	const { entries, groups } = data, matches = entryFilter(data, selection);
	const sums = new Float64Array(data.slices), steps = new Float64Array(data.slices + 1);

	for (let i = 0; i < entries.count; i++) {
		if (entries.old[i] || !matches(i))
			continue;
		const each = selection.samples ? 1 : entries.period[i] / entries.samples[i];

		for (let k = groups.first[i]; k < groups.first[i + 1]; k++) {
			const sum = groups.period && !selection.samples ? groups.period[k] : each * groups.samples[k];

			if (selection.cpu !== null && groups.cpu[k] !== selection.cpu)
				continue;
			if (selection.samples || entries.event[i] !== data.off)
				sums[groups.slice[k]] += sum;
			else
				addToSlices(sums, steps, timeOfGroup(data, data.off, groups.slice[k], sum), sum);
		}
	}
	for (let slice = 0, rate = 0; slice < data.slices; slice++)
		sums[slice] += Math.max(0, rate += steps[slice]);
	return sums;
}

/*
 * A tree whose nodes have keys: functions, then locations, then names of commands and threads (see
 * Keys). Node 0 is the root; the index of a node is above that of its parent.
 */
class Tree {
	constructor(keys) {
		this.keys = keys;
		this.count = 0;
		this.grow(1024);
		this.slots = new Int32Array(4096);
		this.add(-1, -1);
	}

	grow(capacity) {
		for (const [name, type] of [['parent', Int32Array], ['key', Int32Array],
			['self', Float64Array], ['total', Float64Array], ['old', Float64Array], ['off', Float64Array],
			['selfSamples', Float64Array], ['samples', Float64Array]]) {
			const array = new type(capacity);

			if (this.count)
				array.set(this[name]);
			this[name] = array;
		}
	}

	add(parent, key) {
		if (this.count === this.parent.length)
			this.grow(2 * this.count);
		this.parent[this.count] = parent;
		this.key[this.count] = key;
		return this.count++;
	}

	slotOf(parent, key) {
		const hash = Math.imul(Math.imul(parent, 0x9e3779b1) ^ key, 0x85ebca6b);
		const mask = this.slots.length - 1;
		let slot = (hash ^ hash >>> 15) & mask;

		for (let node = this.slots[slot]; node; node = this.slots[slot]) {
			if (this.parent[node] === parent && this.key[node] === key)
				break;
			slot = slot + 1 & mask;
		}
		return slot;
	}

	/* Returns the child of a node with a key, and adds it if there is none. */
	child(parent, key) {
		const slot = this.slotOf(parent, key);

		if (this.slots[slot])
			return this.slots[slot];
		const node = this.slots[slot] = this.add(parent, key);
		if (2 * this.count > this.slots.length) {
			this.slots = new Int32Array(2 * this.slots.length);
			for (let i = 1; i < this.count; i++)
				this.slots[this.slotOf(this.parent[i], this.key[i])] = i;
		}
		return node;
	}

	/* Returns the node or the nearest of its callers that has the same function; -1 if none. */
	callerWith(node, fn) {
		while (node > 0 && this.keys.functionOf(this.key[node]) !== fn)
			node = this.parent[node];
		return node > 0 ? node : -1;
	}

	/* Adds up totals, and sorts the children of each node: by name, or by weight. */
	finish(byWeight) {
		const { count, parent, key, self, total, samples, keys } = this;

		total.set(self);
		samples.set(this.selfSamples);
		this.size = new Int32Array(count).fill(1); /* of the subtree */
		this.firstChild = new Int32Array(count + 1);
		for (let i = count - 1; i > 0; i--) {
			total[parent[i]] += total[i];
			samples[parent[i]] += samples[i];
			this.old[parent[i]] += this.old[i];
			this.off[parent[i]] += this.off[i];
			this.size[parent[i]] += this.size[i];
			this.firstChild[parent[i] + 1]++;
		}
		for (let i = 0; i < count; i++)
			this.firstChild[i + 1] += this.firstChild[i];
		this.children = new Int32Array(count);
		const end = this.firstChild.slice();
		for (let i = 1; i < count; i++)
			this.children[end[parent[i]]++] = i;
		const order = byWeight ? (a, b) => total[b] - total[a] || keys.compare(key[a], key[b]) :
			(a, b) => keys.compare(key[a], key[b]);
		this.start = new Float64Array(count);
		this.depth = new Int16Array(count);
		for (let i = 0; i < count; i++) {
			const children = this.childrenOf(i);
			let at = this.start[i];

			if (children.length > 1)
				children.sort(order);
			for (const child of children) {
				this.start[child] = at;
				this.depth[child] = this.depth[i] + 1;
				at += total[child];
			}
		}
		return this;
	}

	childrenOf(node) {
		return this.children.subarray(this.firstChild[node], this.firstChild[node + 1]);
	}

	/* Returns the keys from the root to a node, and the node of such a list (or the last found). */
	path(node) {
		const path = [];

		for (; node > 0; node = this.parent[node])
			path.unshift(this.key[node]);
		return path;
	}

	find(path) {
		let node = 0;

		for (const key of path) {
			const child = this.slots[this.slotOf(node, key)];

			if (!child)
				break;
			node = child;
		}
		return node;
	}
}

/* What the keys of trees stand for. */
class Keys {
	constructor(data) {
		const { functions, locations } = data;

		this.data = data;
		this.firstLocation = functions.count;
		this.firstName = functions.count + locations.count;
		this.names = [];
		this.numbers = new Map();
		this.rank = new Int32Array(functions.count);
		Array.from(this.rank.keys()).sort((a, b) => {
			const left = functions.name[a], right = functions.name[b];

			return left < right ? -1 : left > right ? 1 : a - b;
		}).forEach((fn, i) => { this.rank[fn] = i; });
	}

	/* Returns the key of a name that is no function. */
	ofName(name) {
		if (!this.numbers.has(name)) {
			this.numbers.set(name, this.firstName + this.names.length);
			this.names.push(name);
		}
		return this.numbers.get(name);
	}

	/* Returns the function of a key; -1 if it is none. */
	functionOf(key) {
		if (key < this.firstLocation)
			return key;
		return key < this.firstName ? this.data.locations.fn[key - this.firstLocation] : -1;
	}

	label(key) {
		if (key < 0)
			return 'all';
		if (key >= this.firstName)
			return this.names[key - this.firstName];
		const name = this.data.functions.name[this.functionOf(key)];
		return key < this.firstLocation ? name : `${name} ${this.line(key)}`;
	}

	/* Returns file:line of a location, without directories; "" if it is unknown. */
	line(key) {
		const { file, line } = this.data.locations, i = key - this.firstLocation;

		return key < this.firstLocation || !file[i] ? '' :
			`${file[i].slice(file[i].lastIndexOf('/') + 1)}:${line[i]}`;
	}

	compare(a, b) {
		const left = this.functionOf(a), right = this.functionOf(b);

		if (left < 0 || right < 0)
			return this.label(a) < this.label(b) ? -1 : 1;
		return this.rank[left] - this.rank[right] || a - b;
	}
}
