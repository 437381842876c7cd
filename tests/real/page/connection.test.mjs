import assert from 'node:assert'
import { beforeEach, mock, test } from 'node:test'
import { Connection, ConnectionLost, unlessLost } from '../../../src/web/page/connection.js'

let sockets, pushes, statuses, stored

class FakeSocket {
  static OPEN = 1
  readyState = 0
  sent = []

  constructor (url) {
    this.url = url
    sockets.push(this)
  }

  send (text) { this.sent.push(JSON.parse(text)) }
  close () { this.drop() }

  open () {
    this.readyState = 1
    this.onopen()
  }

  receive (message) { this.onmessage({ data: JSON.stringify(message) }) }

  drop () {
    this.readyState = 3
    this.onclose?.()
  }
}

beforeEach(() => {
  sockets = []
  pushes = []
  statuses = []
  stored = new Map()
  Object.assign(globalThis, {
    WebSocket: FakeSocket,
    location: { host: '127.0.0.1:8080', hash: '#secret', pathname: '/' },
    history: { replaceState: (state, title, url) => { location.hash = new URL(url, 'http://it').hash } },
    sessionStorage: { getItem: key => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) }
  })
  mock.timers.reset()
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] })
})

function create () {
  return new Connection(message => pushes.push(message), (status, hello) => statuses.push(hello ? [status, hello] : [status]))
}

// A connection whose token was accepted.
function connected () {
  const connection = create()
  sockets[0].open()
  sockets[0].receive({ hello: { live: true } })
  return connection
}

test('the token is sent first, leaves the address, and is kept for this tab', () => {
  create()
  sockets[0].open()
  assert.strictEqual(sockets[0].url, 'ws://127.0.0.1:8080/socket')
  assert.deepStrictEqual(sockets[0].sent, [{ token: 'secret' }])
  assert.strictEqual(location.hash, '')
  create()
  sockets[1].open()
  assert.deepStrictEqual(sockets[1].sent, [{ token: 'secret' }])
})

test('answers go to their requests in any order, pushes to the page', async () => {
  const connection = connected()
  assert.deepStrictEqual(statuses, [['open', { live: true }]])
  const [one, other] = [connection.ask('rows', { start: 5 }), connection.ask('sessions')]
  assert.deepStrictEqual(sockets[0].sent.slice(1), [{ id: 1, do: 'rows', start: 5 }, { id: 2, do: 'sessions' }])
  sockets[0].receive({ push: 'state' })
  sockets[0].receive({ id: 2, sessions: [] })
  sockets[0].receive({ id: 1, rows: [] })
  assert.deepStrictEqual(await one, { id: 1, rows: [] })
  assert.deepStrictEqual(await other, { id: 2, sessions: [] })
  assert.deepStrictEqual(pushes, [{ push: 'state' }])
})

test('a request that waits is rejected when the connection is lost', async () => {
  const connection = connected()
  const [one, other] = [connection.ask('rows'), connection.ask('sessions')]
  sockets[0].drop()
  await assert.rejects(one, ConnectionLost)
  await assert.rejects(other, { name: 'ConnectionLost', message: 'the connection to mitmcraft is lost' })
  assert.deepStrictEqual(statuses.at(-1), ['closed'])
})

test('a request is rejected at once without a connection, and before the token is accepted', async () => {
  const connection = create()
  await assert.rejects(connection.ask('rows'), ConnectionLost)
  sockets[0].open()
  await assert.rejects(connection.ask('rows'), ConnectionLost)
  sockets[0].receive({ hello: {} })
  sockets[0].readyState = 2
  await assert.rejects(connection.ask('rows'), ConnectionLost, 'it is being closed')
  sockets[0].drop()
  await assert.rejects(connection.ask('rows'), ConnectionLost)
  assert.deepStrictEqual(sockets[0].sent, [{ token: 'secret' }])
})

test('it connects again, waits longer each time in vain, and starts over after a success', async () => {
  const connection = connected()
  const lose = delay => {
    const before = sockets.length
    sockets.at(-1).drop()
    mock.timers.tick(delay - 1)
    assert.strictEqual(sockets.length, before, `not before ${delay} ms`)
    mock.timers.tick(1)
    assert.strictEqual(sockets.length, before + 1, `after ${delay} ms`)
  }
  for (const delay of [500, 1000, 2000, 4000, 8000, 10_000, 10_000]) lose(delay)
  sockets.at(-1).open()
  sockets.at(-1).receive({ hello: { live: false } })
  assert.deepStrictEqual(statuses.at(-1), ['open', { live: false }])
  const answer = connection.ask('rows')
  assert.deepStrictEqual(sockets.at(-1).sent, [{ token: 'secret' }, { id: 1, do: 'rows' }])
  sockets.at(-1).receive({ id: 1 })
  await answer
  lose(500)
})

test('a silent connection is asked whether it is alive, and is dead without an answer', async () => {
  const connection = connected()
  // The clock of a timer that runs is that of the end of a tick.
  const pass = time => { for (let left = time; left > 0; left -= 100) mock.timers.tick(Math.min(left, 100)) }
  const asked = () => sockets[0].sent.filter(it => it.do === 'alive').map(it => it.id)
  pass(3900)
  assert.deepStrictEqual(asked(), [])
  pass(100)
  assert.deepStrictEqual(asked(), [1])
  pass(7000)
  sockets[0].receive({ id: 1, answer: 'done' })
  pass(3000)
  sockets[0].receive({ push: 'state' })
  pass(3000)
  assert.deepStrictEqual(asked(), [1], 'what is pushed is an answer, too')
  const waiting = connection.ask('rows')
  pass(8000)
  assert.strictEqual(statuses.at(-1)[0], 'open')
  pass(1000)
  assert.deepStrictEqual(statuses.at(-1), ['closed'], '12 s after the last message')
  await assert.rejects(waiting, ConnectionLost)
  pass(500)
  assert.strictEqual(sockets.length, 2)
  // One that is never opened is given up, too.
  pass(8500)
  assert.strictEqual(statuses.length, 3)
  pass(1000)
  assert.strictEqual(sockets.length, 3)
})

test('a refused token ends it: it says so once, and does not try again', async () => {
  const connection = create()
  sockets[0].open()
  sockets[0].receive({ error: { message: 'wrong token' } })
  assert.deepStrictEqual(statuses, [['refused']])
  mock.timers.tick(60_000)
  assert.strictEqual(sockets.length, 1)
  await assert.rejects(connection.ask('rows'), ConnectionLost)
})

test('a task that nobody waits for may end with the connection, and with nothing else', () => {
  let caught
  unlessLost({ catch: handler => { caught = handler } })
  caught(new ConnectionLost())
  assert.throws(() => caught(new Error('a bug')), /a bug/)
})

test('a request that is insisted on waits for a connection, and is sent again when that is lost', async () => {
  const settled = () => new Promise(resolve => setImmediate(resolve))
  const connection = create()
  const requests = socket => socket.sent.filter(it => it.do)
  const answer = connection.insist('rows', () => ({ from: 3 }))
  assert.deepStrictEqual(requests(sockets[0]), [])
  sockets[0].open()
  sockets[0].receive({ hello: { live: true } })
  await settled()
  assert.deepStrictEqual(requests(sockets[0]), [{ id: 1, do: 'rows', from: 3 }])
  sockets[0].drop()
  await settled()
  mock.timers.tick(500)
  sockets[1].open()
  sockets[1].receive({ hello: { live: true } })
  await settled()
  sockets[1].receive({ id: 2, rows: [] })
  assert.deepStrictEqual((await answer).rows, [])
})

test('a connection that was ended says and asks nothing more', async () => {
  const connection = connected()
  const asked = assert.rejects(connection.ask('rows'), ConnectionLost)
  const [socket] = sockets
  connection.end()
  await asked
  assert.deepStrictEqual([socket.readyState, socket.onmessage], [3, null])
  mock.timers.tick(60_000)
  assert.deepStrictEqual([sockets.length, statuses.length], [1, 1])
  await assert.rejects(connection.ask('rows'), ConnectionLost)
})
