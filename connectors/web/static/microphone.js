// The microphone of this machine.

const WANTED = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };

// Listen until the returned function is called. heard(pcm, peak): called with each piece of 16 kHz samples, an
// ArrayBuffer, and its loudest sample from 0 to 1. lost(): called if the microphone goes away.
//
// Throws an Error with a sentence for the user.
export async function listen(heard, lost) {
    if (!navigator.mediaDevices) {
        throw new Error("Browsers give the microphone only to pages at localhost or over HTTPS: open this page there.");
    }
    let stream;
    try {
        stream = await navigator.mediaDevices.getUserMedia({ audio: WANTED });
    } catch ({ name }) {
        throw new Error(name === "NotFoundError"
            ? "There is no microphone: connect one and try again."
            : "The microphone may not be used: allow it for this page in your browser and try again.");
    }
    const release = () => { for (const track of stream.getTracks()) track.stop(); };
    let context;
    try {
        context = await started(stream, heard);
    } catch (error) {
        release();
        throw error;
    }
    stream.getAudioTracks()[0].addEventListener("ended", lost);
    return () => { release(); context.close(); };
}

async function started(stream, heard) {
    // The browser's own resampling is better than ours, but not every browser resamples a microphone.
    for (const options of [{ sampleRate: 16_000 }, {}]) {
        const context = new AudioContext(options);
        try {
            await context.audioWorklet.addModule(new URL("recorder.js", import.meta.url));
            const recorder = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0 });
            recorder.port.onmessage = ({ data: { pcm, peak } }) => heard(pcm, peak);
            context.createMediaStreamSource(stream).connect(recorder);
            await context.resume();
            return context;
        } catch (error) {
            context.close();
            if (error.name === "AbortError") throw new Error("The captions’ server does not answer. Try again when it runs.");
            if (!options.sampleRate) {
                console.warn(`surtitle: ${error.message}`);
                throw new Error("This browser cannot record sound for captions: try another one.");
            }
        }
    }
}
