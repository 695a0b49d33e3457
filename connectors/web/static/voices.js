// The voices of a stream, each with a field for its name.

import { make, say } from "./dom.js";
import { label, name } from "./view.js";
import { coloursOf, speakersOf } from "./speakers.js";

// Characters of the last words that are shown, so that the operator recognises the speaker.
const LAST = 80;

export class Voices {
    #shown = new Map(); // by the first name of the voice in segments

    // list: an element for the entries. give(speaker, name): names a voice; a promise of the reason if it is refused,
    // else of nothing. Without `give`, there are no fields.
    constructor(list, give) {
        this.list = list;
        this.give = give;
    }

    show(known) {
        const voices = voicesOf(known);
        for (const [speaker, { entry }] of this.#shown) {
            if (!voices.has(speaker)) {
                entry.remove();
                this.#shown.delete(speaker);
            }
        }
        for (const [speaker, voice] of voices) {
            const shown = this.#shown.get(speaker) ?? this.#add(speaker);
            name(shown.label, voice);
            shown.entry.dataset.colour = voice.colour;
            say(shown.count, [counted(voice.sentences, "sentence"), `${Math.round(voice.seconds)} s`].join(", "));
            say(shown.words, voice.words.length > LAST ? `…${voice.words.slice(-LAST).replace(/^\S*/, "")}` : voice.words);
            shown.field.ariaLabel = `Name of ${voice.name}`;
            // Never while somebody types.
            if (document.activeElement !== shown.field) shown.field.value = voice.isNamed ? voice.name : "";
        }
    }

    #add(speaker) {
        const shown = {
            label: label(""), count: make("span", { className: "count" }), words: make("p", { className: "words", dir: "auto" }),
            field: make("input", { type: "text", maxLength: 50, placeholder: "Name", autocomplete: "off", spellcheck: false, dir: "auto" }),
            refusal: make("p", { className: "refusal", role: "alert" }),
        };
        const form = make("form", {}, shown.field, make("button", { textContent: "Name" }));
        form.addEventListener("submit", async (event) => {
            event.preventDefault();
            say(shown.refusal, (await this.give(speaker, shown.field.value)) ?? "");
            if (!shown.refusal.textContent) shown.field.blur();
        });
        shown.entry = make("li", {}, shown.label, shown.count, shown.words, ...(this.give ? [form, shown.refusal] : []));
        this.list.append(shown.entry);
        this.#shown.set(speaker, shown);
        return shown;
    }
}

// The voices in the order of their first words, with the figures of the segments that the page remembers.
function voicesOf({ segments, speakers }) {
    const voices = new Map(), firsts = new Map(), colours = coloursOf(speakers);
    for (const { speaker, name } of speakers) {
        if (!firsts.has(name)) {
            firsts.set(name, speaker);
            voices.set(speaker, { name, colour: colours.get(name), isNamed: false, sentences: 0, seconds: 0, words: "" });
        }
        // A voice without a name has a number in captions, and another name for viewers.
        voices.get(firsts.get(name)).isNamed ||= speaker === name;
    }
    for (const [number, { name }] of speakersOf({ segments, speakers })) {
        const voice = voices.get(firsts.get(name)), { text, final, start_s, end_s } = segments.get(number);
        voice.sentences += final;
        voice.seconds += end_s - start_s;
        voice.words = text;
    }
    return voices;
}

const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
