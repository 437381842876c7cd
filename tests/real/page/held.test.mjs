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
  held.onselect = () => selections.push(held.spans)
})

const packet = (number, more) => ({ session: 1, held: number, number, since: 0, dir: 'serverbound', state: 'play', packet: 'chat', size: 3, summary: `message="${number}"`, in_order: null, decided: null, ...more })
const rows = (start, numbers, total) => ({ start, total, packets: numbers.map(it => packet(it)), anchor: null })
const count = (from, to) => [...Array(to - from + 1).keys()].map(it => it + from)
const lines = () => [...held.list.lines.entries()].sort(([one], [other]) => one - other).map(([, line]) => line)

// As many are held, and the first hundred are shown.
async function hold (total) {
  await held.take({ total, changes: 0, last: total })
  page.frame()
  await connection.answer('held_rows', rows(0, count(1, Math.min(total, 100)), total))
  page.frame()
}

test('only visible packets are asked for, and nothing is asked again when others are held behind them', async () => {
  await hold(10_000)
  assert.strictEqual(lines().length, 11)
  const [first] = lines()
  assert.match(first.textContent, /^1#1 → chatmessage="1"/)
  await held.take({ total: 10_001, changes: 0, last: 10_001 })
  page.frame()
  assert.deepStrictEqual(connection.waiting, [])
  assert.strictEqual(lines()[0], first)
  assert.strictEqual(held.element.getAttribute('aria-rowcount'), '10002')
})

test('what was seen is selected, also if the list has moved since the press', async () => {
  await hold(3)
  const [, second] = lines()
  held.pages.page(0).items.shift()
  second.dispatchEvent(event('click'))
  await settled()
  assert.deepStrictEqual(selections, [[[2, 2]]])
  assert.deepStrictEqual(await held.targets(), { spans: [[2, 2]], one: packet(2) })
})

test('a line whose packet is still on its way is selected, too', async () => {
  await held.take({ total: 3, changes: 0, last: 3 })
  page.frame()
  const [, second] = lines()
  assert.strictEqual(second.textContent, '…')
  second.dispatchEvent(event('click'))
  await settled()
  connection.waiting.shift() // the page of lines, which does not come
  // A command waits for it.
  const targets = held.targets()
  await connection.answer('held_rows', rows(0, [1, 2, 3], 3))
  assert.deepStrictEqual([selections, await targets], [[[[2, 2]]], { spans: [[2, 2]], one: packet(2) }])
})

test('what has gone is selected no more, and the lines stay in their places', async () => {
  await hold(10_000)
  held.choose(packet(50), false, false)
  held.choose(packet(60), false, true)
  assert.deepStrictEqual(await connection.answer('still_held', { numbers: [], count: 2 }), { spans: [[50, 50], [60, 60]] })
  assert.strictEqual(held.title, '2 held packets')
  held.list.moveTo(40)
  const taken = held.take({ total: 9_990, changes: 10, last: 10_000 })
  assert.strictEqual((await connection.answer('held_rows', { start: 0, total: 9_990, packets: [], anchor: 30 })).anchor, 41)
  await connection.answer('still_held', { numbers: [], count: 1 })
  await taken
  assert.strictEqual(held.title, '1 held packet')
  assert.strictEqual(held.list.top, 30)
  const gone = held.take({ total: 9_980, changes: 20, last: 10_000 })
  await connection.answer('held_rows', { start: 0, total: 9_980, packets: [], anchor: 20 })
  await connection.answer('still_held', { numbers: [], count: 0 })
  await gone
  assert.deepStrictEqual([held.title, held.spans], [null, []])
})

test('a span is selected from the last click on at once, and counted without those that are decided', async () => {
  await hold(10)
  held.choose(packet(3), false, false)
  held.choose(packet(7), true, false)
  assert.deepStrictEqual([held.spans, await held.targets()], [[[3, 7]], { spans: [[3, 7]], one: null }])
  assert.deepStrictEqual(await connection.answer('still_held', { numbers: [], count: 4 }), { spans: [[3, 7]] })
  assert.strictEqual(held.count, 4)
  assert.deepStrictEqual([held.has(packet(5)), held.has(packet(5, { decided: 'drop' })), held.has(packet(8))], [true, false, false])
  // One of them less, and one more.
  held.choose(packet(5), false, true)
  held.choose(packet(9), false, true)
  assert.deepStrictEqual(held.spans, [[3, 4], [6, 7], [9, 9]])
  held.choose(packet(3), false, true)
  held.choose(packet(9), false, true)
  assert.deepStrictEqual(held.spans, [[4, 4], [6, 7]])
})

test('everything is selected at once, with one request, and nothing that comes later', async () => {
  await hold(10)
  await held.take({ total: 23_000, changes: 0, last: 23_010 })
  held.selectAll()
  assert.deepStrictEqual(await held.targets(), { spans: [[1, 23_010]], one: null })
  await held.take({ total: 23_100, changes: 0, last: 23_110 })
  assert.deepStrictEqual(held.spans, [[1, 23_010]])
  assert.deepStrictEqual(connection.waiting.map(it => it.what), ['still_held'])
})

test('keys move at once through lines that are known, and one after the other through others', async () => {
  await hold(250)
  held.choose(packet(1), false, false)
  held.step(1, false)
  held.step(1, true)
  assert.deepStrictEqual(held.spans, [[2, 3]])
  held.step(Infinity, false)
  held.step(-1, false)
  const targets = held.targets()
  await settled()
  await connection.answer('held_rows', { start: 0, total: 250, packets: [], anchor: 2 })
  assert.deepStrictEqual(lines()[0].textContent.slice(0, 3), '1#1', 'what is on the screen stays until then')
  await connection.answer('held_rows', rows(200, count(201, 250), 250))
  assert.deepStrictEqual(held.spans, [[250, 250]])
  assert.deepStrictEqual(await connection.answer('held_rows', { start: 0, total: 250, packets: [], anchor: 249 }), { start: 0, count: 0, anchor: 250 })
  assert.deepStrictEqual((await targets).spans, [[249, 249]])
})

test('without a selection, the packet that is held longest is meant', async () => {
  await hold(2)
  const targets = held.targets()
  await connection.answer('held_rows', { start: 0, total: 2, packets: [packet(1, { decided: 'forward' }), packet(2)], anchor: null })
  assert.deepStrictEqual(await targets, { spans: [[2, 2]], one: packet(2) })
})

test('a new connection asks again, and keeps the selection', async () => {
  await hold(2)
  held.choose(packet(2), false, false)
  await held.take({ total: 250, changes: 0, last: 250 })
  await connection.lose()
  const renewed = held.renew()
  assert.deepStrictEqual(await connection.answer('still_held', { numbers: [], count: 1 }), { spans: [[2, 2]] })
  await renewed
  assert.deepStrictEqual(held.spans, [[2, 2]])
})

test('a packet that is held in the place of one that has gone is shown', async () => {
  await hold(5)
  await held.take({ total: 2, changes: 1, last: 5 })
  page.frame()
  await connection.answer('held_rows', rows(0, [4, 5], 2))
  await held.take({ total: 3, changes: 1, last: 6 })
  page.frame()
  await connection.answer('held_rows', rows(0, [4, 5, 6], 3))
  page.frame()
  assert.match(lines()[2].textContent, /message="6"/)
})
