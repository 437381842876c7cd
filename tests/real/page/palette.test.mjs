import assert from 'node:assert'
import { test } from 'node:test'
import { findActions } from '../../../src/web/page/palette.js'

const action = (name, help, group, words = '') => ({ name, help, group, words, keys: ['x'], names: 'x', on: [] })
const ACTIONS = [
  action('palette', 'find an action by its description, and run it', 'Views'),
  action('go_to', 'go to a packet by its number', 'Moving', 'jump row'),
  action('filter', 'filter the list; Tab completes', 'The list'),
  action('hide_type', 'hide packets of this type', 'The list'),
  action('mark', 'mark the packet, or unmark it', 'The selected packet'),
  action('hold', 'hold packets that match', 'Traffic of a running proxy'),
  action('forward', 'forward the held packet', 'Traffic of a running proxy')
]

// As in `src/view/tests/keys.rs`.
test('actions are found by all words of their name, text and heading, the name first', () => {
  const found = typed => findActions(ACTIONS, typed).map(it => it.name)
  assert.deepStrictEqual(found(''), ['go_to', 'filter', 'hide_type', 'mark', 'hold', 'forward'])
  assert.deepStrictEqual(found(' HIDE  type '), ['hide_type'])
  for (const typed of ['jump', 'go to', 'number', 'row number']) assert.deepStrictEqual(found(typed), ['go_to'])
  assert.deepStrictEqual(found('packet'), ['go_to', 'hide_type', 'mark', 'hold', 'forward'])
  assert.deepStrictEqual(found('ho'), ['hold'])
  assert.deepStrictEqual(found('running hold'), ['hold'])
  assert.deepStrictEqual(found('f'), ['filter', 'forward', 'hide_type', 'hold'])
  assert.deepStrictEqual(found('nothing like it'), [])
})
