/* SPDX-License-Identifier: MIT */
/* The tables: functions, lines of a function, and the call tree. */

const FIRST_ROWS = 100;

/* The functions with their sums, beside the graph. */
class FunctionTable {
	/* handlers: sorted(column), opened(fn) */
	constructor(app, section) {
		this.app = app;
		this.table = section.querySelector('table');
		this.body = this.table.querySelector('tbody');
		this.more = section.querySelector('button');
		this.limit = FIRST_ROWS;
		this.more.addEventListener('click', () => {
			this.limit *= 4;
			this.fill();
		});
		this.makeHead();
	}

	makeHead() {
		const columns = [['total', 'Total'], ['self', 'Self'], ['name', 'Function']];

		if (this.app.data.oldTitle)
			columns.splice(2, 0, ['change', 'Change of total']);
		this.columns = columns.map(([name]) => name);
		this.heads = columns.map(([name, label]) => {
			const head = element('th', undefined, { scope: 'col' });
			const button = element('button', label, { type: 'button' });

			button.addEventListener('click', () => this.app.change({ sort: name }));
			head.append(button);
			return head;
		});
		this.table.querySelector('thead tr').append(...this.heads);
	}

	show(sums, options) {
		Object.assign(this, { sums, ...options });
		this.fill();
	}

	/* Returns the rows that match the search, sorted. */
	rows() {
		const { sort, app } = this, name = (row) => app.data.functions.name[row.fn];
		const orders = {
			self: (a, b) => b.self - a.self || b.total - a.total,
			total: (a, b) => b.total - a.total || b.self - a.self,
			change: (a, b) => Math.abs(app.changeOfSum(b)) - Math.abs(app.changeOfSum(a)),
			name: (a, b) => name(a) < name(b) ? -1 : 1,
		};

		return this.sums.filter((row) => !this.regexp || this.regexp.test(name(row)))
			.sort(orders[sort]);
	}

	fill() {
		const rows = this.rows();

		this.heads.forEach((head, i) => {
			const down = this.columns[i] === 'name' ? 'ascending' : 'descending';

			head.setAttribute('aria-sort', this.columns[i] === this.sort ? down : 'none');
		});
		this.body.replaceChildren(...rows.slice(0, this.limit).map((row) => this.makeRow(row)));
		this.more.hidden = rows.length <= this.limit;
		this.more.textContent = `More functions (${formatNumber(rows.length - this.limit)})`;
	}

	makeRow(row) {
		const { app } = this, { name, dso } = app.data.functions, whole = app.weights.total;
		const line = element('tr', undefined, { 'data-function': row.fn });
		const cell = element('td'), button = element('button', name[row.fn], { type: 'button',
			title: 'Callers and callees' });

		line.addEventListener('click', () => app.change({ view: 'butterfly', fn: row.fn }));
		cell.append(button);
		if (app.data.functions.kind[row.fn] & INLINED)
			cell.append(element('small', ' (inlined)'));
		if (dso[row.fn])
			cell.append(element('small', ` ${dso[row.fn]}`));
		line.setAttribute('aria-selected', String(row.fn === app.state.fn));
		line.append(element('td', formatShare(row.total, whole)),
			element('td', formatShare(row.self, whole)));
		if (app.data.oldTitle)
			line.append(element('td', formatChange(app.changeOfSum(row))));
		line.append(cell);
		return line;
	}
}

/* Fills the table of the lines of a function. */
function showLines(table, lines, whole) {
	const shown = lines.filter((line) => line.line).slice(0, 30);

	table.hidden = !shown.length;
	table.querySelector('tbody').replaceChildren(...shown.map((line) => {
		const row = element('tr');

		row.append(element('td', formatShare(line.total, whole)),
			element('td', formatShare(line.self, whole)),
			element('td', `${line.file}:${line.line}`));
		return row;
	}));
}

/* The call tree: rows that unfold, made when they are shown. */
class CallTree {
	constructor(app, table) {
		this.app = app;
		this.body = table.querySelector('tbody');
		this.body.addEventListener('keydown', (event) => this.press(event));
	}

	/* Shows a tree, unfolded along the heaviest path. */
	show(tree) {
		this.tree = tree;
		this.body.replaceChildren(this.makeRow(0, 1));
		let row = this.body.firstChild;

		for (let i = 0; i < 12 && row; i++) {
			const next = this.unfold(row);

			if (!next || tree.total[next.node] < tree.total[row.node] / 2)
				break;
			row = next;
		}
		this.body.firstChild.tabIndex = 0;
	}

	children(node) {
		return Array.from(this.tree.childrenOf(node)).filter((child) => this.tree.total[child] > 0)
			.sort((a, b) => this.tree.total[b] - this.tree.total[a]);
	}

	makeRow(node, level) {
		const { tree, app } = this, row = element('tr', undefined, { role: 'row', tabindex: '-1',
			'aria-level': level });
		const name = element('td', undefined, { role: 'gridcell' });
		const leaf = !this.children(node).length, sign = element('button', leaf ? ' ' : '+', {
			type: 'button', tabindex: '-1', 'aria-hidden': 'true' });

		row.node = node;
		if (!leaf)
			row.setAttribute('aria-expanded', 'false');
		sign.addEventListener('click', () => this.toggle(row));
		name.append(sign, ` ${tree.keys.label(tree.key[node])}`);
		name.style.paddingLeft = `${Math.min(level, 60) * 0.6}em`;
		row.append(element('td', formatShare(tree.total[node], tree.sums.total), { role: 'gridcell' }),
			element('td', formatShare(tree.self[node], tree.sums.total), { role: 'gridcell' }), name);
		row.addEventListener('focus', () => app.describe(tree, node));
		return row;
	}

	/* Adds the rows of the children, and returns the first. */
	unfold(row) {
		const level = Number(row.getAttribute('aria-level'));
		const rows = this.children(row.node).map((child) => this.makeRow(child, level + 1));

		if (!rows.length || row.getAttribute('aria-expanded') === 'true')
			return null;
		row.setAttribute('aria-expanded', 'true');
		row.querySelector('button').textContent = '−';
		row.after(...rows);
		return rows[0];
	}

	fold(row) {
		const level = Number(row.getAttribute('aria-level'));

		row.setAttribute('aria-expanded', 'false');
		row.querySelector('button').textContent = '+';
		while (row.nextSibling && Number(row.nextSibling.getAttribute('aria-level')) > level)
			row.nextSibling.remove();
	}

	toggle(row) {
		if (row.getAttribute('aria-expanded') === 'true')
			this.fold(row);
		else
			this.unfold(row);
	}

	press(event) {
		const row = event.target.closest('tr'), expanded = row.getAttribute('aria-expanded');
		let next = null;

		switch (event.key) {
		case 'ArrowDown': next = row.nextSibling; break;
		case 'ArrowUp': next = row.previousSibling; break;
		case 'ArrowRight':
			if (expanded === 'false')
				this.unfold(row);
			else
				next = row.nextSibling;
			break;
		case 'ArrowLeft':
			if (expanded === 'true')
				this.fold(row);
			else
				next = row.previousSibling;
			break;
		case 'Enter': this.toggle(row); break;
		default: return;
		}
		event.preventDefault();
		if (next) {
			row.tabIndex = -1;
			next.tabIndex = 0;
			next.focus();
		}
	}
}
