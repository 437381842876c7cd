import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Details, facts } from '../../../src/web/page/details.js'
import { clock } from '../../../src/web/page/dom.js'
import { event, openDocument } from './fake_dom.mjs'

// Before the first time is read.
process.env.TZ = 'America/New_York'

let page, tree, hex, details

beforeEach(() => {
  page = openDocument();
  [tree, hex] = ['ul', 'div'].map(name => document.createElement(name))
  tree.clientHeight = hex.clientHeight = 440
  details = new Details(document.createElement('div'), tree, hex)
})

const field = (name, depth, start, end, more) => ({ path: name, name, depth, value: `value of ${name}`, text: null, meaning: null, start, end, ...more })
const packet = more => ({
  name: 'chat', id: 2, state: 'play', dir: 'clientbound', at: '2026-01-02T03:12:45.123456789Z', t: 1.5, session: 1, player: 'Steve', seq: 7,
  version: '1.8.9', guess: false, size: 4, wire: 5, verdict: 'pass', origin: 'server', of: null, legs: null, comment: null, diagnostics: [],
  left_out: 0, error: null, bytes: btoa('\x02abc'), fields: [], ...more
})
const lines = () => tree.querySelectorAll('.line').sort((one, other) => one.dataset.line - other.dataset.line).map(it => it.textContent.trim())
const show = fields => {
  details.show(packet({ fields }))
  page.frame()
}

test('the time is in the zone of the list, which is named', () => {
  const at = packet().at
  const [list] = facts(packet())
  const names = list.querySelectorAll('dt').map(it => it.textContent)
  const time = list.querySelectorAll('dd')[names.indexOf('Time')].textContent
  assert.strictEqual(time, '2026-01-01 22:12:45.123456789 UTC−5 (1.500000 s)')
  assert.strictEqual(clock(new Date(at).getTime()), '22:12:45.123')
  assert.deepStrictEqual(names, ['Packet', 'Time', 'Session', 'Size', 'Verdict'])
})

test('the tree folds, and a text component is one line above its source', () => {
  const text = [{ text: 'Hello', color: 'c', formats: [] }]
  show([field('message', 0, 1, 3, { text, value: '{"text":"Hello"}' }), field('item', 0, 3, 4), field('nbt', 1, 3, 4), field('tag', 2, 3, 4)])
  assert.deepStrictEqual(lines(), ['▸ message Hello', '▾ item value of item', '▾ nbt value of nbt', 'tag value of tag'])
  const fold = name => {
    tree.querySelectorAll('.line').find(it => it.querySelector('b').textContent === name).querySelector('.fold').click()
    page.frame()
  }
  fold('message')
  assert.deepStrictEqual(lines().slice(0, 2), ['▾ message Hello', 'source {"text":"Hello"}'])
  fold('item')
  assert.deepStrictEqual(lines(), ['▾ message Hello', 'source {"text":"Hello"}', '▸ item value of item'])
  // A byte leads to the innermost field, also if that is closed.
  details.selectByte(3)
  page.frame()
  assert.deepStrictEqual([lines().length, details.packet.fields[details.field].name], [5, 'tag'])
  tree.dispatchEvent(event('keydown', { key: 'ArrowLeft' }))
  tree.dispatchEvent(event('keydown', { key: 'ArrowLeft' }))
  page.frame()
  assert.deepStrictEqual([lines().at(-1), details.packet.fields[details.field].name], ['▸ nbt value of nbt', 'nbt'])
})

test('of thousands of fields, only the visible ones are elements', () => {
  show([...Array(5000).keys()].map(it => field(`field ${it}`, 0, 1, 2)))
  assert(tree.querySelectorAll('.line').length < 60)
})

test('a packet that is shown again keeps its field, folds and place, and another one does not', () => {
  const fields = ['one', 'two', 'three'].map((name, at) => field(name, 0, at + 1, at + 2)).concat(field('item', 0, 3, 4), field('nbt', 1, 3, 4))
  show(fields)
  tree.querySelectorAll('.line').find(it => it.querySelector('b').textContent === 'item').querySelector('.fold').click()
  details.selectLine(1)
  show(fields)
  assert.deepStrictEqual([details.field, lines().at(-1), tree.getAttribute('aria-activedescendant')], [1, '▸ item value of item', 'field-1'])
  // Its comment is another one.
  details.show(packet({ fields, comment: 'seen' }))
  page.frame()
  assert.strictEqual(details.field, 1)
  assert.match(details.facts.textContent, /seen/)
  details.show(packet({ fields, seq: 8 }))
  page.frame()
  assert.deepStrictEqual([details.field, lines().at(-1)], [-1, 'nbt value of nbt'])
})
