import assert from 'node:assert'
import { test } from 'node:test'
import { filterHelp } from '../../../src/web/page/filter_help.js'
import { settled } from './fake_connection.mjs'
import { openDocument } from './fake_dom.mjs'

test('names are those that the program has', async () => {
  openDocument()
  const ask = async (what, { filter, at }) => ({ names: what === 'complete' && at === filter.length ? [`${filter}one`, 'two'] : [] })
  const help = filterHelp({ ask }, () => {})
  await settled()
  const row = text => help.querySelectorAll('tr').find(it => it.textContent.startsWith(text)).textContent
  assert.strictEqual(row('pkt.n'), 'pkt.n == 12a property of every packet, here its number in its session: pkt.one, two')
  assert(['role.', 'state.', 'session.'].every(it => row(it).endsWith(`: ${it}one, two`)))
  assert(!row('payload.').includes('two'))
})

test('a press on an example uses it, also on one that stands for that of another tool', () => {
  openDocument()
  const used = []
  const help = filterHelp({ ask: async () => ({}) }, text => used.push(text))
  const buttons = help.querySelectorAll('button')
  assert(buttons.length > 25)
  buttons.find(it => it.textContent === 'role.chat or role.command').click()
  const row = help.querySelectorAll('tr').find(it => it.textContent.startsWith('frame.number'))
  row.querySelector('button').click()
  assert.deepStrictEqual(used, ['role.chat or role.command', 'pkt.n == 12'])
})
