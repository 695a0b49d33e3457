// Who speaks: where the voice changes, and what viewers read there. Everything here is pure.

// Colours of names; base.css has them, and colour-blind people can tell them apart.
const COLOURS = 6;

// For each segment whose speaker is known { name, colour, begins }: begins says that somebody else spoke before.
// Voices of one name are one. The colours go by the order of their first words, so that all viewers see the same.
export function speakersOf({ segments, speakers }) {
    const names = new Map(speakers.map(({ speaker, name }) => [speaker, name])), order = [...new Set(names.values())];
    const found = new Map();
    let last = null;
    for (const [number, { speaker, text }] of segments) {
        const name = names.get(speaker);
        if (!name || !text.trim()) continue;
        found.set(number, { name, colour: order.indexOf(name) % COLOURS, begins: name !== last });
        last = name;
    }
    return found;
}

// The texts of some segments for a screen reader, with the name once where the speaker changes.
export function told(known, segments) {
    const all = speakersOf(known);
    return segments.map(({ segment, text }) => (all.get(segment)?.begins ? `${all.get(segment).name}: ${text}` : text));
}
