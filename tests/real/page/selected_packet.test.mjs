import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Details } from '../../../src/web/page/details.js'
import { PairView } from '../../../src/web/page/pair.js'
import { SelectedPacket } from '../../../src/web/page/selected_packet.js'
import { FakeConnection } from './fake_connection.mjs'
import { openDocument } from './fake_dom.mjs'

let connection, packets, details, pair, choice, selected

beforeEach(() => {
  openDocument()
  const make = (id, kind = 'div') => {
    const element = document.createElement(kind)
    element.id = id
    element.clientHeight = 440
    document.body.append(element)
    return element
  }
  for (const id of ['pair-choice', 'pair', 'panes', 'panel-packets', 'field-tools']) make(id)
  choice = make('choice', 'input')
  choice.value = 'both'
  document.querySelector = () => choice
  connection = new FakeConnection()
  packets = { selected: null }
  details = new Details(make('facts'), make('tree'), make('hex'))
  pair = new PairView(document.getElementById('pair'))
  pair.onselect = path => details.selectField(details.packet.fields.findIndex(it => it.path === path))
  selected = new SelectedPacket({ connection, packets, details, pair, timeline: { mark () {} } }, () => {})
})

const packet = (seq, more) => ({
  name: 'set_protocol', id: 0, state: 'handshake', dir: 'serverbound', at: '2026-01-02T03:12:45.123456789Z', t: 1.5, session: 1, player: null, seq,
  version: '1.8.9', guess: false, size: 4, wire: 5, verdict: 'pass', origin: 'client', of: null, legs: null, comment: null, diagnostics: [],
  left_out: 0, error: null, bytes: btoa('\x00/ab'), counterpart: null,
  fields: ['version', 'host', 'port'].map((name, at) => ({ path: name, name, depth: 0, value: `${at}`, text: null, meaning: null, start: at + 1, end: at + 2 })), ...more
})
const original = () => packet(1, { verdict: 'rewrite', counterpart: 1 })
const sent = () => packet(2, { of: 1, counterpart: 0 })
const compared = { fields: ['version', 'host', 'port'].map(path => ({ path, same: path !== 'host', values: ['a', 'b'] })), differing: [[2, 3], [2, 3]] }

function select () {
  packets.selected = 0
  selected.show(0)
}
const arrive = async () => {
  await connection.answer('details', { packet: sent() })
  await connection.answer('compare', compared)
}
const field = () => [details.packet?.seq, details.packet?.fields[details.field]?.name, selected.row]

test('a field that is selected while its packet is fetched again stays selected, whichever of the two is shown', async () => {
  for (const [value, seq, row] of [['original', 1, 0], ['sent', 2, 1]]) {
    choice.value = value
    select()
    await connection.answer('details', { packet: original() })
    await arrive()
    assert.deepStrictEqual(field(), [seq, 'host', row], 'the first that differs')
    select()
    details.selectField(2)
    await connection.answer('details', { packet: original() })
    assert.deepStrictEqual(field(), [seq, 'port', row])
    details.selectField(0)
    await arrive()
    assert.deepStrictEqual(field(), [seq, 'version', row])
    packets.selected = 5
    selected.show(5)
    await connection.answer('details', { packet: packet(9) })
    assert.deepStrictEqual(field(), [9, undefined, 5])
  }
})

test('side by side, a field stays selected, too, and another packet forgets it', async () => {
  select()
  await connection.answer('details', { packet: original() })
  await arrive()
  pair.select(2)
  select()
  await connection.answer('details', { packet: original() })
  await arrive()
  assert.deepStrictEqual([pair.field, ...field()], [2, 1, 'port', 0])
  packets.selected = 5
  selected.show(5)
  await connection.answer('details', { packet: packet(9) })
  select()
  await connection.answer('details', { packet: original() })
  await arrive()
  assert.deepStrictEqual([pair.field, ...field()], [1, 1, 'host', 0])
})

test('the list has all the room until a packet is shown', async () => {
  const panel = document.getElementById('panel-packets')
  panel.className = 'unselected'
  select()
  assert.strictEqual(panel.className, 'unselected')
  await connection.answer('details', { packet: original() })
  await arrive()
  assert.strictEqual(panel.className, '')
})

test('another comment is that of the packet that is shown', async () => {
  choice.value = 'sent'
  select()
  await connection.answer('details', { packet: original() })
  await arrive()
  details.selectField(2)
  selected.askAgain()
  assert.deepStrictEqual(await connection.answer('details', { packet: { ...sent(), comment: 'of what was sent' } }), { row: 1 })
  assert.deepStrictEqual(field(), [2, 'port', 1])
  assert.match(details.facts.textContent, /of what was sent/)
})

test('nothing of the packet before is acted on while an error is shown, and one whose other is gone is shown alone', async () => {
  choice.value = 'sent'
  select()
  await connection.answer('details', { packet: original() })
  await connection.answer('details', { error: { message: 'not kept' } })
  await connection.answer('compare', { error: { message: 'not kept' } })
  assert.deepStrictEqual([document.getElementById('pair-choice').hidden, ...field()], [true, 1, undefined, 0])
  packets.selected = 7
  selected.show(7)
  await connection.answer('details', { error: { message: 'no such packet' } })
  assert.deepStrictEqual(field(), [undefined, undefined, null])
  assert.match(details.facts.textContent, /no such packet/)
})
