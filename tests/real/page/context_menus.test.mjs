import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { ContextMenus } from '../../../src/web/page/context_menus.js'
import { event, openDocument } from './fake_dom.mjs'

let list, line, menus

beforeEach(() => {
  openDocument()
  document.body.append(document.createElement('main'))
  list = document.createElement('ul')
  line = document.createElement('li')
  list.append(line)
  menus = new ContextMenus({ drop: () => {} }, () => {}, list)
  menus.actions = [{ name: 'drop', on: ['held'], group: 'Held packets', help: 'drop it', names: 'D' }]
  menus.offer(list, 'held', () => 'packet 1')
  line.dispatchEvent(event('contextmenu', {}))
})

const shown = () => [menus.menu.element.hidden, menus.menu.element.getAttribute('aria-label'), menus.menu.element.querySelector('.menu-title').textContent]

test('a menu is about what its actions act on, also after it was opened', () => {
  assert.deepStrictEqual(shown(), [false, 'packet 1', 'packet 1'])
  menus.follow('packet', 'chat')
  assert.deepStrictEqual(shown(), [false, 'packet 1', 'packet 1'], 'it is about a held packet')
  menus.follow('held', '2 held packets')
  assert.deepStrictEqual(shown(), [false, '2 held packets', '2 held packets'])
})

test('a menu closes when nothing that it is about is left: its actions would act on something else', () => {
  assert.deepStrictEqual(shown(), [false, 'packet 1', 'packet 1'])
  menus.follow('held', null)
  assert(menus.menu.element.hidden)
})
