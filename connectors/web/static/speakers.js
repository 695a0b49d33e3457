// Speakers: where they change, and what viewers read there. Everything here is pure.

// Number of colours of names; base.css has them, and colour-blind people can distinguish them.
const COLOURS = 6;

// The colour of each name, in the order of first words, so that all viewers see the same. Voices of one name are one.
export function coloursOf(speakers) {
    return new Map([...new Set(speakers.map(({ name }) => name))].map((name, index) => [name, index % COLOURS]));
}

// For each segment whose speaker is known { name, colour, begins }: begins is true where the speaker changes.
export function speakersOf({ segments, speakers }) {
    const names = new Map(speakers.map(({ speaker, name }) => [speaker, name])), colours = coloursOf(speakers);
    const found = new Map();
    let last = null;
    for (const [number, { speaker, text }] of segments) {
        const name = names.get(speaker);
        if (!name || !text.trim()) continue;
        found.set(number, { name, colour: colours.get(name), begins: name !== last });
        last = name;
    }
    return found;
}

// The mark between a name and the text, in the language of the text.
export function colon(language) {
    return /^fr\b/.test(language) ? "\u00a0: " : /^(zh|ja)\b/.test(language) ? "：" : ": ";
}

// The texts of some segments for a screen reader, with the name once where the speaker changes.
export function told(known, segments) {
    const all = speakersOf(known), after = colon(known.language.target);
    return segments.map(({ segment, text }) => (all.get(segment)?.begins ? all.get(segment).name + after + text : text));
}
