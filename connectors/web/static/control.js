// The control room of a stream: its live figures, and the last sentences and notices.

import { showCode } from "./code.js";
import { condition, follow } from "./connection.js";
import { by, make, say } from "./dom.js";
import { Plot } from "./plot.js";
import { finished } from "./protocol.js";
import { told as spoken } from "./speakers.js";
import { entitle, events, isRoom, operatorKey, path, reachable } from "./stream.js";
import { Voices } from "./voices.js";

// Entries of the list that are kept.
const KEPT = 100;
entitle("control room");
by("to-page").href = reachable(path);
by("to-overlay").href = reachable(`${path}?overlay=1`);
by("to-code").addEventListener("click", () => showCode(reachable(path)));

const share = (value) => `${Math.round(100 * value)} %`;
const milliseconds = (value) => (value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`);
const two = (value) => value.toFixed(2);
const place = by("plots");
const PARTS = ["recogniser", "queue", "model", "display"];
const plots = {
    latency: new Plot(place, "Latency from speech", { parts: PARTS, stacked: true, format: milliseconds, least: 500, total: (values) => values[PARTS.length] }),
    ne: new Plot(place, "Erasure (NE)", { parts: ["shown", "raw"], format: two, least: 0.5 }),
    drafted: new Plot(place, "Accepted drafts (A/D)", { format: share }),
    output: new Plot(place, "Output from drafts (A/O)", { format: share }),
    overtaken: new Plot(place, "Superseded updates", { least: 5 }),
    lost: new Plot(place, "Sound lost", { format: (value) => `${value.toFixed(1)} s`, least: 1 }),
    level: new Plot(place, "Level", { format: (value) => `${Math.round(value)} dBFS`.replace("-", "−"), least: 0, floor: -60 }),
};

by("span").addEventListener("change", ({ target }) => {
    for (const plot of Object.values(plots)) plot.span = Number(target.value);
});

function figures(now) {
    const seconds = performance.now() / 1000;
    const latency = now.latency_ms;
    const add = (plot, values) => { plots[plot].add(seconds, values); plots[plot].show(); };
    add("latency", [...PARTS.map((part) => latency[part]), latency.from_speech]);
    add("ne", [now.ne_shown, now.ne_raw]);
    add("drafted", [now.accepted_over_drafted]);
    add("output", [now.accepted_over_output]);
    add("overtaken", [now.overtaken]);
    add("lost", [now.lost_s]);
    by("counts").textContent = `${now.segments} segments · ${now.updates} updates`;
}

function entered(className, words, source = "", language = {}) {
    const line = (textContent, lang = "", kind = "") => make("p", { className: kind, lang, dir: "auto", textContent });
    by("log").prepend(make("li", { className },
        make("time", { textContent: new Date().toLocaleTimeString([], { hour12: false }) }),
        line(words, language.target), ...(source ? [line(source, language.source, "source")] : []),
    ));
    while (by("log").childElementCount > KEPT) by("log").lastElementChild.remove();
}

const naming = (method, asked = {}) =>
    fetch(`${path}/speakers?${new URLSearchParams(asked)}`, { method, headers: { "surtitle-key": operatorKey }, cache: "no-store" });

// The speaker of a room names its voices, on the speaker's page. In all other streams, only the operator does.
const mayName = !isRoom && await naming("GET").then((answer) => answer.json()).catch(() => true);
const voices = new Voices(by("voices"), mayName ? async (speaker, name) => {
    try {
        const answer = await naming("POST", { speaker, name });
        return answer.ok ? "" : await answer.text();
    } catch {
        return "The server does not answer; try again.";
    }
} : undefined);
by("naming").hidden = !mayName;
by("no-naming").hidden = mayName || isRoom;
addEventListener("hashchange", () => location.reload());

function tellVoices(known) {
    by("speaking").hidden = known.speakers.length === 0;
    voices.show(known);
}

let latest = null, stands = false, refusal = "", levelled = -Infinity;

function tellState() {
    const { words, live } = condition(latest, stands, refusal);
    document.documentElement.dataset.live = live;
    say(by("state-words"), words);
}

follow(() => events, {
    changed(now, before) {
        latest = now;
        if (now.figures !== before.figures) figures(now.figures);
        const told = before.snapshots ? finished(before, now) : [...now.segments.values()].filter(({ final }) => final).slice(-KEPT);
        const words = spoken(now, told);
        for (const [index, { source }] of told.entries()) entered("", words[index], source, now.language);
        if (now.segments !== before.segments || now.speakers !== before.speakers) tellVoices(now);
        if (now.sentence && now.sentence !== before.sentence) entered("notice", now.sentence);
        if (now.ended && !before.ended) entered("notice", "The stream is over.");
        // Twice a second is enough for the eye; the end of the level is always shown.
        const isDue = now.level_dbfs === null || performance.now() - levelled > 400;
        if (isDue && now.level_dbfs !== before.level_dbfs) {
            levelled = performance.now();
            plots.level.add(levelled / 1000, [now.level_dbfs]);
            plots.level.show();
        }
        tellState();
    },
    connected(is) {
        if (latest && !latest.ended) entered("notice", is ? "Connected again." : "The connection is lost; trying again.");
        stands = is;
        if (is) refusal = "";
        tellState();
    },
    refused(sentence) {
        if (latest?.ended || refusal === sentence) return;
        refusal = sentence;
        entered("notice", sentence);
        tellState();
    },
});
