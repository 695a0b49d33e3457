// Keeps the screen on: captions must stay visible, and a phone with a dark screen records nothing. Not every browser
// supports this, and none does for a hidden page.

export async function keepAwake() {
    const ask = async () => {
        if (document.visibilityState !== "visible") return;
        try {
            await navigator.wakeLock?.request("screen");
        } catch { /* refused, as on a low battery */ }
    };
    document.addEventListener("visibilitychange", ask);
    await ask();
}
