// The WebSocket to mitmcraft: requests with answers, and messages that come unasked.

/** @typedef {Record<string, any>} Message */

export class Connection {
  /**
   * @param {(message: Message) => void} onPush
   * @param {(status: "open" | "refused" | "closed", hello?: Message) => void} onStatus
   */
  constructor(onPush, onStatus) {
    this.onPush = onPush;
    this.onStatus = onStatus;
    /** @type {Map<number, (answer: Message) => void>} */
    this.waiting = new Map();
    this.next = 1;
    this.delay = 500;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.token = takeToken();
    this.connect();
  }

  connect() {
    const socket = new WebSocket(`ws://${location.host}/socket`);
    this.socket = socket;
    let known = false;
    socket.onopen = () => socket.send(JSON.stringify({ token: this.token }));
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.hello) {
        known = true;
        this.delay = 500;
        this.onStatus("open", message.hello);
      } else if (!known) {
        this.onStatus("refused");
        socket.onclose = null;
        socket.close();
      } else if (message.push) {
        this.onPush(message);
      } else {
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
      }
    };
    socket.onclose = () => {
      this.waiting.clear();
      this.onStatus("closed");
      setTimeout(() => this.connect(), this.delay);
      this.delay = Math.min(this.delay * 2, 10_000);
    };
  }

  /**
   * Asks, and waits for the answer. The answer never comes if the connection is lost.
   * @param {string} what
   * @param {Message} [more]
   * @returns {Promise<Message>}
   */
  ask(what, more = {}) {
    return new Promise((resolve) => {
      if (this.socket?.readyState !== WebSocket.OPEN) return;
      const id = this.next++;
      this.waiting.set(id, resolve);
      this.socket.send(JSON.stringify({ id, do: what, ...more }));
    });
  }
}

/** Takes the token out of the address, where it would stay in the history. */
function takeToken() {
  const token = location.hash.slice(1);
  if (token) {
    sessionStorage.setItem("token", token);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token") ?? "";
}
