/* SPDX-License-Identifier: MIT */
/* The trees and sums of the views, made of the selected samples. */

/* Returns the name of the root's child that has the samples of a thread. */
function groupName(data, group, thread) {
	const { comm, pid, tid } = data.threads;

	if (group === 'command')
		return comm[thread];
	return tid[thread] ? `${comm[thread]} ${pid[thread]}/${tid[thread]}` : comm[thread];
}

/* Returns the entries with samples, by group ('none', 'command' or 'thread'). */
function groupEntries(data, keys, weights, group) {
	const groups = new Map(), byThread = [];

	for (let i = 0; i < data.entries.count; i++) {
		const thread = data.entries.thread[i];

		if (!weights.samples[i] && !weights.old[i])
			continue;
		if (byThread[thread] === undefined) {
			const key = group === 'none' ? -1 : keys.ofName(groupName(data, group, thread));

			if (!groups.has(key))
				groups.set(key, []);
			byThread[thread] = groups.get(key);
		}
		byThread[thread].push(i);
	}
	return groups;
}

/*
 * Returns the tree of functions. options: group; recursion: a function that is on the stack already
 * continues there; lines: a frame for each line of a function; byWeight.
 */
function buildTree(data, keys, weights, options) {
	const { parent, location } = data.nodes, { node: nodeOf } = data.entries;
	const tree = new Tree(keys), placed = new Int32Array(data.nodes.count);
	const stamp = new Int32Array(data.nodes.count), path = [];
	const isOff = (entry) => data.wall !== null && data.entries.event[entry] === data.wall.off;
	let epoch = 0;

	for (const [groupKey, list] of groupEntries(data, keys, weights, options.group)) {
		const top = groupKey < 0 ? 0 : tree.child(0, groupKey);

		epoch++;
		placed[0] = top;
		stamp[0] = epoch;
		for (const entry of list) {
			let node = nodeOf[entry];

			for (; stamp[node] !== epoch; node = parent[node])
				path.push(node);
			let to = placed[node];
			while (path.length) {
				const fn = data.locations.fn[location[node = path.pop()]];
				const same = options.recursion ? tree.callerWith(to, fn) : -1;

				to = same >= 0 ? same : tree.child(to, options.lines ?
					keys.firstLocation + location[node] : fn);
				placed[node] = to;
				stamp[node] = epoch;
			}
			tree.self[to] += weights.period[entry];
			tree.selfSamples[to] += weights.samples[entry];
			tree.old[to] += weights.old[entry];
			tree.off[to] += isOff(entry) ? weights.period[entry] : 0;
		}
	}
	return tree.finish(options.byWeight);
}

/* Returns for each node whether none of its callers has the same function. */
function findOutermost(tree) {
	const outermost = new Uint8Array(tree.count);

	for (let i = 1; i < tree.count; i++) {
		const fn = tree.keys.functionOf(tree.key[i]);

		outermost[i] = fn >= 0 && tree.callerWith(tree.parent[i], fn) < 0 ? 1 : 0;
	}
	return outermost;
}

/* Returns a list of the functions with their sums. */
function sumFunctions(tree) {
	const sums = new Map(), outermost = findOutermost(tree);

	for (let i = 1; i < tree.count; i++) {
		const fn = tree.keys.functionOf(tree.key[i]);

		if (fn < 0)
			continue;
		if (!sums.has(fn))
			sums.set(fn, { fn, self: 0, total: 0, old: 0, samples: 0 });
		const sum = sums.get(fn);
		sum.self += tree.self[i];
		if (outermost[i]) {
			sum.total += tree.total[i];
			sum.samples += tree.samples[i];
			sum.old += tree.old[i];
		}
	}
	return [...sums.values()];
}

/*
 * Returns two trees whose root is a function: its callers and what it calls. A recursive function
 * is counted once, at its outermost call. tree: one without merged recursion. options: recursion,
 * byWeight, as in buildTree.
 */
function buildButterfly(tree, fn, options) {
	const callers = new Tree(tree.keys), callees = new Tree(tree.keys);
	const to = new Int32Array(tree.count).fill(-1), outermost = findOutermost(tree);

	/* returns the node for a key below a node */
	const place = (target, node, key) => {
		const other = tree.keys.functionOf(key);

		if (!options.recursion || other < 0)
			return target.child(node, key);
		const same = other === fn ? 0 : target.callerWith(node, other);
		return same >= 0 ? same : target.child(node, key);
	};

	callers.key[0] = callees.key[0] = fn;
	for (let i = 1; i < tree.count; i++) {
		const starts = outermost[i] && tree.keys.functionOf(tree.key[i]) === fn;

		if (starts) {
			let node = 0;

			for (let at = tree.parent[i]; at > 0; at = tree.parent[at])
				node = place(callers, node, tree.key[at]);
			callers.self[node] += tree.total[i];
			callers.selfSamples[node] += tree.samples[i];
			callers.old[node] += tree.old[i];
			callers.off[node] += tree.off[i];
			to[i] = 0;
		} else if (to[tree.parent[i]] >= 0) {
			to[i] = place(callees, to[tree.parent[i]], tree.key[i]);
		}
		if (to[i] >= 0) {
			callees.self[to[i]] += tree.self[i];
			callees.selfSamples[to[i]] += tree.selfSamples[i];
			/* these totals are added up already: what no child has is of the node itself */
			for (const name of ['old', 'off'])
				callees[name][to[i]] += tree.childrenOf(i).reduce(
					(rest, child) => rest - tree[name][child], tree[name][i]);
		}
	}
	return { callers: callers.finish(options.byWeight), callees: callees.finish(options.byWeight) };
}

/* Returns a list of the lines of a function with their sums, the heaviest one first. */
function sumLines(data, weights, fn) {
	const { count, parent, location } = data.nodes, { node: nodeOf } = data.entries;
	const self = new Float64Array(count), inside = new Uint8Array(count), lines = new Map();
	const is = (node) => node > 0 && data.locations.fn[location[node]] === fn;

	for (let i = 0; i < data.entries.count; i++)
		self[nodeOf[i]] += weights.period[i];
	const total = self.slice();
	for (let i = count - 1; i > 0; i--)
		total[parent[i]] += total[i];
	for (let i = 1; i < count; i++) {
		inside[i] = inside[parent[i]] || is(parent[i]) ? 1 : 0;
		if (!is(i) || !total[i])
			continue;
		const { file, line } = data.locations, where = location[i];
		const key = `${file[where]}:${line[where]}`;
		const sum = lines.get(key) || { file: file[where], line: line[where], self: 0, total: 0 };
		sum.self += self[i];
		sum.total += inside[i] ? 0 : total[i];
		lines.set(key, sum);
	}
	return [...lines.values()].sort((a, b) => b.total - a.total || b.self - a.self);
}
