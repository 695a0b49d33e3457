// The microphone's sound as 16 kHz mono samples of 16 bits, in pieces of 100 ms. It runs on the audio thread.

const RATE = 16_000, PIECE = RATE / 10;

class Recorder extends AudioWorkletProcessor {
    #piece = new Int16Array(PIECE);
    #filled = 0;
    // Samples of the microphone for each sample that is sent. They are averaged, which also removes most of the
    // frequencies that 16 kHz cannot hold.
    #step = sampleRate / RATE;
    #sum = 0;
    #weight = 0;
    #peak = 0;

    process([input]) {
        const [samples] = input;
        if (!samples) return true;
        for (const sample of samples) this.#take(sample);
        return true;
    }

    #take(sample) {
        let left = 1;
        while (this.#weight + left >= this.#step) {
            const part = this.#step - this.#weight;
            this.#write((this.#sum + part * sample) / this.#step);
            left -= part;
            this.#sum = this.#weight = 0;
        }
        this.#sum += left * sample;
        this.#weight += left;
    }

    #write(value) {
        const clipped = Math.max(-1, Math.min(1, value));
        this.#peak = Math.max(this.#peak, Math.abs(clipped));
        this.#piece[this.#filled++] = Math.round(clipped * 0x7fff);
        if (this.#filled < PIECE) return;
        this.port.postMessage({ pcm: this.#piece.buffer, peak: this.#peak }, [this.#piece.buffer]);
        this.#piece = new Int16Array(PIECE);
        this.#filled = this.#peak = 0;
    }
}

registerProcessor("recorder", Recorder);
