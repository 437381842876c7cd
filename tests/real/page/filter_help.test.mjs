import assert from 'node:assert'
import { test } from 'node:test'
import { filterHelp } from '../../../src/web/page/filter_help.js'
import { openDocument } from './fake_dom.mjs'

test('a press on an example uses it, also on one that stands for that of another tool', () => {
  openDocument()
  const used = []
  const help = filterHelp(text => used.push(text))
  const buttons = help.querySelectorAll('button')
  assert(buttons.length > 25)
  buttons.find(it => it.textContent === 'role.chat or role.command').click()
  const row = help.querySelectorAll('tr').find(it => it.textContent.startsWith('frame.number'))
  row.querySelector('button').click()
  assert.deepStrictEqual(used, ['role.chat or role.command', 'pkt.n == 12'])
})
