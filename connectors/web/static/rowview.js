// Rows of captions on the page: draws the rows that pages.js selects, and measures how much text fits into a row.

import { make } from "./dom.js";
import { Pages } from "./pages.js";
import { split } from "./protocol.js";
import { colon, speakersOf } from "./speakers.js";
import { label, line, name, write } from "./view.js";

// Number of newest segments that are considered: more than can wait.
const LOOKED_AT = 24;
const DASH = "– ";

export class RowView {
    #drawn = new Map(); // by segment and row: the element and its two text nodes
    #known = null;
    #speakers = new Map();
    #labels = new Map(); // by segment: the label before its text, which does not change
    #timer;
    waits = false; // whether rows wait for their turn

    // container: the element that holds the rows. lines, pace: see pages.js. text(segment): the text to show. names:
    // whether speakers are named. finals: only finished segments. language(language): { lang, dir } of the text.
    // moved(): called whenever other rows are on display.
    constructor(container, { lines, pace, names, finals, text, language, moved }) {
        Object.assign(this, { container, names, finals, text, language, moved });
        this.room = new Room(container);
        this.pages = new Pages({ lines, pace, fit: (words, wide) => this.room.fit(words, wide) });
        new ResizeObserver(() => this.#resize()).observe(container);
    }

    // Show a state. catchesUp: it is history (see pages.js).
    show(known, catchesUp = false) {
        if (known.language !== this.#known?.language) {
            Object.assign(this.container, this.language(known.language));
            this.room.forget();
        }
        const past = this.#known?.segments ?? new Map();
        this.#known = known;
        const all = [...known.segments.values()].slice(-LOOKED_AT).filter(({ final }) => final || !this.finals);
        if (this.names) this.#introduce(all, past);
        this.pages.say(all.map((one) => [one.segment, this.#before(one) + this.text(one), one.final]), seconds(), catchesUp);
        this.#draw();
    }

    // After a silence in which the display was emptied: finished segments do not come back.
    rest() {
        this.pages.rest(seconds());
    }

    // Name the speaker where it changes.
    #introduce(all, past) {
        const segments = new Map(all.map((one) => [one.segment, one]));
        this.#speakers = speakersOf({ segments, speakers: this.#known.speakers });
        this.#labels = new Map(all.map((one) => [one.segment, this.#before(one)]));
        for (const [segment, { name, begins }] of this.#speakers) {
            if (!begins || this.#labels.get(segment) || past.get(segment)?.final) continue;
            const said = name + colon(this.container.lang);
            // A dash, as on television, if the name would take most of the row.
            const written = this.room.fit(said.repeat(3)) < 3 * said.length ? DASH : said;
            const seen = past.get(segment), isNew = this.finals || !seen || !this.text(seen);
            const whole = written + this.text(segments.get(segment));
            // Words that are on display already stay in their row (see view.js); rows that have left have no name.
            if (isNew || this.room.fit(whole) >= whole.length) this.#labels.set(segment, written);
        }
    }

    #before({ segment }) {
        return this.#labels.get(segment) ?? "";
    }

    #resize() {
        if (!this.room.changed() || !this.#known) return;
        this.pages.resize(seconds());
        for (const { nodes } of this.#drawn.values()) for (const node of nodes) node.data = "";
        this.#draw();
    }

    #draw() {
        const { rows, next } = this.pages.at(seconds()), drawn = new Map();
        clearTimeout(this.#timer);
        this.waits = next < Infinity;
        if (this.waits) this.#timer = setTimeout(() => this.#draw(), Math.ceil(1000 * next));
        let isMoved = rows.length !== this.#drawn.size;
        for (const [index, { segment, row, from, text }] of rows.entries()) {
            const key = `${segment}/${row}`, one = this.#drawn.get(key) ?? line("text row", ["settled", "tentative"]);
            isMoved ||= !this.#drawn.has(key);
            this.#fill(one, this.#known.segments.get(segment), from, text);
            if (this.container.children[index] !== one.element) this.container.insertBefore(one.element, this.container.children[index] ?? null);
            drawn.set(key, one);
        }
        for (const [key, { element }] of this.#drawn) if (!drawn.has(key)) element.remove();
        this.#drawn = drawn;
        if (isMoved) this.moved();
    }

    #fill({ element, nodes }, segment, from, row) {
        const before = this.#before(segment), who = this.#speakers.get(segment.segment), drawn = element.textContent;
        const isFirst = before && from === 0;
        if (isFirst && who) {
            // Rows keep the breaks of the name that was shown first; somebody may have typed another one since.
            if (element.firstChild.className !== "speaker") element.prepend(label(before === DASH ? " " : colon(this.container.lang)));
            name(element.firstChild, before === DASH ? { ...who, name: DASH.trim() } : who);
        }
        this.#write(nodes, segment, isFirst ? 0 : from - before.length, isFirst ? row.slice(before.length) : row);
        const shown = element.textContent;
        if (shown !== drawn) element.style.fontSize = this.room.fit(shown) < shown.length ? `${this.room.share(element)}em` : "";
    }

    #write([settled, tentative], segment, from, words) {
        const text = this.text(segment);
        // For the original text, it is not known how much is settled.
        const stands = segment.final || text !== segment.text ? text.length : split(text, segment.settled)[0].length;
        const head = words.slice(0, Math.max(0, stands - from)), blank = words.slice(head.length).match(/^\s*/)[0].length;
        write(settled, words.slice(0, head.length + blank));
        write(tentative, words.slice(head.length + blank));
    }
}

// How much text a row takes: the browser itself breaks lines, by the rules of the language, in a hidden element.
class Room {
    #known = new Map();
    #width = 0;

    constructor(container) {
        this.container = container;
        this.node = document.createTextNode("");
        this.probe = make("p", { className: "row probe", ariaHidden: "true" }, this.node);
        // Within the container, because its style may come from elsewhere.
        container.append(this.probe);
    }

    // Whether the width of rows or their font has changed since the last call.
    changed() {
        const { width } = this.container.getBoundingClientRect(), { font } = getComputedStyle(this.container);
        const isOther = this.#width !== `${width} ${font}`;
        this.#width = `${width} ${font}`;
        if (isOther) this.forget();
        return isOther;
    }

    forget() {
        this.#known.clear();
    }

    // How many UTF-16 units of a text are on its first line, with the spaces after them.
    fit(text, wide = 1) {
        const key = `${wide} ${text}`;
        if (!this.#known.has(key)) {
            if (this.#known.size > 500) this.#known.clear();
            this.#known.set(key, this.#measured(text, wide));
        }
        return this.#known.get(key);
    }

    // The factor by which to shrink the letters of a row that is too wide.
    share(element) {
        element.style.fontSize = "";
        const range = document.createRange();
        range.selectNodeContents(element);
        this.probe.style.width = "100%";
        const { width, paddingLeft, paddingRight } = getComputedStyle(this.probe);
        const given = parseFloat(width) - parseFloat(paddingLeft) - parseFloat(paddingRight);
        return Math.min(1, given / range.getBoundingClientRect().width);
    }

    #measured(text, wide) {
        const { container, probe, node } = this, range = document.createRange();
        Object.assign(probe, { lang: container.lang, dir: container.dir });
        probe.style.width = `${100 * wide}%`;
        node.data = text;
        const top = (index) => {
            const at = index + text.slice(index).search(/\S|$/);
            if (at >= text.length) return -Infinity;
            range.setStart(node, at);
            range.setEnd(node, at + (text.codePointAt(at) > 0xffff ? 2 : 1));
            return range.getBoundingClientRect().top;
        };
        const below = top(0) + parseFloat(getComputedStyle(probe).lineHeight) / 2;
        let fits = 0, over = text.length;
        while (over - fits > 1) {
            const middle = (fits + over) >> 1;
            if (top(middle) > below) over = middle;
            else fits = middle;
        }
        const rest = text.slice(over), end = over + rest.length - rest.trimStart().length;
        return text.charCodeAt(end) >>> 10 === 0x37 ? end - 1 : end; // not within a pair of surrogates
    }
}

const seconds = () => performance.now() / 1000;
