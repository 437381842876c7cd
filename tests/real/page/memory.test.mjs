import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Memory, settings } from '../../../src/web/page/memory.js'
import { openDocument } from './fake_dom.mjs'

beforeEach(() => openDocument())

const opened = run => {
  const memory = new Memory()
  assert(memory.open(run))
  return memory
}

test('what a tab shows is kept as long as the same mitmcraft runs', () => {
  opened('one').keep({ tab: 'timeline', view: { filter: 'chat' } })
  opened('one').keep({ tab: 'control' })
  const again = opened('one')
  assert.deepStrictEqual([again.get('tab', 'packets'), again.get('view', null), again.get('sort', 7)], ['control', { filter: 'chat' }, 7])
  assert.strictEqual(opened('another').get('tab', 'packets'), 'packets')
})

test('a page that finds another run at its address is told so', () => {
  const memory = opened('one')
  memory.keep({ tab: 'timeline' })
  assert(memory.open('one'), 'the connection was lost')
  assert.strictEqual(memory.get('tab', 'packets'), 'timeline')
  // However often: a person can keep the page, which stays that of the earlier run.
  assert.deepStrictEqual([memory.open('another'), memory.open('another')], [false, false])
  assert.strictEqual(memory.get('tab', 'packets'), 'timeline')
  assert.strictEqual(opened('another').get('tab', 'packets'), 'packets')
})

test('settings are kept, and what another version wrote is passed over', () => {
  settings.set('sizes', { hex: 300 })
  settings.set('columns', [])
  assert.deepStrictEqual([settings.get('sizes', {}), settings.get('other', 1)], [{ hex: 300 }, 1])
  for (const text of ['not JSON', 'null', '7']) {
    localStorage.setItem('settings', text)
    assert.strictEqual(settings.get('sizes', 'none'), 'none')
  }
})
