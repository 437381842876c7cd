import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { HeldList } from '../../../src/web/page/held.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { event, openDocument } from './fake_dom.mjs'

let connection, held, page, selections

beforeEach(() => {
  page = openDocument()
  connection = new FakeConnection()
  held = new HeldList(connection)
  held.element.clientHeight = 242
  selections = []
  held.onselect = () => selections.push([...held.selected.keys()])
})

const packet = (number, more) => ({ session: 1, held: number, number, since: 0, dir: 'serverbound', state: 'play', packet: 'chat', size: 3, summary: `message="${number}"`, in_order: null, decided: null, ...more })
const rows = (start, numbers, total) => ({ start, total, packets: numbers.map(it => packet(it)), anchor: null })
const count = (from, to) => [...Array(to - from + 1).keys()].map(it => it + from)
const lines = () => [...held.list.lines.entries()].sort(([one], [other]) => one - other).map(([, line]) => line)

// As many are held, and the first hundred are shown.
async function hold (total) {
  await held.take({ total, changes: 0 })
  page.frame()
  await connection.answer('held_rows', rows(0, count(1, Math.min(total, 100)), total))
  page.frame()
}

test('only visible packets are asked for, and nothing is asked again when others are held behind them', async () => {
  await hold(10_000)
  assert.strictEqual(lines().length, 11)
  const [first] = lines()
  assert.match(first.textContent, /^1#1 → chatmessage="1"/)
  await held.take({ total: 10_001, changes: 0 })
  page.frame()
  assert.deepStrictEqual(connection.waiting, [])
  assert.strictEqual(lines()[0], first)
  assert.strictEqual(held.element.getAttribute('aria-rowcount'), '10002')
})

test('what was seen is selected, also if the list has moved since the press', async () => {
  await hold(3)
  const [, second] = lines()
  held.pages.get(0).packets.shift()
  second.dispatchEvent(event('click'))
  await settled()
  assert.deepStrictEqual(selections, [[2]])
  assert.deepStrictEqual((await held.targets()).map(it => it.number), [2])
})

test('a line whose packet is still on its way is selected, too', async () => {
  await held.take({ total: 3, changes: 0 })
  page.frame()
  const [, second] = lines()
  assert.strictEqual(second.textContent, '…')
  second.dispatchEvent(event('click'))
  connection.waiting.shift() // the page of lines, which does not come
  assert.deepStrictEqual(await connection.answer('held_rows', rows(1, [2], 3)), { start: 1, count: 1 })
  assert.deepStrictEqual(selections, [[2]])
})

test('what has gone is selected no more, and the lines stay in their places', async () => {
  await hold(10_000)
  await held.choose(packet(50), false, false)
  await held.choose(packet(60), false, true)
  held.list.moveTo(40)
  const taken = held.take({ total: 9_990, changes: 10 })
  assert.strictEqual((await connection.answer('held_rows', { start: 0, total: 9_990, packets: [], anchor: 30 })).anchor, 41)
  assert.deepStrictEqual(await connection.answer('still_held', { numbers: [60] }), { numbers: [50, 60] })
  await taken
  assert.deepStrictEqual(selections.at(-1), [60])
  assert.strictEqual(held.list.top, 30)
})

test('the title names what is still held of the selected packets', async () => {
  await hold(10)
  const [first] = lines()
  assert.strictEqual(held.selectLine(first), 'packet 1, chat, of session #1')
  await held.choose(packet(2), false, true)
  assert.strictEqual(held.title, '2 held packets')
  const taken = held.take({ total: 9, changes: 1 })
  await connection.answer('still_held', { numbers: [2] })
  await taken
  assert.strictEqual(held.title, 'packet 2, chat, of session #1')
  const gone = held.take({ total: 8, changes: 2 })
  await connection.answer('still_held', { numbers: [] })
  await gone
  assert.strictEqual(held.title, null)
})

test('a span is selected from the last click on, without those that are decided', async () => {
  await hold(10)
  await held.choose(packet(3), false, false)
  const chosen = held.choose(packet(7), true, false)
  await connection.answer('held_rows', { start: 0, total: 10, packets: [], anchor: 2 })
  const found = [3, 4, 5, 6, 7, 8].map(it => packet(it, { decided: it === 5 ? 'drop' : null }))
  await connection.answer('held_rows', { start: 2, total: 10, packets: found, anchor: null })
  await chosen
  assert.deepStrictEqual(selections.at(-1), [3, 4, 6, 7])
})

test('without a selection, the packet that is held longest is meant', async () => {
  await hold(2)
  const targets = held.targets()
  await connection.answer('held_rows', { start: 0, total: 2, packets: [packet(1, { decided: 'forward' }), packet(2)], anchor: null })
  assert.deepStrictEqual((await targets).map(it => it.number), [2])
})

test('a new connection asks again, and keeps the selection', async () => {
  await hold(2)
  await held.choose(packet(2), false, false)
  await held.take({ total: 250, changes: 0 })
  await connection.lose()
  const renewed = held.renew()
  assert.deepStrictEqual(await connection.answer('still_held', { numbers: [2] }), { numbers: [2] })
  await renewed
  assert.deepStrictEqual([...held.selected.keys()], [2])
})
