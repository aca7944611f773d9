/* SPDX-License-Identifier: MIT */
/* The time line: the sums of the slices as bars, the selected range, and the range that is visible. */

class Timeline {
	/* changed(from, to): the user has selected slices, to is the one behind the last */
	constructor(section, changed) {
		this.section = section;
		this.canvas = section.querySelector('canvas');
		this.text = section.querySelector('p');
		this.changed = changed;
		this.sums = [];
		this.view = null; /* visible: { from, to } in slices, with fractions; null is all */
		this.drawn = () => {}; /* called after each change of the range or of what is visible */
		new ResizeObserver(() => this.draw()).observe(this.canvas);
		this.listen();
	}

	show(sums, options) {
		Object.assign(this, { sums, ...options });
		this.draw();
	}

	draw() {
		const { canvas, sums } = this, context = canvas.getContext('2d');
		const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = 56;

		if (!width || !sums.length)
			return;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		context.scale(ratio, ratio);
		const style = getComputedStyle(document.documentElement);
		context.fillStyle = style.getPropertyValue('--panel');
		context.fillRect(0, 0, width, height);
		this.drawBars(context, style.getPropertyValue('--bar'), width, height);
		context.fillStyle = style.getPropertyValue('--ink');
		context.globalAlpha = 0.28;
		const left = this.xOf(this.from, width), right = this.xOf(this.to, width);
		context.fillRect(0, 0, left, height);
		context.fillRect(right, 0, width - right, height);
		context.globalAlpha = 1;
		if (left > 0 || right < width) {
			context.fillRect(left, 0, 1.5, height);
			context.fillRect(right - 1.5, 0, 1.5, height);
		}
		const [text, hint] = this.describe();

		this.text.replaceChildren(`${text} `, element('span', hint, { class: 'hint' }));
		this.drawn();
	}

	/* ---- the visible part ---- */

	visible() {
		return this.view || { from: 0, to: this.sums.length };
	}

	/* Returns the position of a slice in a width. */
	xOf(slice, width) {
		const { from, to } = this.visible();

		return (slice - from) / (to - from) * width;
	}

	sliceOf(x, width) {
		const { from, to } = this.visible();

		return from + x / width * (to - from);
	}

	xOfNs(ns, width) {
		return this.xOf(ns / this.duration * this.sums.length, width);
	}

	nsOf(x, width) {
		return this.sliceOf(x, width) / this.sums.length * this.duration;
	}

	/* Shows a part of the time, of at least one microsecond; null is all. */
	zoom(view) {
		const count = this.sums.length, least = Math.min(count, 1000 / this.duration * count);

		if (view) {
			const wide = Math.max(least, view.to - view.from);
			const from = Math.max(0, Math.min(count - wide, (view.from + view.to - wide) / 2));

			view = { from, to: Math.min(count, from + wide) };
		}
		this.view = view && view.to - view.from < count ? view : null;
		this.draw();
	}

	zoomToRange() {
		this.zoom({ from: this.from, to: this.to });
	}

	/* Zooms around the middle of what is visible, or of the range. */
	zoomBy(factor) {
		const { from, to } = this.visible(), whole = this.from === 0 && this.to === this.sums.length;
		const middle = whole || factor > 1 ? (from + to) / 2 : (this.from + this.to) / 2;
		const half = (to - from) * factor / 2;

		this.zoom({ from: middle - half, to: middle + half });
	}

	/* Moves what is visible, so that the range is in it. */
	follow() {
		const { view } = this;

		if (!view || (this.from < view.to && this.to > view.from))
			return;
		const half = (view.to - view.from) / 2, middle = (this.from + this.to) / 2;
		this.zoom({ from: middle - half, to: middle + half });
	}

	/* Returns the sums of equal parts of the time, fewer than slices. A slice has a constant rate. */
	sumParts(parts) {
		const { sums } = this, result = new Float64Array(parts), each = sums.length / parts;

		sums.forEach((sum, i) => {
			const part = Math.floor(i / each), end = (part + 1) * each;
			const rest = Math.max(0, i + 1 - end); /* of the slice, behind the part */

			result[part] += sum * (1 - rest);
			if (rest > 0 && part + 1 < parts)
				result[part + 1] += sum * rest;
		});
		return result;
	}

	/*
	 * A bar has two pixels, one slice or some samples, whichever is more. All bars have the same
	 * time: a slice that two of them share is divided between them.
	 */
	drawBars(context, color, width, height) {
		if (this.view) {
			this.drawSlices(context, color, width, height);
			return;
		}
		const { sums } = this, limit = Math.max(30, this.samples / 8);
		const bars = Math.min(sums.length, Math.ceil(Math.min(width / 2, limit)));
		const heights = this.sumParts(bars);
		const most = Math.max(...heights) || 1;
		context.fillStyle = color;
		heights.forEach((sum, i) => {
			const tall = sum / most * (height - 2);

			const left = Math.round(i * width / bars), right = Math.round((i + 1) * width / bars);

			context.fillRect(left, height - tall, right - left, tall);
		});
	}

	/* Of a part of the time each slice is a bar. */
	drawSlices(context, color, width, height) {
		const { sums, view } = this, first = Math.floor(view.from), last = Math.ceil(view.to);
		const most = Math.max(...sums.slice(first, last)) || 1;

		context.fillStyle = color;
		for (let i = first; i < last; i++) {
			const left = this.xOf(i, width), tall = sums[i] / most * (height - 2);

			context.fillRect(left, height - tall, this.xOf(i + 1, width) - left, tall);
		}
	}

	timeOf(slice) {
		return slice / this.sums.length * this.duration;
	}

	/* Returns what is selected and visible, and how to change it. */
	describe() {
		const [text, hint] = this.describeRange(), { from, to } = this.visible();

		return this.view ? [`${text} Visible: ${formatTime(this.timeOf(from))} to ${
			formatTime(this.timeOf(to))}.`, hint] : [text, hint];
	}

	describeRange() {
		const whole = this.from === 0 && this.to === this.sums.length;
		const range = `${formatTime(this.timeOf(this.from))} to ${formatTime(this.timeOf(this.to))}`;

		return whole ? [`Time: all ${formatTime(this.duration)}.`, 'Drag to select a range.'] :
			[`Time: ${range} of ${formatTime(this.duration)} (${formatShare(
				this.to - this.from, this.sums.length)}).`, 'Click or press Escape for all.'];
	}

	select(from, to) {
		const count = this.sums.length;

		this.from = Math.max(0, Math.min(count - 1, from));
		this.to = Math.max(this.from + 1, Math.min(count, to));
		this.follow();
		this.draw();
		this.changed(this.from, this.to);
	}

	press(event) {
		const count = this.sums.length, { from: first, to: last } = this.visible();
		const step = Math.max(1, Math.round((last - first) / 50));
		const sign = { ArrowLeft: -step, ArrowRight: step }[event.key];

		if (event.key === '+' || event.key === '-') {
			this.zoomBy(event.key === '+' ? 0.5 : 2);
		} else if (event.key === 'Escape') {
			this.select(0, count);
		} else if (sign && event.shiftKey) {
			this.select(this.from, this.to + sign);
		} else if (sign) {
			const width = this.to - this.from === count ? Math.ceil((last - first) / 10) :
				this.to - this.from;
			const from = Math.max(0, Math.min(count - width, this.to - this.from === count ?
				Math.floor(first) : this.from + sign));
			this.select(from, from + width);
		} else {
			return;
		}
		event.preventDefault();
	}

	listen() {
		const { canvas } = this;

		this.selectBy(canvas, () => this.select(0, this.sums.length));
		canvas.addEventListener('keydown', (event) => this.press(event));
	}

	/* Dragging on a canvas selects a range; clicked(event): it was a click. */
	selectBy(canvas, clicked) {
		const slice = (event) => this.sliceOf(event.offsetX, canvas.clientWidth);
		let start = null;

		canvas.addEventListener('pointerdown', (event) => {
			start = { slice: slice(event), x: event.offsetX, from: this.from, to: this.to };
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', (event) => {
			if (start === null || Math.abs(event.offsetX - start.x) <= 3)
				return;
			this.from = Math.max(0, Math.floor(Math.min(start.slice, slice(event))));
			this.to = Math.min(this.sums.length, Math.ceil(Math.max(start.slice, slice(event))));
			this.draw();
		});
		canvas.addEventListener('pointerup', (event) => {
			const from = start, end = slice(event);

			start = null;
			if (from !== null && Math.abs(event.offsetX - from.x) > 3)
				this.select(Math.floor(Math.min(from.slice, end)), Math.ceil(Math.max(from.slice, end)));
			else if (from !== null)
				clicked(event);
		});
		canvas.addEventListener('pointercancel', () => {
			if (start !== null) {
				Object.assign(this, { from: start.from, to: start.to });
				this.draw();
			}
			start = null;
		});
	}
}
