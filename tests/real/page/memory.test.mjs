import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Memory, settings } from '../../../src/web/page/memory.js'
import { openDocument } from './fake_dom.mjs'

beforeEach(() => openDocument())

test('what a tab shows is kept as long as the same mitmcraft runs', () => {
  new Memory('one').keep({ tab: 'timeline', view: { filter: 'chat' } })
  new Memory('one').keep({ tab: 'control' })
  const again = new Memory('one')
  assert.deepStrictEqual([again.get('tab', 'packets'), again.get('view', null), again.get('sort', 7)], ['control', { filter: 'chat' }, 7])
  assert.strictEqual(new Memory('another').get('tab', 'packets'), 'packets')
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
