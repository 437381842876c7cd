// A connection whose answers a test gives.

import { ConnectionLost } from '../../../src/web/page/connection.js'

export class FakeConnection {
  /** Requests without an answer, oldest first. */
  waiting = []

  ask (what, more = {}) {
    return new Promise((resolve, reject) => this.waiting.push({ what, more, resolve, reject }))
  }

  /** Asks again after the connection was lost. */
  async insist (what, more) {
    for (;;) {
      try {
        return await this.ask(what, more())
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
      }
    }
  }

  /** Answers the oldest request for `what`, and returns what it asked. */
  async answer (what, answer) {
    const index = this.waiting.findIndex(it => it.what === what)
    if (index < 0) throw new Error(`nobody asks for ${what}, but for: ${this.waiting.map(it => it.what)}`)
    const [request] = this.waiting.splice(index, 1)
    request.resolve(answer)
    await settled()
    return request.more
  }

  /** Ends the connection: nothing is answered any more. */
  async lose () {
    this.waiting.splice(0).forEach(it => it.reject(new ConnectionLost()))
    await settled()
  }
}

/** Lets everything that has its answer go on. */
export function settled () {
  return new Promise(resolve => setImmediate(resolve))
}
