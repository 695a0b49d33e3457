// The address of a page for the phones of an audience: as a QR code, and as text.

const NEAR = ["localhost", "127.0.0.1", "[::1]"];

export function showCode(address) {
    const dialog = Object.assign(document.createElement("dialog"), { className: "code", ariaLabel: "Address for readers" });
    const picture = Object.assign(new Image(), { src: new URL(`../qr.svg?for=${encodeURIComponent(address)}`, import.meta.url).href, alt: "QR code of this address" });
    const link = Object.assign(document.createElement("a"), { href: address, textContent: address });
    const close = Object.assign(document.createElement("button"), { className: "first", textContent: "Close", onclick: () => dialog.close() });
    dialog.append(picture, link, close);
    if (NEAR.includes(new URL(address).hostname)) {
        link.after(Object.assign(document.createElement("p"), { textContent: "Only this machine can open it. For others, start surtitle with --host 0.0.0.0, and open this page at the address that it prints." }));
    }
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    close.focus();
}
