// A small plot of the last minutes: one curve, several, or stacked bands. Its values are also shown as text; pointing
// at it, or the arrow keys, show those of another moment.

import { make, say } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000, HEIGHT = 100;
// Seconds between two samples after which a curve breaks, because the values between them are unknown.
const BREAK_S = 15;

export class Plot {
    #samples = []; // [seconds, value of each part]
    #span = 120;
    #at = null; // index of the sample that is pointed at

    // parts: names of the curves or bands. format(value): its text. total(values): the large value. least: the lowest
    // top of the scale.
    constructor(parent, title, { parts = [""], format = String, stacked = false, least = 1, floor = 0, total = ([first]) => first } = {}) {
        Object.assign(this, { title, parts, format, stacked, least, floor, total });
        this.value = make("span", { className: "value" });
        this.range = make("span", { className: "range" });
        this.area = make("div", { className: "area", tabIndex: 0, role: "img" });
        this.svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
        this.shapes = parts.map((_, part) => draw("path", { class: `${stacked ? "band" : "curve"} s${part}` }));
        this.cursor = draw("line", { class: "cursor", y1: 0, y2: HEIGHT, visibility: "hidden" });
        this.svg.append(draw("line", { class: "floor", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }), ...this.shapes, this.cursor);
        this.area.append(this.svg);
        const caption = make("figcaption", {}, make("h2", { textContent: title }), this.value, this.range);
        const figure = make("figure", { className: stacked ? "plot wide" : "plot" }, caption, this.area);
        // The value of each part, if there are several.
        this.legend = parts.length > 1 ? parts.map(() => make("span")) : [];
        if (parts.length > 1) {
            const entries = parts.map((name, part) => make("span", {}, make("span", { className: `key s${part}` }), `${name} `, this.legend[part]));
            figure.append(make("p", { className: "parts" }, ...entries));
        }
        parent.append(figure);
        this.#listen();
        this.show();
    }

    set span(seconds) {
        this.#span = seconds;
        this.show();
    }

    // values: one for each part, null if unknown. seconds: time on a clock that never goes back.
    add(seconds, values) {
        this.#samples.push([seconds, values]);
        const old = this.#samples.findIndex(([at]) => at > seconds - 310);
        if (old > 0) this.#samples.splice(0, old);
        if (this.#at !== null) this.#at = Math.max(0, this.#at - Math.max(0, old));
    }

    show() {
        const last = this.#samples.at(-1);
        const from = (last?.[0] ?? 0) - this.#span;
        const seen = this.#samples.filter(([at]) => at >= from);
        const totals = seen.map(([, values]) => this.total(values)).filter((value) => Number.isFinite(value));
        const top = Math.max(this.least, ...seen.map(([, values]) => this.#top(values)));
        const x = (at) => ((at - from) / this.#span) * WIDTH;
        const y = (value) => HEIGHT - ((value - this.floor) / (top - this.floor)) * HEIGHT;
        this.shapes.forEach((shape, part) => shape.setAttribute("d", this.stacked ? band(seen, part, x, y) : curve(seen, part, x, y)));
        const chosen = this.#at === null ? last : this.#samples[this.#at] ?? last;
        this.cursor.setAttribute("visibility", this.#at === null ? "hidden" : "visible");
        if (this.#at !== null && chosen) for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, x(chosen[0]));
        this.#tell(chosen, last, totals);
    }

    #tell(chosen, last, totals) {
        const said = (value) => (value === null || value === undefined ? "–" : this.format(value));
        say(this.value, said(chosen ? this.total(chosen[1]) : null));
        const range = totals.length ? `${said(Math.min(...totals))} to ${said(Math.max(...totals))}` : "no figures yet";
        const ago = this.#at === null ? "" : `${Math.round(last[0] - chosen[0])} s ago · `;
        say(this.range, `${ago}${range}`);
        this.legend.forEach((place, part) => say(place, said(chosen?.[1][part])));
        const parts = this.parts.length > 1 ? this.parts.map((name, part) => `, ${name} ${said(chosen?.[1][part])}`).join("") : "";
        this.area.ariaLabel = `${this.title}: ${ago}${said(chosen ? this.total(chosen[1]) : null)}${parts}; ${range}`;
    }

    #top(values) {
        const drawn = values.slice(0, this.parts.length).map((value) => value ?? this.floor);
        return this.stacked ? drawn.reduce((sum, value) => sum + Math.max(0, value), 0) : Math.max(...drawn);
    }

    #listen() {
        const point = (index) => {
            this.#at = index === null || !this.#samples.length ? null : Math.max(0, Math.min(this.#samples.length - 1, index));
            this.show();
        };
        this.area.addEventListener("pointermove", ({ clientX }) => {
            const { left, width } = this.area.getBoundingClientRect();
            const seconds = (this.#samples.at(-1)?.[0] ?? 0) - this.#span * (1 - (clientX - left) / width);
            point(this.#samples.findLastIndex(([at], index) => index === 0 || at <= seconds));
        });
        this.area.addEventListener("pointerleave", () => point(null));
        this.area.addEventListener("blur", () => point(null));
        this.area.addEventListener("keydown", (event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
            if (step) point((this.#at ?? this.#samples.length - 1) + step);
            else if (event.key === "Escape" || event.key === "End") point(null);
            else return;
            event.preventDefault();
        });
    }
}

// The path of one part's values, broken where none are known.
function curve(samples, part, x, y) {
    let path = "", before = null;
    for (const [at, values] of samples) {
        if (values[part] === null) { before = null; continue; }
        path += `${before === null || at - before > BREAK_S ? "M" : "L"}${x(at).toFixed(1)} ${y(values[part]).toFixed(1)}`;
        before = at;
    }
    return path;
}

// The area between the sum of the parts before and that with this one.
function band(samples, part, x, y) {
    const runs = [[]];
    for (const [at, values] of samples) {
        const isKnown = values.some((value) => value !== null);
        if (!isKnown || (runs.at(-1).length && at - runs.at(-1).at(-1)[0] > BREAK_S)) runs.push([]);
        const sum = (to) => values.slice(0, to).reduce((total, value) => total + Math.max(0, value ?? 0), 0);
        if (isKnown) runs.at(-1).push([at, sum(part), sum(part + 1)]);
    }
    const point = (at, value) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    return runs.filter((run) => run.length > 1).map((run) => `M${[
        ...run.map(([at, , upper]) => point(at, upper)), ...run.toReversed().map(([at, lower]) => point(at, lower)),
    ].join("L")}Z`).join("");
}

function draw(tag, attributes) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
}
