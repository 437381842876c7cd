import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Sessions } from '../../../src/web/page/sessions.js'
import { event, openDocument } from './fake_dom.mjs'

let element, sessions, shown

beforeEach(() => {
  openDocument()
  element = document.createElement('ul')
  shown = []
  sessions = new Sessions(element, numbers => shown.push(numbers))
})

const session = (number, more) => ({
  session: number, player: `Player${number}`, client: `127.0.0.1:${50000 + number}`, server: null, upstream: 'localhost:25565', version: '1.8.9',
  legs: { state: 'play' }, packets: 1, bytes: 100, opened: 0, last: 1000, closed: null, capture: null, ...more
})
const ping = number => session(number, { player: null, legs: { state: 'status' }, closed: 'closed by the client' })
const titles = () => element.children.map(it => it.querySelector('strong').textContent)

test('sessions that only pinged are one line, which selects all of them', () => {
  sessions.update([session(1), ping(2), session(3), ping(4)])
  assert.deepStrictEqual(titles(), ['All sessions', '#1 Player1', '#3 Player3', '2 pings'])
  element.children[3].click()
  assert.deepStrictEqual(shown, [[2, 4]])
  assert.deepStrictEqual(element.children.map(it => it.getAttribute('aria-selected')), ['false', 'false', 'false', 'true'])
  // One that has no player yet may still get one.
  sessions.update([session(1, { player: null, legs: { state: 'login' } })])
  assert.deepStrictEqual(titles(), ['All sessions', '#1 127.0.0.1:50001'])
})

test('arrows go through the lines', () => {
  sessions.update([session(1), ping(2), session(3)])
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp']) element.dispatchEvent(event('keydown', { key }))
  assert.deepStrictEqual(shown, [[1], [3], [2], [2], [3]])
})

test('what is selected stays the same when others come, and those that are cleared are left out', () => {
  sessions.update([session(1), session(2)])
  element.children[2].click()
  const item = element.children[2]
  sessions.update([session(1), session(2), session(3), ping(4)])
  assert.strictEqual(element.children[2], item)
  assert.strictEqual(item.getAttribute('aria-selected'), 'true')
  sessions.update([session(1, { closed: 'closed by the client' }), session(2)])
  sessions.cleared = new Set(sessions.ended())
  sessions.update(sessions.sessions)
  assert.deepStrictEqual(titles(), ['All sessions', '#2 Player2'])
})

test('of many sessions, few are elements: the newest that are searched, and the selected one', () => {
  const all = Array.from({ length: 1000 }, (_, at) => session(at + 1, { closed: at % 2 ? null : 'kicked: full', version: at % 3 ? '1.8.9' : '1.21.4' }))
  sessions.update(all.slice(0, 5))
  assert(sessions.search.hidden)
  sessions.update(all, 7)
  assert.deepStrictEqual([element.children.length, sessions.search.hidden], [101, false])
  assert.strictEqual(titles().at(-1), '#1000 Player1000')
  assert.match(sessions.more.textContent, /^900 older sessions: search for them above\. 7 sessions before these are not listed any more/)
  const search = text => {
    sessions.search.value = text
    sessions.search.dispatchEvent(event('input'))
    return titles().slice(1)
  }
  const numbered = numbers => numbers.map(it => `#${it} Player${it}`)
  assert.deepStrictEqual(search('player77 '), numbered([77, ...Array.from({ length: 10 }, (_, at) => 770 + at)]))
  assert.deepStrictEqual(search('PLAYER77 open'), numbered([770, 772, 774, 776, 778]))
  assert.strictEqual(search('1.21.4 full closed').length, 100)
  assert.deepStrictEqual(search('50003'), numbered([3]))
  element.children[1].click()
  assert.deepStrictEqual([shown, search('50005')], [[[3]], numbered([3, 5])], 'the selected one stays')
  search('nobody')
  assert.match(sessions.more.textContent, /^No session has this\./)
  // Arrows go through what is shown.
  search('player77 ')
  for (let i = 0; i < 3; i++) element.dispatchEvent(event('keydown', { key: 'ArrowDown' }))
  assert.deepStrictEqual(shown.slice(1), [[77], [770], [771]])
})
