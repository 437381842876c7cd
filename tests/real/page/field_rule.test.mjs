import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { askFieldRule } from '../../../src/web/page/field_rule.js'
import { openDocument } from './fake_dom.mjs'

let said, shown, made, parts

const fields = [
  { path: 'message', value: '"say \\"hi\\""', text: null },
  { path: 'reason', value: '"{...}"', text: [{ text: 'Bye ' }, { text: 'now' }] },
  { path: 'slot', value: '7', text: null },
  { path: 'items', value: '', text: null }
]

beforeEach(() => {
  openDocument()
  said = shown = made = null
  const details = { packet: { fields }, field: -1 }
  const dialog = { show: (title, body) => { shown = { title, body } }, close: () => { shown = null } }
  parts = { selectedPacket: { row: 4, details }, commands: { rule: async (...what) => { made = what } }, dialog, notice: { say: text => { said = text } } }
  globalThis.HTMLInputElement.prototype.select ??= () => {}
})

const input = () => shown.body.children[0].children[0]

test('a field that is changed becomes what a rule sets', () => {
  for (const [field, value] of [[0, 'say "hi"'], [1, 'Bye now'], [2, '7']]) {
    parts.selectedPacket.details.field = field
    askFieldRule(parts)
    assert.match(shown.title, new RegExp(fields[field].path))
    assert.strictEqual(input().getAttribute('value'), value)
  }
  input().value = '=slot + 1'
  shown.body.children[0].children[1].click()
  assert.deepStrictEqual([made, shown], [[{ field: 2, text: '=slot + 1' }, 4], null])
})

test('without a field that has a value there is no rule', () => {
  askFieldRule(parts)
  assert.match(said, /Select a field/)
  parts.selectedPacket.details.field = 3
  askFieldRule(parts)
  assert.match(said, /as a whole/)
  assert.strictEqual(shown, null)
})
