// The WebSocket to mitmcraft: requests with answers, and messages that come unasked.

/** @typedef {import("./protocol.d.ts").Message} Message */
/** @typedef {import("./protocol.d.ts").Push} Push */
/** @typedef {import("./protocol.d.ts").Hello} Hello */
/** @typedef {import("./protocol.d.ts").RequestName} RequestName */
/** @template {RequestName} Name @typedef {import("./protocol.d.ts").Arguments<Name>} Arguments */
/** @template {RequestName} Name @typedef {import("./protocol.d.ts").Reply<Name>} Reply */

/** There is no connection to mitmcraft, or it was lost before the answer came. */
export class ConnectionLost extends Error {
  name = "ConnectionLost";

  constructor() {
    super("the connection to mitmcraft is lost");
  }
}

export class Connection {
  /**
   * @param {(message: Push) => void} onPush
   * @param {(status: "open" | "refused" | "closed", hello?: Hello) => void} onStatus
   */
  constructor(onPush, onStatus) {
    this.onPush = onPush;
    this.onStatus = onStatus;
    /** @type {Map<number, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
    this.waiting = new Map();
    /** Those who wait for a connection. @type {(() => void)[]} */
    this.opening = [];
    this.next = 1;
    this.delay = SHORTEST;
    /** When mitmcraft said something last, and when it was asked since whether it is there; 0 if it was not. */
    this.heard = 0;
    this.asked = 0;
    /** The socket, once mitmcraft has accepted the token. @type {WebSocket | null} */
    this.socket = null;
    this.token = takeToken();
    this.connect();
    setInterval(() => this.beat(), 1000);
  }

  connect() {
    const socket = new WebSocket(`ws://${location.host}/socket`);
    /** The socket, also while it is being opened. */
    this.current = socket;
    [this.heard, this.asked] = [Date.now(), 0];
    socket.onopen = () => socket.send(JSON.stringify({ token: this.token }));
    socket.onmessage = (event) => {
      [this.heard, this.asked] = [Date.now(), 0];
      /** @type {Message} */
      const message = JSON.parse(event.data);
      if ("hello" in message) {
        this.socket = socket;
        this.delay = SHORTEST;
        this.onStatus("open", message.hello);
        for (const go of this.opening.splice(0)) go();
      } else if (!this.socket) {
        socket.onclose = null;
        this.current = null;
        socket.close();
        this.onStatus("refused");
      } else if ("push" in message) {
        this.onPush(message);
      } else if (message.id !== null) {
        this.waiting.get(message.id)?.resolve(message);
        this.waiting.delete(message.id);
      }
    };
    socket.onclose = () => this.lost();
  }

  /** The connection is lost: tries again after a while. */
  lost() {
    this.socket = this.current = null;
    for (const { reject } of this.waiting.values()) reject(new ConnectionLost());
    this.waiting.clear();
    this.onStatus("closed");
    setTimeout(() => this.connect(), this.delay);
    this.delay = Math.min(this.delay * 2, LONGEST);
  }

  /** Ends the connection for good. */
  end() {
    const { current } = this;
    this.socket = this.current = null;
    if (current) {
      current.onmessage = current.onclose = null;
      current.close();
    }
    for (const { reject } of this.waiting.values()) reject(new ConnectionLost());
    this.waiting.clear();
  }

  /** Asks whether mitmcraft is there after it has said nothing for a while; a link that stays silent is dead. */
  beat() {
    const now = Date.now();
    if (this.socket && !this.asked && now - this.heard >= SILENT) {
      this.asked = now;
      unlessLost(this.ask("alive", {}));
    }
    // A socket that is being opened has nothing to ask.
    const waited = now - (this.asked || (this.socket ? now : this.heard));
    if (!this.current || waited < PATIENCE) return;
    this.current.onclose = null;
    this.current.close();
    this.lost();
  }

  /**
   * Sends a request, again after a lost connection, until it is answered.
   * @template {RequestName} Name
   * @param {Name} what
   * @param {() => Arguments<Name>} more
   * @returns {Promise<Reply<Name>>}
   */
  async insist(what, more) {
    for (;;) {
      if (this.socket?.readyState !== WebSocket.OPEN) await new Promise((resolve) => this.opening.push(() => resolve(undefined)));
      try {
        return await this.ask(what, more());
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
      }
    }
  }

  /**
   * Sends a request and waits for its answer. Rejects with `ConnectionLost` if there is no connection, or
   * none any more.
   * @template {RequestName} Name
   * @param {Name} what
   * @param {Arguments<Name>} more
   * @returns {Promise<Reply<Name>>}
   */
  ask(what, more) {
    return new Promise((resolve, reject) => {
      if (this.socket?.readyState !== WebSocket.OPEN) {
        reject(new ConnectionLost());
        return;
      }
      const id = this.next++;
      this.waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, do: what, ...more }));
    });
  }
}

/**
 * Lets a task that nobody waits for end with the connection: the page says that it is disconnected, and asks
 * again for everything it shows once it is connected. Other errors are reported.
 * @param {Promise<any>} task
 */
export function unlessLost(task) {
  task.catch((error) => {
    if (!(error instanceof ConnectionLost)) throw error;
  });
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

/** Milliseconds of silence after which mitmcraft is asked whether it is there, and for which it then may be silent. */
const SILENT = 4000;
const PATIENCE = 8000;

/** Milliseconds before the first attempt to connect again; every further one waits twice as long. */
const SHORTEST = 500;
const LONGEST = 10_000;
