// The reader's settings: their values, where they come from, and how they change the page.

import { recall, remember } from "./dom.js";

// size: px, 0 fits the window. lines: of captions, 0 fills the window. text, background: hex digits, none is the
// theme's. finals: only finished sentences. keys: whether single keys work. Only for an overlay: fade, the seconds of
// silence after which it is emptied, 0 is never; pace, the characters that are read in a second; marks, whether words
// that may still change are dotted.
export const DEFAULTS = Object.freeze({
    theme: "system", size: 0, lines: 0, align: "left", font: "sans", text: "", background: "", source: false, finals: false,
    keys: true, fade: 8, pace: 20, marks: false,
});
export const SIZES = { least: 12, most: 240 };

// The media for which the light theme applies, for each choice of a theme.
const LIGHT = { system: "(prefers-color-scheme: light)", light: "all", dark: "not all" };
const NAME = "surtitle";
const between = (least, most) => (value) => {
    const given = Number(value);
    if (value === "" || !Number.isFinite(given) || given < 0) return undefined;
    return given === 0 ? 0 : Math.round(Math.min(most, Math.max(least, given)));
};
const isOn = (value) => ({ 1: true, true: true, on: true, 0: false, false: false, off: false })[String(value)];
const colour = (value) => {
    const digits = String(value).replace(/^#/, "").toLowerCase();
    return digits === "" || /^([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/.test(digits) ? digits : undefined;
};
const READ = {
    theme: (value) => (Object.hasOwn(LIGHT, value) ? value : undefined),
    size: between(SIZES.least, SIZES.most), lines: between(1, 40), fade: between(1, 3600),
    pace: (value) => between(5, 60)(value) || undefined, // nobody reads none
    font: (value) => (/^[\p{L}\p{N} ._-]{1,60}$/u.test(value) ? value : undefined),
    align: (value) => (["left", "center"].includes(value) ? value : undefined),
    text: colour, background: colour, source: isOn, finals: isOn, keys: isOn, marks: isOn,
};

// The valid settings among `given` (a URLSearchParams or an object); others are left out.
export function valid(given) {
    const entries = given instanceof URLSearchParams ? given.entries() : Object.entries(given ?? {});
    const read = [...entries].filter(([name]) => Object.hasOwn(READ, name)).map(([name, value]) => [name, READ[name](value)]);
    return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

// The settings as a query, without those that have their default.
export function query(settings) {
    return new URLSearchParams(differing(settings).map(([name, value]) => [name, value === true ? "1" : value === false ? "0" : value])).toString();
}

// The settings that this browser has stored.
export const remembered = () => valid(recall(NAME));

export function keep(settings) {
    remember(NAME, Object.fromEntries(differing(settings)));
}

const differing = (settings) => Object.entries(settings).filter(([name, value]) => value !== DEFAULTS[name]);

// Apply the settings to the page, by properties, which a strict content security policy allows.
export function apply(settings, root = document.documentElement) {
    document.getElementById("light").media = lightMedia(settings).media;
    root.toggleAttribute("data-source", settings.source);
    root.toggleAttribute("data-lines", settings.lines > 0);
    root.toggleAttribute("data-box", settings.background !== "");
    root.toggleAttribute("data-center", settings.align === "center");
    root.toggleAttribute("data-unmarked", !settings.marks);
    const generic = ["sans", "serif", "mono"].includes(settings.font);
    const set = {
        "--size": settings.size ? `${settings.size}px` : "", "--lines": settings.lines || "",
        "--text": settings.text && `#${settings.text}`, "--background": settings.background && `#${settings.background}`,
        "--font": generic ? `var(--${settings.font})` : `"${settings.font}", var(--sans)`,
    };
    for (const [name, value] of Object.entries(set)) root.style.setProperty(name, String(value));
}

// The MediaQueryList that matches while the light theme applies. Colours without a theme were chosen for the dark one.
export function lightMedia({ theme, text, background }) {
    return matchMedia(LIGHT[theme === "system" && (text || background) ? "dark" : theme]);
}

// Contrast of two colours given as [red, green, blue] from 0 to 255: 1 to 21 (WCAG 2, relative luminance).
export function contrast(one, other) {
    const [light, dark] = [one, other].map(luminance).sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
}

function luminance(rgb) {
    const [r, g, b] = rgb.map((value) => value / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
