/* SPDX-License-Identifier: MIT */
/* Numbers and stacks as text. */

function formatNumber(number) {
	return Math.round(number).toLocaleString('en-US');
}

function formatShare(part, whole) {
	return whole ? `${(100 * part / whole).toFixed(2)}%` : '0.00%';
}

function formatChange(change) {
	return `${change > 0 ? '+' : ''}${(100 * change).toFixed(2)}%`;
}

/* Nanoseconds, with three digits after the point. */
function formatTime(ns) {
	if (ns >= 1e9)
		return `${(ns / 1e9).toFixed(3)} s`;
	return ns >= 1e6 ? `${(ns / 1e6).toFixed(3)} ms` : `${(ns / 1e3).toFixed(3)} µs`;
}

function formatWeight(app, number) {
	if (app.data.digits)
		return (number / 10 ** app.data.digits).toLocaleString('en-US',
			{ maximumFractionDigits: app.data.digits });
	if (app.state.samples)
		return `${formatNumber(number)} samples`;
	return app.data.clocks[app.state.event] ? formatTime(number) : formatNumber(number);
}

/* Creates an element with a text: names of profiles are never markup. */
function element(tag, text, attributes) {
	const node = document.createElement(tag);

	if (text !== undefined)
		node.textContent = text;
	for (const [name, value] of Object.entries(attributes || {}))
		node.setAttribute(name, value);
	return node;
}

/* Returns name and value of what is to say about a node, as a list of pairs. */
function describeNode(app, tree, node) {
	const { keys, data } = app, key = tree.key[node], fn = keys.functionOf(key);
	const rows = [[`Total`, `${formatShare(tree.total[node], tree.sums.total)}, ` +
		formatWeight(app, tree.total[node])]];

	rows.push(['Self', `${formatShare(tree.self[node], tree.sums.total)}, ` +
		formatWeight(app, tree.self[node])]);
	if (!(data.flags & HAS_COUNTS))
		rows.push(['Samples', formatNumber(tree.samples[node])]);
	if (data.wall && app.state.event === data.wall.event)
		rows.push(['Off CPU', `${formatShare(tree.off[node], tree.total[node])}, ` +
			formatWeight(app, tree.off[node])]);
	if (data.oldTitle)
		rows.push(['Change', `${formatChange(changeOf(tree, node))} (was ` +
			`${formatShare(tree.old[node], tree.sums.totalOld)})`]);
	if (fn < 0)
		return rows;
	if (data.functions.dso[fn])
		rows.push(['DSO', data.functions.dso[fn]]);
	const lines = app.linesOf(fn).filter((line) => line.file && line.line);
	if (lines.length)
		rows.push(['Lines', ['of all frames of the function:', ...lines.slice(0, 3).map((line) =>
			`${line.file}:${line.line} (${formatShare(line.total, tree.sums.total)})`)].join('\n')]);
	rows.push(['Kind', kindText(data, fn)]);
	return rows;
}

function kindText(data, fn) {
	const kind = data.functions.kind[fn];
	const base = KINDS.find((row) => row.kind === (kind & 3)).name;

	return kind & INLINED ? `${base}, inlined` : base;
}

/* Returns a tree as lines: share, self share, then the name after two spaces for each level. */
function treeText(tree, root, least) {
	const { total } = tree.sums, lines = [], stack = [root];

	while (stack.length) {
		const node = stack.pop(), children = Array.from(tree.childrenOf(node));

		if (tree.total[node] < least * total)
			continue;
		lines.push(`${formatShare(tree.total[node], total).padStart(8)} ` +
			`${formatShare(tree.self[node], total).padStart(8)}  ` +
			'  '.repeat(tree.depth[node] - tree.depth[root]) + tree.keys.label(tree.key[node]));
		children.sort((a, b) => tree.total[a] - tree.total[b]);
		stack.push(...children);
	}
	return `   total     self  function\n${lines.join('\n')}\n`;
}

/* Returns the names of a stack, the innermost one first. */
function stackText(tree, node) {
	return tree.path(node).reverse().map((key) => tree.keys.label(key)).join('\n');
}

async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch (refused) {
		const area = element('textarea', text, { class: 'offscreen' });

		document.body.append(area);
		area.select();
		const done = document.execCommand('copy');
		area.remove();
		return done;
	}
}
