// The overlay: the last lines over somebody's video. All settings are in its address; nothing is stored.

import { follow } from "./connection.js";
import { RowView } from "./rowview.js";
import { DEFAULTS, apply } from "./settings.js";

const LINES = 2;

export function runOverlay(events, given) {
    const root = document.documentElement;
    const settings = { ...DEFAULTS, ...given };
    const scroller = document.getElementById("scroller");
    scroller.removeAttribute("tabindex");
    // Nothing else is on the page, so nothing else can show.
    document.body.replaceChildren(scroller);
    root.dataset.mode = "overlay";
    apply(settings);
    const captions = document.getElementById("captions");
    const { finals, pace } = settings, common = { lines: settings.lines || LINES, pace, finals, moved };
    const views = [new RowView(captions, {
        ...common, names: true, text: ({ text }) => text, language: ({ target, target_dir }) => ({ lang: target, dir: target_dir }),
    })];
    if (settings.source) views.unshift(original());
    const refusal = document.createElement("p");
    let silence;

    function original() {
        const said = Object.assign(document.createElement("div"), { id: "original" });
        scroller.prepend(said);
        // Its letters are smaller, so a line holds more of it.
        const lines = Math.ceil(0.6 * common.lines);
        said.style.setProperty("--lines", lines);
        return new RowView(said, { ...common, lines, text: ({ source }) => source, language: ({ source }) => ({ lang: source, dir: "auto" }) });
    }

    // The text on display has changed.
    function moved() {
        root.removeAttribute("data-quiet");
        clearTimeout(silence);
        if (settings.fade) silence = setTimeout(rest, 1000 * settings.fade);
    }

    function rest() {
        if (views.some(({ waits }) => waits)) return moved();
        root.toggleAttribute("data-quiet", true);
        // Text from before the silence does not come back with the next text.
        for (const view of views) view.rest();
    }

    follow(() => events, {
        changed(now, before) {
            root.dataset.live = "on";
            if (now.segments === before.segments && now.speakers === before.speakers) return;
            const isNews = [...now.segments.values()].some((one) => before.segments.get(one.segment) !== one);
            refusal.remove();
            for (const view of views) view.show(now, now.snapshots !== before.snapshots);
            if (isNews) moved();
        },
        // Shown while the source is set up; once captions have come, it is part of somebody's video.
        refused(sentence) {
            refusal.textContent = sentence;
            if (!root.dataset.live) captions.prepend(refusal);
        },
    });
}
