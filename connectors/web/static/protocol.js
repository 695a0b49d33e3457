// The caption protocol: what each message of a stream makes of what a page knows. docs/formats.md describes the messages.
//
// Everything here is pure. What a message leaves as it was is the same object afterwards, so that a view finds
// what changed by comparing objects. Positions in texts are Unicode code points, as the server counts.

// Segments that a page remembers; the oldest that are final go first.
const KEPT = 400;

// What is known before anything was heard.
export const NOTHING = Object.freeze({
    segments: new Map(), // by number, in the order of speech
    language: { source: "", target: "", target_dir: "auto" },
    choices: [], // languages of captions to choose from, each { code, name, dir }
    state: null,
    sentence: null,
    level_dbfs: null,
    figures: null,
    ended: false,
    snapshots: 0,
});

// A message does not go with what is known: something was missed, and only a snapshot helps.
export class Missed extends Error {}

// What is known after `message`. An unknown message changes nothing; throws Missed.
export function applied(known, message) {
    switch (message?.type) {
        case "snapshot": return withSnapshot(known, message);
        case "update": return withUpdate(known, message);
        case "figures": return { ...known, figures: message };
        case "state": return {
            ...known, state: words(message.state), sentence: words(message.sentence),
            level_dbfs: number(message.level_dbfs),
        };
        case "end": return { ...known, ended: true };
        default: return known;
    }
}

// The segments that became final between two moments, for announcing. History that was there before the first
// snapshot is none of them, nor is what a later snapshot only repeats.
export function finished(before, after) {
    if (before.segments === after.segments || before.snapshots === 0) return [];
    return [...after.segments.values()].filter((segment) => {
        const old = before.segments.get(segment.segment);
        return segment.final && segment.text.trim() && !(old?.final && old.text === segment.text);
    });
}

// A text up to `count` code points, and the rest of it. What belongs to one character (a combining mark, a joined
// emoji) is not taken apart.
export function split(text, count) {
    let at = unitsOf(text, count) ?? text.length;
    while (at > 0 && at < text.length && goesOn(text, at)) at -= at > 1 && isPair(text, at - 2) ? 2 : 1;
    return [text.slice(0, at), text.slice(at)];
}

const goesOn = (text, at) => text[at - 1] === "\u200d" || /^[\p{M}\p{Emoji_Modifier}\u200d]/u.test(text.slice(at, at + 2));

// How many code points a text has.
export function length(text) {
    let count = 0;
    for (const _ of text) count += 1;
    return count;
}

function withSnapshot(known, message) {
    const segments = new Map();
    const told = Array.isArray(message.segments) ? message.segments.filter((one) => isCount(one?.segment)) : [];
    for (const one of told) {
        const segment = {
            segment: one.segment, text: words(one.text) ?? "", settled: isCount(one.settled) ? one.settled : 0,
            source: words(one.source) ?? "", final: one.final === true,
            start_s: number(one.start_s), end_s: number(one.end_s),
        };
        const old = known.segments.get(one.segment);
        segments.set(one.segment, old && isSame(old, segment) ? old : segment);
    }
    const language = {
        source: words(message.language?.source) ?? "", target: words(message.language?.target) ?? "",
        target_dir: message.language?.target_dir === "rtl" ? "rtl" : "ltr",
    };
    return {
        ...known, segments: kept(segments), choices: choices(message.language?.choices), language: isSame(known.language, language) ? known.language : language, state: words(message.state), sentence: null, ended: false,
        snapshots: known.snapshots + 1,
    };
}

function choices(told) {
    const valid = Array.isArray(told) ? told.filter((one) => words(one?.code) && words(one.name)) : [];
    return valid.map(({ code, name, dir }) => ({ code, name, dir: dir === "rtl" ? "rtl" : "ltr" }));
}

function withUpdate(known, message) {
    if (!isCount(message.segment)) throw new Missed("an update names no segment");
    const old = known.segments.get(message.segment);
    if (old?.final) return known; // nothing comes after a final: it is an echo
    const segment = {
        segment: message.segment,
        text: rewritten(old?.text ?? "", message.keep, message.append),
        settled: isCount(message.settled) ? message.settled : 0,
        source: rewritten(old?.source ?? "", message.source_keep, message.source_append),
        final: message.final === true,
        start_s: number(message.start_s), end_s: number(message.end_s),
    };
    const segments = new Map(known.segments).set(message.segment, segment);
    return { ...known, segments: old ? segments : kept(segments) };
}

function rewritten(text, keep, append) {
    const at = isCount(keep) ? unitsOf(text, keep) : null;
    if (at === null) throw new Missed(`an update keeps ${keep} of ${length(text)} characters`);
    return text.slice(0, at) + (words(append) ?? "");
}

// In the order of speech, and no more than are remembered.
function kept(segments) {
    const ordered = new Map([...segments].sort(([a], [b]) => a - b));
    for (const [number, { final }] of segments) {
        if (ordered.size <= KEPT) break;
        if (final) ordered.delete(number);
    }
    return ordered;
}

// Where `count` code points of a text end, in the UTF-16 units that JavaScript counts; null when it has fewer.
function unitsOf(text, count) {
    let at = 0;
    for (let left = count; left > 0; left -= 1) {
        if (at >= text.length) return null;
        at += isPair(text, at) ? 2 : 1;
    }
    return at;
}

const isPair = (text, at) => text.codePointAt(at) > 0xffff;
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const number = (value) => (Number.isFinite(value) ? value : null);
const words = (value) => (typeof value === "string" ? value : null);
const isSame = (one, other) => Object.keys(other).every((name) => one[name] === other[name]);
