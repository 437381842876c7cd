import assert from 'node:assert'
import { beforeEach, mock, test } from 'node:test'
import { ControlPanel } from '../../../src/web/page/control.js'
import { Notice } from '../../../src/web/page/notice.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { enter, openDocument } from './fake_dom.mjs'

// The panel counts seconds.
mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })

let connection, control, said

beforeEach(() => {
  openDocument()
  connection = new FakeConnection()
  said = document.createElement('p')
  control = new ControlPanel(connection, document.createElement('div'), document.createElement('button'), new Notice(said))
})

const session = (number, more) => ({ session: number, player: `Player${number}`, client: '127.0.0.1:1', legs: { state: 'play' }, closed: null, ...more })
const ping = number => session(number, { player: null, legs: { state: 'status' } })
const offer = all => {
  const open = all.filter(it => it.closed === null)
  control.offer(open, open.length, all.find(it => String(it.session) === control.session.value) ?? null)
}
const offered = () => control.session.options.map(it => it.textContent)

test('the chosen session stays chosen while others come and go, and pings are none', () => {
  offer([session(1), session(2)])
  control.chooseSession(2)
  offer([session(1), session(2), ping(3), session(4)])
  assert.deepStrictEqual([offered(), control.session.value], [['#1 Player1', '#2 Player2', '#4 Player4'], '2'])
  // It has ended, and is then forgotten: no command goes to another one.
  offer([session(1), session(2, { closed: 'closed by the client', legs: null }), session(4)])
  assert.deepStrictEqual([offered(), control.session.value], [['#1 Player1', '#2 Player2 (ended)', '#4 Player4'], '2'])
  offer([session(1), session(4)])
  assert.strictEqual(control.session.value, '2')
})

test('of a thousand open sessions, the newest are offered, the chosen one, and how many there are besides', async () => {
  control.chooseSession(7)
  const asked = control.offerOpen()
  const sessions = Array.from({ length: 100 }, (_, at) => session(at + 901))
  assert.deepStrictEqual(await connection.answer('sessions', { sessions, total: 1000, anchored: session(7) }), { only: 'open', count: 100, anchor: 7 })
  await asked
  assert.strictEqual(control.session.value, '7')
  assert.deepStrictEqual([offered().length, offered()[0], offered().at(-2), offered().at(-1)], [102, '#7 Player7', '#1000 Player1000', 'and 900 older ones: see Sessions'])
})

test('a session that nobody has chosen makes room for an open one, until something is begun for it', async () => {
  const ended = { closed: 'closed by the client', legs: null }
  offer([session(1)])
  offer([session(1, ended)])
  assert.deepStrictEqual(offered(), ['#1 Player1 (ended)'])
  offer([session(1, ended), session(2)])
  assert.deepStrictEqual([offered(), control.session.value], [['#2 Player2'], '2'])
  control.kick()
  offer([session(2, ended), session(3)])
  assert.strictEqual(control.session.value, '2', 'it was asked whether to end it')
  control.askKick(null)
  control.packet.value = 'chat'
  control.choose()
  await settled()
  offer([session(2, ended), session(3)])
  assert.strictEqual(control.session.value, '2', 'a packet to it is being written')
})

test('a session is kicked after it was asked once, and the one that was asked about', async () => {
  offer([session(1), session(2)])
  control.session.value = '2'
  control.kick()
  assert(!connection.waiting.some(it => it.what === 'kick'))
  assert.strictEqual(control.kickButton.textContent, 'Really kick #2 Player2?')
  control.session.value = '1'
  control.kick()
  assert(!connection.waiting.some(it => it.what === 'kick'), 'it asks about the other one')
  control.kick()
  assert.deepStrictEqual(await connection.answer('kick', { error: { message: 'session 1 is not open' } }), { session: 1, text: 'kicked' })
  assert.strictEqual(said.textContent, 'session 1 is not open')
})

test('the question whether to kick names the session as the list does, also when its player comes or it ends', () => {
  offer([session(1, { player: null, legs: { state: 'login' } })])
  control.kick()
  assert.strictEqual(control.kickButton.textContent, 'Really kick #1 127.0.0.1:1?')
  offer([session(1)])
  assert.strictEqual(control.kickButton.textContent, 'Really kick #1 Player1?')
  offer([session(1, { closed: 'closed by the client', legs: null }), session(2)])
  assert.strictEqual(control.kickButton.textContent, 'Really kick #1 Player1 (ended)?')
  control.askKick(null)
  offer([session(1, { closed: 'closed by the client', legs: null }), session(2)])
  assert.strictEqual(control.kickButton.textContent, 'Kick')
})

test('the packets that are offered are those of the state in which the session is', async () => {
  const names = () => control.packets.children.map(it => it.value)
  offer([session(1, { legs: { state: 'login' } })])
  assert.deepStrictEqual(await connection.answer('packets', { names: ['login_plugin_request'] }), { session: 1, dir: 'clientbound' })
  assert.deepStrictEqual(names(), ['login_plugin_request'])
  offer([session(1)])
  assert.deepStrictEqual(await connection.answer('packets', { names: ['chat', 'look'] }), { session: 1, dir: 'clientbound' })
  assert.deepStrictEqual(names(), ['chat', 'look'])
  offer([session(1)])
  assert.deepStrictEqual(connection.waiting, [], 'nothing has changed')
})

test('a condition that is typed is not replaced by that of another page', () => {
  const told = where => control.take({ push: 'control', break: where && { where, overtaken: false }, earlier: null, by: 2, interfaces: 2 })
  told('chat')
  assert.deepStrictEqual([control.where.value, control.state.textContent], ['chat', 'Packets that match chat are held. 2 interfaces are attached.'])
  control.where.value = 'chat and clientbou'
  told('look')
  assert.strictEqual(control.where.value, 'chat and clientbou')
  assert.match(control.state.textContent, /^Packets that match look are held/)
})

test('a mistake in the condition is marked under its characters', async () => {
  enter(control.where, 'chta')
  control.line.apply('chta')
  await connection.answer('break', { error: { message: 'no packet `chta`', hint: 'did you mean `chat`?', start: 0, end: 4 } })
  assert.match(control.line.message.textContent, /\^{4}no packet `chta`/)
})

test('each receiver keeps the packet that was being written for it', async () => {
  offer([session(1)])
  control.packet.value = 'chat'
  const begun = control.choose()
  await connection.answer('form', { form: { text: '{"message":"hi"}', body: null, problem: null, lines: [], more: false } })
  await begun
  control.to.value = 'server'
  const turned = control.turn()
  await settled()
  assert.deepStrictEqual([control.packet.value, control.fields.place], ['', null])
  control.to.value = 'client'
  connection.waiting.splice(0).forEach(it => it.resolve({ names: [] }))
  await turned
  const back = control.turn()
  await settled()
  assert.strictEqual(control.packet.value, 'chat')
  assert.strictEqual((await connection.answer('form', { form: { text: '{"message":"hi"}', body: null, problem: null, lines: [], more: false } })).text, '{"message":"hi"}')
  connection.waiting.splice(0).forEach(it => it.resolve({ names: [] }))
  await back
})

test('how many held packets were decided on is said, also if it is fewer than were selected', async () => {
  const decide = async (wanted, decided) => {
    control.held.select([[1, 9]])
    await connection.answer('still_held', { numbers: [], count: wanted })
    const done = control.decide('drop')
    await settled()
    assert.deepStrictEqual(await connection.answer('decide', { decided }), { spans: [[1, 9]], decision: 'drop' })
    await done
    return said.textContent
  }
  assert.strictEqual(await decide(9, 9), 'Dropped 9 packets.')
  assert.strictEqual(await decide(9, 7), 'Dropped 7 of 9 packets. The others are not held any more, or decided on already.')
  assert.match(await decide(9, 0), /^It was too late: the packets are not held/)
})

test('everything is forwarded by a key that is pressed twice, unless it is one packet', async () => {
  const press = async total => {
    control.held.holding = { total, changes: 0, last: 12 }
    control.askForwardAll()
    await settled()
    return connection.waiting.filter(it => it.what === 'decide').length
  }
  assert.deepStrictEqual([await press(4), said.textContent], [0, 'Press the key again to forward all 4 held packets.'])
  assert.strictEqual(await press(4), 1)
  assert.deepStrictEqual(await connection.answer('decide', { decided: 4 }), { spans: [[1, 12]], decision: 'forward' })
  assert.strictEqual(said.textContent, 'Forwarded 4 packets.')
  assert.deepStrictEqual([await press(4), await press(4)], [0, 1], 'it is asked for each time')
  await connection.answer('decide', { decided: 4 })
  assert.strictEqual(await press(1), 1)
})
