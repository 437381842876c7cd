import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { ContextMenus } from '../../../src/web/page/context_menus.js'
import { event, openDocument } from './fake_dom.mjs'

let list, line, menus, ran

beforeEach(() => {
  openDocument()
  ran = []
  document.body.append(document.createElement('main'))
  list = document.createElement('ul')
  line = document.createElement('li')
  list.append(line)
  menus = new ContextMenus({ drop: () => {}, explain: () => {} }, (...what) => ran.push(what), list)
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

test('an action of a session is about the one whose menu was opened', () => {
  menus.actions = [{ name: 'explain', on: ['session'], group: 'Packet', help: 'explain it', names: 'W' }]
  const sessions = document.createElement('div')
  const [one, other] = [4, 7].map(number => {
    const line = document.createElement('li')
    line.dataset.session = String(number)
    sessions.append(line)
    return line
  })
  menus.offer(sessions, 'session', it => it.dataset.session, it => Number(it.dataset.session))
  for (const it of [one, other]) {
    it.dispatchEvent(event('contextmenu', {}))
    menus.menu.items[0].click()
  }
  assert.deepStrictEqual(ran, [['explain', 4], ['explain', 7]])
})

test('what has nothing to act on is not offered', () => {
  const names = () => menus.menuOf('held').flat().map(it => it.text)
  assert.deepStrictEqual(names(), ['Drop it'])
  menus.can = name => name !== 'drop'
  assert.deepStrictEqual(names(), [])
})
