/* SPDX-License-Identifier: MIT */
/* Colors of frames: by kind of function, by DSO, by waiting, or by change. */

const KINDS = [
	{ kind: 0, name: 'user', hue: 35, chroma: 75 },
	{ kind: KERNEL, name: 'kernel', hue: 212, chroma: 55 },
	{ kind: INLINED, name: 'inlined', hue: 165, chroma: 45 },
	{ kind: JIT, name: 'JIT', hue: 95, chroma: 45 },
	{ kind: UNKNOWN, name: 'unknown', hue: 0, chroma: 0 },
];

function hashText(text) {
	let hash = 0x811c9dc5;

	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
	return hash >>> 0;
}

/* Returns the row of KINDS of a function. Inlined functions of the kernel are inlined. */
function kindOf(data, fn) {
	const kind = data.functions.kind[fn];

	return KINDS.find((row) => row.kind === (kind & INLINED ? INLINED : kind));
}

/* Gives the colors of keys, and caches them. */
class Colors {
	constructor(keys, mode, dark) {
		this.keys = keys;
		this.mode = mode;
		this.dark = dark;
		this.cache = new Map();
		this.text = dark ? '#f4f1ea' : '#1b1a17';
	}

	tone(hue, chroma, hash) {
		const step = (hash >>> 8) % 9;

		return this.dark ? `hsl(${hue} ${chroma * 0.7}% ${29 + step}%)` :
			`hsl(${hue} ${chroma}% ${68 + step * 1.6}%)`;
	}

	make(key) {
		const { data } = this.keys, fn = this.keys.functionOf(key);

		if (fn < 0)
			return this.dark ? '#3a3c41' : '#d5d6d8';
		const hash = hashText(data.functions.name[fn]);
		if (this.mode === 'dso') {
			return this.ofDso(data.functions.dso[fn], hash);
		}
		const { hue, chroma } = kindOf(data, fn);
		return this.tone(hue + (chroma ? (hash & 15) - 8 : 0), chroma, hash);
	}

	/* hash: of the function, whose tone differs */
	ofDso(dso, hash) {
		return this.tone(hashText(dso) % 72 * 5, 55, hash);
	}

	/* The color of a node whose share of all samples has changed. */
	ofChange(change) {
		const strength = Math.min(1, Math.sqrt(Math.abs(change) * 8));
		const light = this.dark ? 22 + 14 * strength : 93 - 32 * strength;

		return `hsl(${change > 0 ? 4 : 214} ${Math.round(strength * 75)}% ${Math.round(light)}%)`;
	}

	/* The color of a node by the part of its time that is off the CPU. */
	ofWait(off) {
		const chroma = Math.round(15 + 60 * Math.abs(2 * off - 1));

		return `hsl(${off > 0.5 ? 212 : 28} ${chroma}% ${this.dark ? 33 : 74}%)`;
	}

	of(tree, node) {
		const key = tree.key[node];

		if (this.mode === 'wait')
			return this.ofWait(offShare(tree, node));

		if (this.mode === 'change')
			return this.ofChange(changeOf(tree, node));
		let color = this.cache.get(key);
		if (!color)
			this.cache.set(key, color = this.make(key));
		return color;
	}
}

/* Returns the part of a node's time that is off the CPU. */
function offShare(tree, node) {
	return tree.total[node] ? Math.min(1, tree.off[node] / tree.total[node]) : 0;
}

/* Returns the share of a node minus that in the recording to compare with. */
function changeOf(tree, node) {
	const { total, totalOld } = tree.sums;

	return (total ? tree.total[node] / total : 0) - (totalOld ? tree.old[node] / totalOld : 0);
}
