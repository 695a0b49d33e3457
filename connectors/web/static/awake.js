// A screen that shows captions must not go dark, and a phone that does records nothing. Not every browser can promise
// that, and none to a hidden page.

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
