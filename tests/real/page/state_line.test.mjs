import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { make } from '../../../src/web/page/dom.js'
import { StateLine } from '../../../src/web/page/state_line.js'
import { openDocument } from './fake_dom.mjs'

let line, spoken

beforeEach(() => {
  openDocument()
  const kinds = { state: 'p', progress: 'progress', empty: 'p', 'search-count': 'span', spoken: 'p' }
  const all = Object.fromEntries(Object.entries(kinds).map(([id, kind]) => [id, make(kind, { id })]))
  document.getElementById = id => all[id]
  globalThis.HTMLProgressElement ??= all.progress.constructor
  line = new StateLine()
  spoken = []
  line.speak = text => spoken.push(text)
})

const state = (end, more) => ({ first: 0, end, replacements: 0, complete: false, read: null, fault: null, hidden: 0, cleared: 0, sorting: null, saved: null, limit: null, search: null, list: { total: end, done: end, all: end }, ...more })
const show = (end, more) => line.show(state(end, more), true, false, true, null)

test('a number that runs is not read out, and what is of another kind once', () => {
  for (let end = 0; end < 50; end++) show(end)
  assert.deepStrictEqual(spoken, ['live'])
  assert.strictEqual(line.element.textContent, '49 packets, live')
  line.fail('disconnected')
  line.fail('disconnected')
  show(60)
  show(60, { complete: true })
  assert.deepStrictEqual(spoken, ['live', 'disconnected', 'disconnected', 'live', 'complete'])
  for (let read = 0; read < 1; read += 0.1) line.show(state(9, { read }), true, false, false, null)
  assert.deepStrictEqual(spoken.slice(5), ['reading…'])
})

test('how many matches there are is read out once they are found, and not while others come in', () => {
  show(10)
  spoken = []
  line.searched = false
  show(10, { search: { total: 3, done: 5, all: 10 } })
  show(10, { search: { total: 4, done: 10, all: 10 } })
  for (let end = 11; end < 30; end++) {
    show(end, { search: { total: 4, done: end - 1, all: end } })
    show(end, { search: { total: end, done: end, all: end } })
  }
  assert.deepStrictEqual(spoken, ['4 matches'])
  line.searched = false
  show(30, { search: { total: 1, done: 30, all: 30 } })
  assert.deepStrictEqual(spoken, ['4 matches', '1 match'])
})

test('a rewritten packet is one packet, unless a filter or a search lists what was sent in its place', () => {
  const text = (total, everything, filtered, more) => {
    line.show(state(40, { replacements: 3, complete: true, list: { total, done: 40, all: 40 }, ...more }), everything, filtered, false, null)
    return line.element.textContent
  }
  assert.strictEqual(text(37, true, false), '37 packets, complete')
  assert.strictEqual(text(12, false, false), '12 of 37 packets, complete', 'of a session')
  assert.strictEqual(text(12, false, true), '12 of 40 packets, complete')
  assert.strictEqual(text(40, true, false, { search: { total: 1, done: 40, all: 40 } }), '40 packets, complete')
})

test('a page without packets says how to open a capture', () => {
  line.show(state(0, { complete: true }), true, false, false, null)
  assert.deepStrictEqual([line.empty.hidden, line.empty.textContent], [false, 'No packets. Drop a capture here, or open one.'])
})
