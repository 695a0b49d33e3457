// Which rows of the captions are on display, and when the next ones replace them.
//
// Everything here is pure: time is an argument, in seconds. A row is shown until it can have been read; then waiting
// rows replace it. Nothing that was shown before comes back. If more is said than can be read, the reading speed is
// raised, just so much that no row waits longer than MAX_WAIT_S.

import { difference } from "./dom.js";
import { NO_ROWS, broken } from "./rows.js";

const MAX_WAIT_S = 8;
// Nobody speaks so many columns a second. When a connection returns after a long time with all missed rows, the oldest
// of them are left out.
const MAX_SPEED = 60;
// No row leaves until so many seconds after its last word came. Nor does it leave for a row that is so new that it may
// be retracted immediately.
const GLANCE_S = 0.4, STANDS_S = 0.5;

// Marks that may not begin a line, such as the full stop or the comma after a line that is gone.
const CLOSING = /^[\s\p{Pe}\p{Pf}.,;:!?…、。，．！？；：،؛؟।]+/u;

const WIDE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303f\uff00-\uff60]/u;

function columns(text) {
    let count = 0;
    for (const character of text.trim()) count += WIDE.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1;
    return count;
}

export class Pages {
    // By segment: its rows; how many are gone; whether it is over; and by row the columns that are unread, when the row
    // first came, and when it last changed.
    #captions = new Map();
    #top = {}; // the first row on display
    #now = 0;

    // lines: rows on display, which leave together, so that no word ever moves. pace: columns that are read in a second;
    // a Chinese character has two. Guidelines for subtitles allow 17 to 20. fit: see rows.js.
    constructor({ lines, pace, fit }) {
        Object.assign(this, { lines, pace, fit });
    }

    // Set the present text of the segments: an array of [segment, text, whether it is over], in the order of speech.
    // Segments that are left out are forgotten. catchesUp: this is history, as for a display that begins or comes back.
    // Only the last rows of a new segment are then shown, and none of a segment that is over.
    say(segments, now, catchesUp = false) {
        // Rows that are due leave before the revision, which might push their last words into the next row.
        this.at(now);
        const told = new Map();
        for (const [segment, text, isOver] of segments) {
            const old = this.#captions.get(segment);
            // A segment that was over and changes all the same belongs to another run.
            const isNew = !old || (old.isOver && old.rows.text !== text);
            const caption = isNew ? { rows: NO_ROWS, gone: 0, isOver, left: [], since: [], changed: [] } : old;
            told.set(segment, caption);
            caption.isOver = isOver;
            // Words retracted at the end mostly come back with the next update: they stay until others come.
            const isShorter = !isOver && caption.rows.text.startsWith(text);
            if (caption.rows.text !== text && !isShorter) this.#revise(caption, broken(caption.rows, text, this.fit, caption.gone), now);
            if (catchesUp && isNew) caption.gone = Math.max(0, caption.rows.starts.length - (isOver ? 0 : this.lines));
        }
        this.#captions = told;
    }

    // The rows on display, from the top, each { segment, row, from, text } with its position in the segment's text; and
    // the seconds until the next call, unless a text changes before: Infinity if nothing waits.
    at(now) {
        this.#read(now);
        for (;;) {
            const rows = this.#rows(), { speed, time } = this.#pace(rows, now);
            const shown = rows.slice(0, this.lines);
            if (rows.length <= this.lines) return this.#display(shown, Infinity);
            const glance = Math.max(...shown.map(({ caption, row }) => caption.changed[row])) + GLANCE_S - now;
            const { caption: first, row } = rows[this.lines], stands = first.isOver ? 0 : first.since[row] + STANDS_S - now;
            const next = Math.min(time, Math.max(sum(shown.map(left)) / speed, glance, stands));
            // Rows that are on display already stay until their time has come.
            const isSeen = shown[0].caption === this.#top.caption && shown[0].row === this.#top.row;
            if (next > 1e-6 && (isSeen || speed <= MAX_SPEED)) return this.#display(shown, next);
            for (const one of shown) leave(one, now);
            for (const { caption, row } of rows.slice(this.lines, 2 * this.lines)) caption.changed[row] = now;
        }
    }

    // After a silence: segments that are over leave. Others may continue.
    rest(now) {
        this.#read(now);
        for (const caption of this.#captions.values()) if (caption.isOver) caption.gone = caption.rows.starts.length;
    }

    // The display has another width: break its rows again.
    resize(now) {
        for (const caption of this.#captions.values()) {
            const { text, starts } = caption.rows, from = starts[caption.gone] ?? text.length;
            const rest = broken(NO_ROWS, text.slice(from), this.fit).starts.map((start) => from + start);
            this.#revise(caption, { text, starts: [...starts.slice(0, caption.gone), ...rest] }, now);
        }
    }

    #display(rows, next) {
        this.#top = rows[0] ?? {};
        return { rows: rows.map(place), next };
    }

    #revise(caption, rows, now) {
        const { rows: old, left, since, changed } = caption;
        const text = ({ text, starts }, row) => text.slice(starts[row] ?? text.length, starts[row + 1] ?? text.length);
        const pairs = rows.starts.map((_, row) => [text(old, row), text(rows, row)]);
        const unread = ([before, after], row) => Math.min(columns(after), (left[row] ?? 0) + columns(part(before, after)));
        caption.left = pairs.map(unread);
        caption.changed = pairs.map(([before, after], row) => (before === after ? changed[row] ?? now : now));
        caption.since = pairs.map(([before], row) => (before ? since[row] : now));
        caption.rows = rows;
    }

    // All rows that have not left.
    #rows() {
        const all = [];
        for (const [segment, caption] of this.#captions) {
            const { text, starts } = caption.rows;
            for (let row = caption.gone; row < starts.length; row += 1) {
                const to = starts[row + 1] ?? text.length, words = text.slice(starts[row], to).replace(row ? CLOSING : /^\s+/u, "");
                // A full stop that came late is not a row.
                if (/[\p{L}\p{N}\p{S}]/u.test(words)) all.push({ segment, caption, row, text: words.trimEnd(), from: to - words.length });
            }
        }
        return all;
    }

    // The necessary reading speed in columns a second, and the seconds until a row has waited too long.
    #pace(rows, now) {
        let ahead = 0, speed = this.pace, first = Infinity;
        for (let index = this.lines; index < rows.length; index += 1) {
            // The page before this row leaves before it is shown.
            if (index % this.lines === 0) ahead += sum(rows.slice(index - this.lines, index).map(left));
            const { caption, row } = rows[index], time = caption.since[row] + MAX_WAIT_S - now;
            first = Math.min(first, time);
            if (time > 0) speed = Math.max(speed, ahead / time);
        }
        return { speed, time: first };
    }

    // Count the time until `now` as reading of the rows on display, from the top.
    #read(now) {
        const rows = this.#rows();
        let budget = this.#pace(rows, this.#now).speed * Math.max(0, now - this.#now);
        this.#now = Math.max(this.#now, now);
        for (const { caption, row } of rows.slice(0, this.lines)) {
            const read = Math.min(budget, caption.left[row]);
            caption.left[row] -= read;
            budget -= read;
        }
    }
}

function leave({ caption, row }, now) {
    caption.gone = Math.max(caption.gone, row + 1);
    // The rest of the sentence begins a new row.
    if (row + 1 === caption.rows.starts.length) {
        caption.rows = { text: caption.rows.text, starts: [...caption.rows.starts, caption.rows.text.length] };
        caption.left.push(0);
        caption.since.push(now);
        caption.changed.push(now);
    }
}

const place = ({ segment, row, from, text }) => ({ segment, row, from, text });
const left = ({ caption, row }) => caption.left[row];
const sum = (values) => values.reduce((all, one) => all + one, 0);

// The part of `after` between the beginning and the end that it has in common with `before`.
function part(before, after) {
    const { from, after: to } = difference(before, after);
    return after.slice(from, to);
}
