import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Details, facts } from '../../../src/web/page/details.js'
import { clock } from '../../../src/web/page/dom.js'
import { event, openDocument } from './fake_dom.mjs'

// Before the first time is read.
process.env.TZ = 'America/New_York'

let page, tree, hex, tools, details

beforeEach(() => {
  page = openDocument();
  [tree, hex, tools] = ['ul', 'div', 'div'].map(name => document.createElement(name))
  tree.clientHeight = hex.clientHeight = 440
  details = new Details(document.createElement('div'), tree, hex, tools)
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

test('fields are found by their names and values, one after the other, also in what is closed', () => {
  show([field('items', 0, 0, 4), field('[0].id', 1, 0, 1), field('[1].id', 1, 1, 2, { value: '5', meaning: 'minecraft:stone' }), field('stones', 0, 2, 4)])
  details.foldAll(true)
  page.frame()
  assert.deepStrictEqual(lines().length, 2)
  const type = text => {
    details.sought.value = text
    details.sought.dispatchEvent(event('input'))
    page.frame()
  }
  const selected = () => details.packet.fields[details.field]?.name
  type('stone')
  assert.deepStrictEqual([selected(), details.soughtCount.textContent, lines().length], ['[1].id', '1 of 2', 4])
  assert.deepStrictEqual(tree.querySelectorAll('mark').map(it => it.textContent), ['stone', 'stone', 'stone'])
  const enter = more => details.sought.dispatchEvent(event('keydown', { key: 'Enter', ...more }))
  enter()
  assert.deepStrictEqual([selected(), details.soughtCount.textContent], ['stones', '2 of 2'])
  enter()
  assert.strictEqual(selected(), '[1].id', 'and from the first again')
  enter({ shiftKey: true })
  assert.strictEqual(selected(), 'stones')
  type('nothing has this')
  assert.deepStrictEqual([selected(), details.soughtCount.textContent], ['stones', 'none'])
})

test('many fields are found by looking at each a few times', () => {
  const count = 5000
  show([...Array(count).keys()].map(it => field(`field ${it}`, 0, 1, 2)))
  let looks = 0
  const look = (all, name) => {
    looks++
    return Reflect.get(all, name)
  }
  details.nodes = new Proxy(details.nodes, { get: look })
  details.sought.value = 'field'
  details.selectField(count - 1)
  details.find(-1)
  assert.strictEqual(details.soughtCount.textContent, `${count - 1} of 5,000`)
  assert(looks < 20 * count, `${looks} looks`)
})

test('what is searched in all packets is marked in fields and bytes', () => {
  details.setSearched('ABC')
  show([field('text', 0, 0, 1, { value: '"xabc"' })])
  assert.deepStrictEqual(tree.querySelectorAll('mark').map(it => it.textContent), ['abc'])
  assert.deepStrictEqual(hex.querySelectorAll('.sought').map(it => it.textContent), ['61', '62', '63', 'a', 'b', 'c'])
  details.setSearched('')
  page.frame()
  assert.strictEqual(hex.querySelectorAll('.sought').length, 0)
})

test('all fields are opened and closed at once', () => {
  show([field('a', 0, 0, 4), field('b', 1, 0, 4), field('c', 2, 0, 4)])
  const [open, close] = tools.children.slice(-2)
  close.click()
  page.frame()
  assert.strictEqual(lines().length, 1)
  open.click()
  page.frame()
  assert.strictEqual(lines().length, 3)
})
