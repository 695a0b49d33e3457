// Segments on the page. Only text that differs is written: what stands is never touched, so it cannot flicker.

import { split } from "./protocol.js";

export class CaptionView {
    #drawn = new Map(); // by number: the segment as it is drawn, and its nodes
    #language = null;

    // container: the element that holds the segments.
    constructor(container) {
        this.container = container;
    }

    // Draw what differs from what was drawn before.
    show({ segments: shown, language }) {
        for (const [number, { element }] of this.#drawn) {
            if (!shown.has(number)) {
                element.remove();
                this.#drawn.delete(number);
            }
        }
        if (language !== this.#language) this.#speak(language);
        for (const [number, segment] of shown) {
            const drawn = this.#drawn.get(number) ?? this.#add(number);
            if (drawn.segment !== segment) this.#draw(drawn, segment);
        }
    }

    // Let go of the room that open segments took, as when the window changes.
    release() {
        for (const { text } of this.#drawn.values()) text.style.minHeight = "";
    }

    #speak(language) {
        this.#language = language;
        this.container.lang = language.target;
        this.container.dir = language.target_dir;
        for (const { source } of this.#drawn.values()) source.lang = language.source;
    }

    #add(number) {
        const element = document.createElement("div");
        element.className = "segment";
        const source = paragraph("source", ["said"]);
        const text = paragraph("text", ["settled", "tentative"]);
        source.element.dir = "auto";
        source.element.lang = this.#language.source;
        element.append(source.element, text.element);
        const later = [...this.#drawn].filter(([other]) => other > number).map(([, drawn]) => drawn.element);
        // Segments come in the order of speech, or nearly so.
        this.container.insertBefore(element, later.reduce((first, one) => (precedes(one, first) ? one : first), null));
        this.release();
        const drawn = { element, source: source.element, text: text.element, nodes: [...source.nodes, ...text.nodes] };
        this.#drawn.set(number, drawn);
        return drawn;
    }

    #draw(drawn, segment) {
        const [said, settled, tentative] = drawn.nodes;
        const [stands, rest] = segment.final ? [segment.text, ""] : parted(segment);
        // A line that a revision frees stays free until the next segment needs it: what is above does not fall.
        if (drawn.segment?.text) drawn.text.style.minHeight = `${drawn.text.getBoundingClientRect().height}px`;
        write(said, segment.source);
        write(settled, stands);
        write(tentative, rest);
        set(drawn.source, "hidden", segment.source === "");
        set(drawn.text, "hidden", segment.text === "");
        drawn.element.classList.toggle("open", !segment.final);
        drawn.segment = segment;
    }
}

// What stands and what is tentative; white space between them is not marked.
function parted({ text, settled }) {
    const [stands, rest] = split(text, settled);
    const blank = rest.length - rest.trimStart().length;
    return [stands + rest.slice(0, blank), rest.slice(blank)];
}

function paragraph(name, parts) {
    const element = document.createElement("p");
    element.className = name;
    const nodes = parts.map((part) => {
        const span = document.createElement("span");
        span.className = part;
        const node = document.createTextNode("");
        span.append(node);
        element.append(span);
        return node;
    });
    return { element, nodes };
}

// Make a text node say `text`, writing only what lies between the ends that stay.
export function write(node, text) {
    const old = node.data;
    if (old === text) return;
    const most = Math.min(old.length, text.length);
    let head = 0, tail = 0;
    while (head < most && old[head] === text[head]) head += 1;
    while (tail < most - head && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
    node.replaceData(head, old.length - head - tail, text.slice(head, text.length - tail));
}

function set(element, name, value) {
    if (element[name] !== value) element[name] = value;
}

const precedes = (one, other) => other === null || Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
