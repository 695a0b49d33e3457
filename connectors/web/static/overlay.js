// The overlay: the last lines over somebody's video. Its address says everything; nothing is remembered.

import { follow } from "./connection.js";
import { DEFAULTS, apply } from "./settings.js";
import { CaptionView } from "./view.js";

// Segments that can fill the lines that an overlay has.
const DRAWN = 12;

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
    const view = new CaptionView(captions, DRAWN);
    let silence;

    function rest() {
        root.toggleAttribute("data-quiet", true);
        // What was said before the silence does not come back with what is said after it.
        view.hideFinished();
    }

    follow(() => events, {
        changed(now, before) {
            root.dataset.live = "on";
            if (now.segments === before.segments) return;
            const isNews = [...now.segments.values()].some((one) => before.segments.get(one.segment) !== one);
            if (before.snapshots === 0) captions.replaceChildren();
            view.show(now);
            if (!isNews) return;
            // What is over when an overlay begins was not said now.
            if (before.snapshots === 0) view.hideFinished();
            root.removeAttribute("data-quiet");
            clearTimeout(silence);
            if (settings.fade) silence = setTimeout(rest, 1000 * settings.fade);
        },
        // Shown while the source is set up; once captions have come, it is part of somebody's video.
        refused(sentence) {
            if (!root.dataset.live) captions.textContent = sentence;
        },
    });
}
