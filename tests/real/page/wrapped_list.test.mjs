import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { make } from '../../../src/web/page/dom.js'
import { Pages } from '../../../src/web/page/pages.js'
import { WrappedList } from '../../../src/web/page/wrapped_list.js'
import { settled } from './fake_connection.mjs'
import { event, openDocument } from './fake_dom.mjs'

let page
beforeEach(() => { page = openDocument() })

// A list of 220 pixels, of which every second line takes two lines of the screen. `first` is the key of the first line.
function open (count, first = { key: 0 }) {
  const element = make('div')
  element.clientHeight = 220
  const render = (index, line) => {
    line.offsetHeight = (index + first.key) % 2 ? 44 : 22
    line.textContent = `said ${index + first.key}`
  }
  const list = new WrappedList(element, render, index => index + first.key)
  list.setCount(count)
  page.frame()
  return { element, list, first }
}

// The first and the last line that are seen, each with the place of its upper edge.
function seen ({ list }) {
  const shift = Number(/-?[\d.]+/.exec(list.rows.style.transform)[0])
  let y = shift
  const lines = list.rows.children.map(line => {
    const at = [line.textContent, y]
    y += line.offsetHeight
    return [...at, y]
  })
  const visible = lines.filter(([, top, bottom]) => bottom > 0 && top < 220)
  return [visible[0], visible.at(-1)].map(([text, top]) => `${text} at ${Math.round(top)}`)
}

const turn = ({ element }, deltaY) => {
  element.dispatchEvent(event('wheel', { deltaMode: 0, deltaY }))
  page.frame()
}

test('a list begins at its end, and stays there when lines come', () => {
  const it = open(1000)
  assert.deepStrictEqual(seen(it), ['said 993 at -22', 'said 999 at 176'])
  it.list.setCount(1001)
  page.frame()
  assert.deepStrictEqual(seen(it), ['said 994 at 0', 'said 1000 at 198'])
  assert(it.list.rows.children.length < 40, 'only lines around those that are seen are elements')
})

test('the wheel moves by pixels through lines of different heights, and what comes moves nothing', () => {
  const it = open(1000)
  turn(it, -100)
  const before = seen(it)
  assert.deepStrictEqual(before, ['said 990 at -10', 'said 997 at 210'])
  it.list.setCount(2000)
  page.frame()
  assert.deepStrictEqual(seen(it), before)
  turn(it, -33)
  turn(it, 33)
  assert.deepStrictEqual(seen(it), before)
  it.list.setCount(1000)
  turn(it, 5000)
  assert.deepStrictEqual([seen(it)[1], it.list.atEnd], ['said 999 at 176', true])
})

test('the scrollbar goes by lines, and reaches both ends', () => {
  const it = open(100_000)
  const room = it.element.scrollHeight - 220
  const scroll = top => {
    it.element.scrollTop = top
    it.element.dispatchEvent(new Event('scroll'))
    page.frame()
  }
  scroll(0)
  assert.deepStrictEqual([seen(it)[0], it.list.atEnd], ['said 0 at 0', false])
  scroll(room / 2)
  assert.match(seen(it)[0], /^said (4999|5000)\d /)
  scroll(room)
  assert.deepStrictEqual([seen(it)[1], it.list.atEnd], ['said 99999 at 176', true])
})

test('a line is revealed by scrolling as little as possible', () => {
  const it = open(1000)
  it.list.moveTo(500)
  page.frame()
  it.list.reveal(504)
  page.frame()
  assert.deepStrictEqual(seen(it)[0], 'said 500 at 0')
  it.list.reveal(507)
  page.frame()
  assert.deepStrictEqual(seen(it)[1], 'said 507 at 176')
  it.list.reveal(499)
  page.frame()
  assert.deepStrictEqual(seen(it)[0], 'said 499 at 0')
})

test('a list that is shorter than the screen begins at its top', () => {
  const it = open(3)
  assert.deepStrictEqual(seen(it), ['said 0 at 0', 'said 2 at 66'])
  const none = open(0)
  assert.strictEqual(none.list.rows.children.length, 0)
})

test('a line keeps its element when others are found before it', () => {
  const it = open(1000)
  it.list.moveTo(500)
  page.frame()
  const [line] = it.list.rows.children
  it.first.key = -20
  it.list.setCount(1020)
  it.list.moveTo(520)
  page.frame()
  assert.strictEqual(it.list.rows.children[0], line)
})

test('a page is asked for once, and again after a change; what is on its way does not count for another list', async () => {
  const asked = []
  const answers = []
  const pages = new Pages((start, count) => {
    asked.push([start, count])
    return new Promise(resolve => answers.push(resolve))
  }, () => {})
  const items = (from, count) => Array.from({ length: count }, (_, at) => from + at)
  assert.strictEqual(pages.see(150), undefined)
  pages.see(151)
  assert.deepStrictEqual(asked, [[100, 100]])
  answers.shift()(items(100, 100))
  await settled()
  assert.deepStrictEqual([pages.see(150), pages.at(199), pages.find(it => it === 130)], [150, 199, 130])
  pages.grow()
  pages.see(150)
  assert.strictEqual(asked.length, 1, 'a full page is right when the list grows')
  pages.change()
  assert.strictEqual(pages.see(150), 150, 'it is shown until the answer comes')
  assert.strictEqual(asked.length, 2)
  pages.clear()
  answers.shift()(items(0, 100))
  await settled()
  assert.strictEqual(pages.at(150), undefined)
})
