import assert from 'node:assert'
import { beforeEach, mock, test } from 'node:test'
import { ControlPanel } from '../../../src/web/page/control.js'
import { HeldStrip } from '../../../src/web/page/held_strip.js'
import { Notice } from '../../../src/web/page/notice.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { openDocument } from './fake_dom.mjs'

// The panel counts seconds.
mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })

let connection, control, strip, shown

beforeEach(() => {
  openDocument()
  shown = 0
  connection = new FakeConnection()
  control = new ControlPanel(connection, document.createElement('div'), document.createElement('button'), new Notice(document.createElement('p')))
  strip = new HeldStrip(document.createElement('div'), control, () => { shown += 1 })
  control.onhold = () => strip.take()
})

const held = (number, more) => ({ number, session: 1, held: number, dir: 'serverbound', state: 'play', packet: 'chat', summary: `message="${number}"`, since: 0, decided: null, ...more })
const press = name => strip.element.children.find(it => it.textContent === name).click()

test('what is held longest is shown above the list, and decided on there', async () => {
  control.takeHolding({ total: 2, changes: 1, last: 5 })
  await connection.answer('held_rows', { packets: [held(4, { decided: 'drop' }), held(5)] })
  assert.deepStrictEqual([strip.element.hidden, strip.text.textContent], [false, '2 packets held. Next: packet 5, chat, of session #1 message="5"'])
  press('Drop')
  assert.deepStrictEqual(await connection.answer('decide', { decided: 1 }), { spans: [[5, 5]], decision: 'drop' })
  control.takeHolding({ total: 0, changes: 2, last: 5 })
  await settled()
  assert(strip.element.hidden)
  press('Show in Control')
  assert.strictEqual(shown, 1)
})

test('many changes ask once more, and not each time', async () => {
  for (let changes = 1; changes < 20; changes++) control.takeHolding({ total: changes, changes, last: changes })
  await settled()
  const asks = () => connection.waiting.filter(it => it.what === 'held_rows' && it.more.start === 0 && it.more.count === 100).length
  assert.strictEqual(asks(), 1)
  await connection.answer('held_rows', { packets: [held(1)] })
  assert.strictEqual(asks(), 1)
  await connection.answer('held_rows', { packets: [held(1)] })
  assert.deepStrictEqual([asks(), strip.text.textContent], [0, '19 packets held. Next: packet 1, chat, of session #1 message="1"'])
})

test('the packet that is named is decided on and edited, also if another one is next by now', async () => {
  control.takeHolding({ total: 2, changes: 1, last: 5 })
  await connection.answer('held_rows', { packets: [held(4), held(5)] })
  assert.match(strip.text.textContent, /Next: packet 4,/)
  // Packet 4 has been released, which is not shown yet.
  control.takeHolding({ total: 1, changes: 2, last: 5 })
  await settled()
  press('Forward')
  assert.deepStrictEqual(await connection.answer('decide', { decided: 0 }), { spans: [[4, 4]], decision: 'forward' })
  assert.match(control.notice.element.textContent, /^It was too late: packet 4,/)
  press('Edit')
  assert.deepStrictEqual(await connection.answer('held', { problem: 'gone' }), { session: 1, held: 4 })
})
