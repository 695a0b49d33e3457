// The address of a page for the phones of an audience: as a QR code, and as text.

import { make } from "./dom.js";

const NEAR = ["localhost", "127.0.0.1", "[::1]"];

export function showCode(address) {
    const picture = new URL(`../qr.svg?for=${encodeURIComponent(address)}`, import.meta.url).href;
    const close = make("button", { className: "first", textContent: "Close", onclick: () => dialog.close() });
    const dialog = make("dialog", { className: "code", ariaLabel: "Address for readers" },
        make("img", { src: picture, alt: "QR code of this address" }),
        make("a", { href: address, textContent: address }),
        ...(NEAR.includes(new URL(address).hostname) ? [make("p", { textContent: "Only this machine can open it. For others, start surtitle with --host 0.0.0.0, and open this page at the address that it prints." })] : []),
        close,
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    close.focus();
}
