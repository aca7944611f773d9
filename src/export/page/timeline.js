/* SPDX-License-Identifier: MIT */
/* The time line: the sums of the slices as bars, and the selected range. */

class Timeline {
	/* changed(from, to): the user has selected slices, to is the one behind the last */
	constructor(section, changed) {
		this.section = section;
		this.canvas = section.querySelector('canvas');
		this.text = section.querySelector('p');
		this.changed = changed;
		this.sums = [];
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
		const left = this.from / sums.length * width, right = this.to / sums.length * width;
		context.fillRect(0, 0, left, height);
		context.fillRect(right, 0, width - right, height);
		context.globalAlpha = 1;
		if (left > 0 || right < width) {
			context.fillRect(left, 0, 1.5, height);
			context.fillRect(right - 1.5, 0, 1.5, height);
		}
		const [text, hint] = this.describe();

		this.text.replaceChildren(`${text} `, element('span', hint, { class: 'hint' }));
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

	timeOf(slice) {
		return slice / this.sums.length * this.duration;
	}

	/* Returns what is selected, and how to change it. */
	describe() {
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
		this.draw();
		this.changed(this.from, this.to);
	}

	press(event) {
		const count = this.sums.length, step = Math.max(1, Math.round(count / 50));
		const sign = { ArrowLeft: -step, ArrowRight: step }[event.key];

		if (event.key === 'Escape') {
			this.select(0, count);
		} else if (sign && event.shiftKey) {
			this.select(this.from, this.to + sign);
		} else if (sign) {
			const width = this.to - this.from === count ? Math.ceil(count / 10) :
				this.to - this.from;
			const from = Math.max(0, Math.min(count - width, this.to - this.from === count ?
				0 : this.from + sign));
			this.select(from, from + width);
		} else {
			return;
		}
		event.preventDefault();
	}

	listen() {
		const { canvas } = this;
		const slice = (event) => event.offsetX / canvas.clientWidth * this.sums.length;
		let start = null;

		canvas.addEventListener('pointerdown', (event) => {
			start = slice(event);
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', (event) => {
			if (start === null)
				return;
			this.from = Math.max(0, Math.floor(Math.min(start, slice(event))));
			this.to = Math.min(this.sums.length, Math.ceil(Math.max(start, slice(event))));
			this.draw();
		});
		canvas.addEventListener('pointerup', (event) => {
			const end = slice(event), moved = start !== null &&
				Math.abs(end - start) / this.sums.length * canvas.clientWidth > 3;

			if (start === null)
				return;
			if (moved)
				this.select(Math.floor(Math.min(start, end)), Math.ceil(Math.max(start, end)));
			else
				this.select(0, this.sums.length);
			start = null;
		});
		canvas.addEventListener('pointercancel', () => { start = null; });
		canvas.addEventListener('keydown', (event) => this.press(event));
	}
}
