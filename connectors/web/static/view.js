// Segments on the page. Only changed text is written: the rest is never touched, so it cannot flicker.

import { difference, make, say } from "./dom.js";
import { split } from "./protocol.js";
import { colon, speakersOf } from "./speakers.js";

export class CaptionView {
    #drawn = new Map(); // by number: the segment as it is drawn, and its nodes
    #language = null;

    // container: the element that holds the segments.
    constructor(container) {
        this.container = container;
    }

    // Draw the differences from the last state.
    show({ segments: shown, speakers, language }) {
        const all = speakersOf({ segments: shown, speakers });
        for (const [number, { element }] of this.#drawn) {
            if (!shown.has(number)) {
                element.remove();
                this.#drawn.delete(number);
            }
        }
        if (language !== this.#language) this.#speak(language);
        for (const [number, segment] of shown) {
            const drawn = this.#drawn.get(number) ?? this.#add(number);
            this.#introduce(drawn, segment, all.get(number));
            if (drawn.segment !== segment) this.#draw(drawn, segment);
        }
    }

    // Release the space that open segments took, for example when the window changes.
    release() {
        for (const { text } of this.#drawn.values()) text.style.minHeight = "";
    }

    #speak(language) {
        this.#language = language;
        this.container.lang = language.target;
        this.container.dir = language.target_dir;
        for (const drawn of this.#drawn.values()) if (drawn.segment) this.#name(drawn, drawn.segment);
    }

    #add(number) {
        const source = line("source", ["said"]), text = line("text", ["settled", "tentative"]);
        source.element.dir = "auto";
        const element = make("div", { className: "segment" }, source.element, text.element);
        const later = [...this.#drawn].filter(([other]) => other > number).map(([, drawn]) => drawn.element);
        // Segments come in the order of speech, or nearly so.
        this.container.insertBefore(element, later.reduce((first, one) => (precedes(one, first) ? one : first), null));
        this.release();
        const drawn = { element, source: source.element, text: text.element, nodes: [...source.nodes, ...text.nodes] };
        this.#drawn.set(number, drawn);
        return drawn;
    }

    // Name the speaker where it changes. A name that is shown stays.
    #introduce(drawn, segment, who) {
        if (!who || !(who.begins || drawn.label)) return;
        const isLate = !drawn.label && drawn.segment?.text && !segment.final;
        drawn.label ??= label(colon(this.#language.target));
        name(drawn.label, who);
        if (drawn.label.isConnected) return;
        drawn.text.prepend(drawn.label);
        // The name may arrive when words are already displayed. They move once, if all of them stay in their row. In a
        // longer sentence, readers would lose their place, so only its final shows the name.
        if (isLate && !isOneRow(drawn.text)) {
            drawn.label.remove();
            drawn.label = null;
        }
    }

    #draw(drawn, segment) {
        const [said, settled, tentative] = drawn.nodes;
        const [stands, rest] = segment.final ? [segment.text, ""] : parted(segment);
        // A line that a revision frees stays free until the next segment needs it, so that the text above does not move.
        if (drawn.segment?.text) drawn.text.style.minHeight = `${drawn.text.getBoundingClientRect().height}px`;
        write(said, segment.source);
        write(settled, stands);
        write(tentative, rest);
        drawn.source.hidden = segment.source === "";
        drawn.text.hidden = segment.text === "";
        drawn.element.classList.toggle("open", !segment.final);
        this.#name(drawn, segment);
        drawn.segment = segment;
    }

    // Mark the spoken language: for browsers, and for readers if several are spoken.
    #name({ source, text }, { spoken }) {
        source.lang = spoken ?? this.#language.source;
        if (spoken && spoken !== this.#language.target) text.dataset.spoken = spoken;
        else delete text.dataset.spoken;
    }
}

// The settled and the tentative part; white space between them is not marked.
function parted({ text, settled }) {
    const [stands, rest] = split(text, settled);
    const blank = rest.length - rest.trimStart().length;
    return [stands + rest.slice(0, blank), rest.slice(blank)];
}

// A paragraph of parts, and the text node of each part.
export function line(className, parts) {
    const spans = parts.map((part) => make("span", { className: part }, ""));
    return { element: make("p", { className }, ...spans), nodes: spans.map(({ firstChild }) => firstChild) };
}

// The speaker's name before the text. It may have another direction than the text.
export function label(mark) {
    return make("b", { className: "speaker" }, make("bdi"), mark);
}

export function name(label, who) {
    say(label.firstChild, who.name);
    label.dataset.colour = who.colour;
}

function isOneRow(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    return range.getBoundingClientRect().height < 1.5 * parseFloat(getComputedStyle(element).lineHeight);
}

// Set the text of a node; only the part between the unchanged ends is written.
export function write(node, text) {
    if (node.data === text) return;
    const { from, before, after } = difference(node.data, text);
    node.replaceData(from, before - from, text.slice(from, after));
}

const precedes = (one, other) => other === null || Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
