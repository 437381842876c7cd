import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Press, byId, clock, make, patch, plural, size, styled } from '../../../src/web/page/dom.js'
import { VirtualList } from '../../../src/web/page/virtual_list.js'
import { event, openDocument } from './fake_dom.mjs'

let page
beforeEach(() => { page = openDocument() })

// A list of 10 visible lines.
function open (count, head) {
  const element = make('div')
  element.clientHeight = 220 + (head ? VirtualList.LINE : 0)
  const list = new VirtualList(element, (index, line) => { line.textContent = `row ${index}` }, head)
  list.setCount(count)
  page.frame()
  return { element, list }
}

const shown = list => [...list.lines.keys()].sort((one, other) => one - other)

test('text becomes text, never markup, and missing children are left out', () => {
  const element = make('p', { class: 'bad', title: undefined, 'data-at': 7 }, '<b>', null, undefined, make('i', {}, '&'))
  assert.strictEqual(element.textContent, '<b>&')
  assert.strictEqual(element.children.length, 1)
  assert.strictEqual(element.className, 'bad')
  assert.strictEqual(element.dataset.at, '7')
  assert.strictEqual(element.getAttribute('title'), null)
})

test('properties that begin with "on" are listeners', () => {
  let clicks = 0
  make('button', { onclick: () => clicks++ }).click()
  assert.strictEqual(clicks, 1)
})

test('an element is found by its id and kind, and nothing else is taken for it', () => {
  const input = make('input', { id: 'filter' })
  document.body.append(input)
  assert.strictEqual(byId('filter', HTMLInputElement), input)
  assert.throws(() => byId('filter', HTMLSelectElement), /no element filter/)
  assert.throws(() => byId('search', HTMLInputElement), /no element search/)
})

test('a text component has the classes of its formats, and other colours as a border', () => {
  const [plain, red, rgb] = styled([{ text: 'a', color: null, formats: [] }, { text: 'b', color: 'c', formats: ['bold'] }, { text: 'd', color: '#102030', formats: [] }]).children
  assert.strictEqual(plain.className, '')
  assert.strictEqual(red.className, 'mc-bold mc-c')
  assert.deepStrictEqual([rgb.className, rgb.style.borderBottomColor], ['mc-rgb', '#102030'])
})

test('of a long text, the beginning is shown, and how much there is', () => {
  const spans = [{ text: 'abc', color: null, formats: [] }, { text: 'defg', color: 'c', formats: [] }, { text: 'hi', color: null, formats: [] }]
  assert.strictEqual(styled(spans, 5).textContent, 'abcde … 4 more characters')
  assert.strictEqual(styled(spans, 9).textContent, 'abcdefghi')
})

test('characters that nobody sees, or that turn text round, are written as escapes', () => {
  const shown = text => styled([{ text, color: null, formats: [] }]).textContent
  assert.strictEqual(shown('a\u202eb\u2067c\u0007\u{e0041}'), 'a\\u{202e}b\\u{2067}c\\u{7}\\u{e0041}')
  assert.strictEqual(shown('two\nlines\tü 😀 日本'), 'two\nlines\tü 😀 日本')
})

test('only the visible lines of a list are elements, and they stand in their places', () => {
  const { element, list } = open(1000)
  assert.deepStrictEqual(shown(list), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  list.moveTo(500.5)
  page.frame()
  assert.deepStrictEqual(shown(list), [500, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510, 511])
  assert.strictEqual(list.lines.get(500).style.top, '-11px')
  assert.strictEqual(list.lines.get(501).textContent, 'row 501')
  assert.strictEqual(element.querySelectorAll('.line').length, 12)
})

test('a list ends with its last line, whatever it is asked for', () => {
  const { list } = open(25)
  list.moveTo(1000)
  assert.strictEqual(list.top, 15)
  list.moveTo(-5)
  assert.strictEqual(list.top, 0)
  list.moveTo(15)
  list.setCount(12)
  assert.strictEqual(list.top, 2, 'a list that became shorter')
  list.setCount(3)
  page.frame()
  assert.deepStrictEqual([list.top, shown(list)], [0, [0, 1, 2]])
})

test('a line is revealed by scrolling as little as possible', () => {
  const { list } = open(100)
  list.moveTo(50)
  list.reveal(55)
  assert.strictEqual(list.top, 50)
  list.reveal(60)
  assert.strictEqual(list.top, 51)
  list.reveal(40)
  assert.strictEqual(list.top, 40)
})

test('the line of titles takes the room of one line', () => {
  const { element, list } = open(100, make('div', { class: 'head' }))
  assert.strictEqual(list.visible, 10)
  assert.strictEqual(element.children[0].className, 'head')
  assert.strictEqual(list.window.style.top, '22px')
})

test('the wheel moves by lines and tells its owner; with Ctrl it is left to the browser', () => {
  const { element, list } = open(100)
  let moves = 0
  list.onmove = () => moves++
  const turn = properties => element.dispatchEvent(event('wheel', { deltaMode: 0, ...properties }))
  assert.strictEqual(turn({ deltaY: 66 }), false, 'it is handled')
  assert.deepStrictEqual([list.top, moves], [3, 1])
  turn({ deltaY: 2, deltaMode: 1 })
  assert.deepStrictEqual([list.top, moves], [5, 2])
  assert.strictEqual(turn({ deltaY: 66, ctrlKey: true }), true)
  assert.deepStrictEqual([list.top, moves], [5, 2])
})

test('the scrollbar of a list that is too tall for an element is scaled, and reaches both ends', () => {
  const { element, list } = open(10_000_000)
  assert.strictEqual(list.spacer.style.height, '8000000px')
  const room = element.scrollHeight - element.clientHeight
  element.scrollTop = room
  element.dispatchEvent(new Event('scroll'))
  assert.strictEqual(list.top, list.last)
  element.scrollTop = room / 2
  element.dispatchEvent(new Event('scroll'))
  assert.strictEqual(Math.round(list.top), Math.round(list.last / 2))
  list.moveTo(0)
  assert.strictEqual(element.scrollTop, 0)
})

test('a scroll event of its own movement is no movement of a person', () => {
  const { element, list } = open(1000)
  let moves = 0
  list.onmove = () => moves++
  list.moveTo(333.3)
  element.dispatchEvent(new Event('scroll'))
  assert.deepStrictEqual([list.top, moves], [333.3, 0])
})

test('lines are drawn once for any number of changes before a frame', () => {
  const element = make('div')
  element.clientHeight = 22
  let drawn = 0
  const list = new VirtualList(element, () => drawn++)
  list.setCount(1)
  list.redraw()
  list.redraw()
  page.frame()
  assert.strictEqual(drawn, 1)
})

test('sizes, times and counts are written as people read them', () => {
  assert.deepStrictEqual([0, 1023, 1024, 1_048_570, 1_048_576, 5 * 2 ** 40].map(size),
    ['0 B', '1023 B', '1.0 KiB', '1.0 MiB', '1.0 MiB', '5.0 TiB'])
  assert.strictEqual(clock(new Date(2026, 0, 2, 3, 4, 5, 6).getTime()), '03:04:05.006')
  assert.deepStrictEqual([plural(1, 'packet'), plural(0, 'packet'), plural(12345, 'packet')], ['1 packet', '0 packets', '12,345 packets'])
})

test('nodes whose content stays are the same after a change, also when others come and go', () => {
  const item = (key, text) => make('li', { 'data-key': key }, make('button', {}, text), ' and more')
  const list = make('ol')
  patch(list, item(1, 'one'), item(2, 'two'), item(3, 'three'))
  const [, second, third] = list.children
  const button = third.children[0]
  patch(list, item(2, 'two'), item(3, 'THREE'), item(4, 'four'))
  assert.deepStrictEqual([list.children[0], list.children[1]], [second, third])
  assert.strictEqual(third.children[0], button)
  assert.deepStrictEqual(list.children.map(it => it.textContent), ['two and more', 'THREE and more', 'four and more'])
  patch(list, 'nothing')
  assert.strictEqual(list.textContent, 'nothing')
})

test('nothing is drawn while the mouse is pressed, and the last of it afterwards', async () => {
  const press = new Press()
  const drawn = []
  press.draw('a', () => drawn.push(1))
  press.begin()
  press.draw('a', () => drawn.push(2))
  press.draw('a', () => drawn.push(3))
  press.end()
  assert.deepStrictEqual(drawn, [1], 'the click comes first')
  await new Promise(resolve => setTimeout(resolve))
  assert.deepStrictEqual(drawn, [1, 3])
})
