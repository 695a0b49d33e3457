// Browsers allow no worker in a folder that is opened without a server. There, the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #waiting = [];
    #scope = null;

    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => this.#begin(frame.contentWindow, address), { once: true });
      document.body.append(frame);
    }

    postMessage(data) {
      if (this.#scope) this.#scope.dispatchEvent(new MessageEvent("message", { data }));
      else this.#waiting.push(data);
    }

    #begin(scope, address) {
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = scope.document.createElement("script");
      script.src = new URL(address, location.href).href;
      script.addEventListener("load", () => {
        this.#scope = scope;
        for (const data of this.#waiting.splice(0)) this.postMessage(data);
      });
      scope.document.head.append(script);
    }
  };
}
