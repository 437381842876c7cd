import assert from 'node:assert'
import { test } from 'node:test'
import { make } from '../../../src/web/page/dom.js'
import { VirtualList } from '../../../src/web/page/virtual_list.js'
import { openDocument } from './fake_dom.mjs'

test('the elements of lines are in the order of the lines, however the list was scrolled', () => {
  const page = openDocument()
  const element = make('div')
  element.clientHeight = 4 * VirtualList.LINE
  const list = new VirtualList(element, (index, line) => { line.textContent = String(index) })
  list.setCount(20)
  for (const top of [16, 14, 3, 4.5, 2.5, 0]) {
    list.moveTo(top)
    page.frame()
    const end = Math.min(20, Math.ceil(top + 4) + 1)
    const seen = Array.from({ length: end - Math.floor(top) }, (_, at) => String(Math.floor(top) + at))
    assert.deepStrictEqual(list.window.children.map(it => it.textContent), seen)
  }
})
