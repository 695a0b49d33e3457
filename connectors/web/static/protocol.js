// The caption protocol: applies the messages of a stream to a page's state. docs/formats.md describes the messages.
//
// Everything here is pure. Parts that a message does not change are the same objects afterwards, so that a view finds
// changes by comparing objects. Positions in texts are Unicode code points, as the server counts.

// Segments that a page remembers; the oldest that are final go first.
const KEPT = 400;

// The state before the first message.
export const NOTHING = Object.freeze({
    segments: new Map(), // by number, in the order of speech
    speakers: [], // the voices so far, each { speaker, name }: its name in segments, and that for viewers
    language: { source: "", target: "", target_dir: "auto" },
    choices: [], // languages of captions to choose from, each { code, name, dir }
    state: null,
    sentence: null,
    level_dbfs: null,
    figures: null,
    ended: false,
    snapshots: 0,
});

// A message does not fit the known state: something was missed, and only a snapshot helps.
export class Missed extends Error {}

// The state after `message`. An unknown message changes nothing; throws Missed.
export function applied(known, message) {
    switch (message.type) {
        case "snapshot": return withSnapshot(known, message);
        case "update": return withUpdate(known, message);
        case "speakers": return { ...known, speakers: message.speakers };
        case "figures": return { ...known, figures: message };
        case "state": return { ...known, state: message.state, sentence: message.sentence, level_dbfs: message.level_dbfs };
        case "end": return { ...known, ended: true };
        default: return known;
    }
}

// The segments that became final between two moments, for announcing. History in the first snapshot does not count,
// nor does a later snapshot that only repeats a segment.
export function finished(before, after) {
    if (before.segments === after.segments || before.snapshots === 0) return [];
    return [...after.segments.values()].filter((segment) => {
        const old = before.segments.get(segment.segment);
        return segment.final && segment.text.trim() && !(old?.final && old.text === segment.text);
    });
}

// A text up to `count` code points, and the rest of it. Code points of one character (a combining mark, a joined emoji)
// are not separated.
export function split(text, count) {
    const points = [...text];
    let at = count;
    while (at > 0 && at < points.length && (points[at - 1] === "\u200d" || GOES_ON.test(points[at]))) at -= 1;
    return [points.slice(0, at).join(""), points.slice(at).join("")];
}

const GOES_ON = /^[\p{M}\p{Emoji_Modifier}\u200d]/u;

function withSnapshot(known, { segments, speakers = [], state, language: { choices = [], ...language } }) {
    const entries = segments.map((one) => {
        const old = known.segments.get(one.segment);
        return [one.segment, old && isSame(old, one) ? old : one];
    });
    return {
        ...known, segments: kept(new Map(entries)), speakers, choices, language: isSame(known.language, language) ? known.language : language,
        state, sentence: null, ended: false, snapshots: known.snapshots + 1,
    };
}

function withUpdate(known, { type, keep, append, source_keep, source_append, ...rest }) {
    const old = known.segments.get(rest.segment);
    if (old?.final) return known; // nothing comes after a final: it is an echo
    const text = rewritten(old?.text ?? "", keep, append), source = rewritten(old?.source ?? "", source_keep, source_append);
    const segments = new Map(known.segments).set(rest.segment, { ...rest, text, source });
    return { ...known, segments: old ? segments : kept(segments) };
}

function rewritten(text, keep, append) {
    const points = [...text];
    if (keep > points.length) throw new Missed(`an update keeps ${keep} of ${points.length} characters`);
    return points.slice(0, keep).join("") + append;
}

// The segments in the order of speech, limited to the number that is remembered.
function kept(segments) {
    const ordered = new Map([...segments].sort(([a], [b]) => a - b));
    for (const [number, { final }] of segments) {
        if (ordered.size <= KEPT) break;
        if (final) ordered.delete(number);
    }
    return ordered;
}

const isSame = (one, other) => Object.keys(other).every((name) => one[name] === other[name]);
