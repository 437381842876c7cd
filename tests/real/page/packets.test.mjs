import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Columns } from '../../../src/web/page/columns.js'
import { ConnectionLost } from '../../../src/web/page/connection.js'
import { make } from '../../../src/web/page/dom.js'
import { Packets } from '../../../src/web/page/packets.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { event, openDocument } from './fake_dom.mjs'

let page, connection, element, packets, columns, selections
beforeEach(() => {
  page = openDocument()
  connection = new FakeConnection()
  selections = []
  element = make('div')
  element.clientHeight = 22 + 220 // the titles and 10 lines
  columns = new Columns(make('div'), make('button'))
  packets = new Packets(connection, element, row => selections.push(row), columns)
})

// Row `n` of the store has the name `packet n`.
const row = (n, more) => ({ row: n, at: 0, t: n, delta: 1, dir: 'serverbound', state: 'play', id: n % 256, name: `packet ${n}`, size: n, wire: n, verdict: 'pass', columns: [], sent: null, color: null, ...more })
const found = (total, done = total, all = done) => ({ total, done, all })
const lines = () => element.querySelectorAll('.line').filter(it => it.id).map(it => Number(it.id.slice(4))).sort((one, other) => one - other)
const text = index => element.querySelector(`[id="row-${index}"]`)?.querySelector('.c-name')?.textContent
const busy = () => element.getAttribute('aria-busy')

// Gives all rows that are asked for: those of the store with these numbers.
async function give (numbers) {
  page.frame()
  while (connection.waiting.some(it => it.what === 'rows')) {
    const request = connection.waiting.find(it => it.what === 'rows').more
    await connection.answer('rows', { rows: numbers.slice(request.start, request.start + request.count).map(n => row(n)) })
    page.frame()
  }
}

const upTo = count => [...Array(count).keys()]

// Shows a list that is accepted.
async function show (view, wanted) {
  const shown = packets.show(view, wanted)
  assert.deepStrictEqual(await connection.answer('view', {}), view)
  await shown
}

// Shows the list of all packets, complete.
async function open (count) {
  await show({ filter: '' })
  await packets.update(found(count), false)
  await give(upTo(count))
}

test('the newest packets are shown, and followed', async () => {
  await open(300)
  assert.deepStrictEqual(lines().slice(-2), [298, 299])
  assert.strictEqual(text(299), 'packet 299')
  assert.strictEqual(element.getAttribute('aria-rowcount'), '301')
  await packets.update(found(305), false)
  await give(upTo(305))
  assert.strictEqual(text(304), 'packet 304')
})

test('a list that follows moves only onto rows that it has, which come with the state', async () => {
  await show({ filter: '' })
  const begun = packets.update(found(300), false)
  assert.deepStrictEqual(await connection.answer('rows', {}), { start: 0, count: 0, columns: [], newest: 15 })
  page.frame()
  assert.deepStrictEqual(lines(), [], 'nothing is drawn that is not there')
  await give(upTo(300))
  await begun
  assert.strictEqual(text(299), 'packet 299')
  for (let total = 310; total < 400; total += 10) {
    await packets.update(found(total), false, upTo(total).slice(-15).map(n => row(n)))
    page.frame()
    assert.deepStrictEqual([text(total - 10), text(total - 1)], [`packet ${total - 10}`, `packet ${total - 1}`])
  }
  assert.deepStrictEqual(connection.waiting, [], 'nothing is asked for')
  // More than those came: the rows before them stay until the newest are there, but no longer than that.
  for (const total of [450, 500, 550]) {
    await packets.update(found(total), false)
    page.frame()
    assert.deepStrictEqual([text(389), packets.list.count], ['packet 389', 390])
  }
  assert.deepStrictEqual(connection.waiting.map(it => it.more.start), [400])
  await connection.answer('rows', { rows: upTo(500).slice(400).map(n => row(n)) })
  page.frame()
  assert.deepStrictEqual([text(449), packets.list.count], ['packet 449', 450])
  await give(upTo(550))
  assert.strictEqual(text(549), 'packet 549')
  // Nobody looks at them any more.
  const went = packets.go(100)
  await give(upTo(550))
  await went
  await packets.update(found(551), false)
  assert.deepStrictEqual(connection.waiting.map(it => it.more.newest), [0])
})

test('a row that is selected while the newest ones are on their way stays in view', async () => {
  await open(300)
  for (const [total, also] of [[600, 600], [900, 1200]]) {
    packets.setFollow(true)
    await packets.update(found(total), false)
    // More come before those, so that there is also something to go on with.
    await packets.update(found(also), false)
    packets.select(10, 10)
    await give(upTo(also))
    assert.strictEqual(text(10), 'packet 10')
    assert.strictEqual(packets.list.top, 10)
  }
})

test('rows are asked for by the page, once, and a page that is not full again when there are more', async () => {
  await open(150)
  packets.list.redraw()
  page.frame()
  assert.deepStrictEqual(connection.waiting, [])
  await packets.update(found(151), false)
  page.frame()
  page.frame()
  assert.deepStrictEqual(connection.waiting.map(it => it.more), [{ start: 100, count: 100, columns: [] }])
})

test('the list is busy until it is that of the last request and complete', async () => {
  assert.strictEqual(busy(), 'true')
  await open(10)
  assert.strictEqual(busy(), 'false')
  const shown = packets.show({ filter: 'chat' })
  assert.strictEqual(busy(), 'true')
  await packets.update(found(11), false)
  assert.strictEqual(busy(), 'true', 'that was the list before')
  await connection.answer('view', {})
  await shown
  assert.strictEqual(busy(), 'true')
  await packets.update(found(2, 5, 11), false)
  assert.strictEqual(busy(), 'true', 'it is not complete')
  await packets.update(found(3, 11), false)
  assert.strictEqual(busy(), 'false')
})

test('a packet that is selected while the list looks for its place stays in view', async () => {
  await open(300)
  packets.select(200, 200)
  await give(upTo(300))
  const update = packets.update(found(300), true)
  const anchor = connection.waiting.find(it => it.what === 'index').more
  assert.deepStrictEqual(anchor, { row: 200 })
  // As a match of a search is, which is far away.
  packets.select(5, 5)
  await connection.answer('index', { index: anchor.row, found: true })
  await connection.answer('index', { index: 5, found: true })
  await update
  await give(upTo(300))
  assert.strictEqual(packets.list.top, 5)
  assert.deepStrictEqual(element.querySelectorAll('.selected').map(it => it.id), ['row-5'])
})

test('a match stays in view when rows before it are listed afterwards, which the page did not know of', async () => {
  await open(200)
  // The page has rows of before the search, of which three were left out.
  packets.select(100, 103)
  packets.list.moveTo(100)
  const update = packets.update(found(203), true)
  assert.deepStrictEqual(await connection.answer('index', { index: 103, found: true }), { row: 103 })
  await connection.answer('index', { index: 103, found: true })
  await update
  await give(upTo(203))
  assert.strictEqual(packets.list.top, 103)
  assert.deepStrictEqual(element.querySelectorAll('.selected').map(it => it.id), ['row-103'])
})

test('a filter that is refused leaves the list as it is', async () => {
  await open(10)
  const shown = packets.show({ filter: 'chta' })
  await connection.answer('view', { error: { message: 'unknown' } })
  assert.deepStrictEqual(await shown, { error: { message: 'unknown' } })
  page.frame()
  assert.deepStrictEqual([busy(), text(0), packets.list.count], ['false', 'packet 0', 10])
})

test('a filter that is refused while another is being applied leaves that one', async () => {
  await open(10)
  const [one, other] = [packets.show({ filter: 'chat' }), packets.show({ filter: 'chta' })]
  await connection.answer('view', {})
  await packets.update(found(4), false)
  assert.strictEqual(busy(), 'true')
  await connection.answer('view', { error: {} })
  await Promise.all([one, other])
  assert.strictEqual(busy(), 'false')
})

test('rows of the list before are dropped', async () => {
  await open(10)
  await packets.update(found(11), false)
  page.frame()
  await show({ filter: 'chat' })
  await packets.update(found(2), false)
  await connection.answer('rows', { rows: upTo(11).map(n => row(n)) })
  page.frame()
  assert.notStrictEqual(text(0), 'packet 0')
  await give([5, 7])
  assert.deepStrictEqual([lines(), text(0), text(1)], [[0, 1], 'packet 5', 'packet 7'])
})

test('keys and the mouse select a row, which ends following', async () => {
  await open(300)
  const went = packets.go(0)
  await give(upTo(300))
  await went
  assert.deepStrictEqual([packets.selected, packets.follow, selections], [0, false, [0]])
  await packets.step(2)
  page.frame()
  assert.deepStrictEqual([packets.selected, element.getAttribute('aria-activedescendant')], [2, 'row-2'])
  element.querySelector('[id="row-4"]').click()
  assert.strictEqual(packets.selected, 4)
  await packets.step(-10)
  assert.strictEqual(packets.selected, 0)
  await packets.go(Infinity)
  assert.strictEqual(packets.selected, 299)
})

test('a row that is not there yet is fetched before it is selected', async () => {
  await open(1000)
  const went = packets.go(500)
  // What is on the screen stays until then.
  page.frame()
  assert.deepStrictEqual([text(999), packets.selected], ['packet 999', null])
  await give(upTo(1000))
  await went
  page.frame()
  assert.deepStrictEqual([packets.selected, packets.index, text(500)], [500, 500, 'packet 500'])
})

test('packets that are found before those on the screen do not move them', async () => {
  await open(100)
  await packets.go(50)
  packets.list.moveTo(45)
  const updated = packets.update(found(120, 120, 150), false)
  assert.deepStrictEqual(await connection.answer('index', { index: 70, found: true }), { row: 50 })
  assert.deepStrictEqual(await connection.answer('index', { index: 70, found: true }), { row: 50 })
  await updated
  assert.deepStrictEqual([packets.list.top, packets.index], [65, 70])
  // If none of them is selected, the one at the upper edge stays.
  packets.list.moveTo(10)
  await give(upTo(120))
  const again = packets.update(found(130, 130, 150), false)
  assert.deepStrictEqual(await connection.answer('index', { index: 20, found: true }), { row: 10 })
  assert.deepStrictEqual(await connection.answer('index', { index: 80, found: true }), { row: 50 })
  await again
  assert.deepStrictEqual([packets.list.top, packets.index], [20, 80])
})

test('a state that waited does not overwrite a later one', async () => {
  await open(100)
  await packets.go(50)
  const updated = [found(110, 110, 120), found(120), found(121)].map(it => packets.update(it, false))
  for (let asked = 0; asked < 4; asked++) await connection.answer('index', { index: 50, found: true })
  await Promise.all(updated)
  assert.deepStrictEqual([packets.list.count, element.getAttribute('aria-rowcount'), busy()], [121, '122', 'false'])
})

test('a state of the list before that waited is dropped', async () => {
  await open(100)
  await packets.go(50)
  const updated = packets.update(found(110, 110, 120), false)
  const shown = packets.show({ filter: 'chat' })
  await connection.answer('view', {})
  await shown
  const latest = packets.update(found(90), false)
  await connection.answer('index', { index: 50, found: true })
  await connection.answer('index', { index: 40, found: false })
  await Promise.all([updated, latest])
  assert.deepStrictEqual([packets.list.count, packets.list.top], [90, 0])
})

test('the selected packet stays selected and in view when a filter is set and cleared', async () => {
  await open(300)
  await packets.go(250)
  // A filter that it matches, and one that it does not match.
  for (const [filter, total, index, has] of [['a', 100, 60, true], ['b', 90, 40, false], ['', 300, 250, true]]) {
    await show({ filter })
    const updated = packets.update(found(total), false)
    assert.deepStrictEqual(await connection.answer('index', { index, found: has }), { row: 250 })
    await updated
    assert.strictEqual(packets.selected, 250)
    if (has) assert.deepStrictEqual([packets.index, packets.list.top], [index, index - 5], filter)
    // Nothing is asked about it again: its details are as they were.
    assert.deepStrictEqual([selections, packets.wanted], [[250], null])
  }
  // While the newest packet is followed, the list stays there.
  packets.setFollow(true)
  await show({ filter: 'c' })
  const updated = packets.update(found(80), false)
  await connection.answer('index', { index: 30, found: true })
  await updated
  await give(upTo(80))
  assert.deepStrictEqual([packets.list.top, packets.selected], [70, 250])
})

test('a row that the list is to have is selected as soon as it is found', async () => {
  await open(10)
  await show({ filter: '' }, 7)
  let updated = packets.update(found(3, 5, 100), false)
  await connection.answer('index', { index: 3, found: false })
  await updated
  assert.strictEqual(packets.selected, null)
  updated = packets.update(found(50, 50, 100), false)
  await connection.answer('index', { index: 7, found: true })
  await updated
  assert.deepStrictEqual([packets.selected, packets.index, selections], [7, 7, [7]])
  assert.strictEqual(packets.wanted, null)
})

test('a row that the complete list does not have is waited for no more', async () => {
  await open(10)
  await show({ filter: '' }, 70)
  const updated = packets.update(found(10), false)
  await connection.answer('index', { index: 10, found: false })
  await updated
  assert.deepStrictEqual([packets.wanted, packets.selected], [null, null])
})

test('a row that is found after a person has selected another is not selected', async () => {
  await open(10)
  await show({ filter: '' }, 7)
  const updated = packets.update(found(10), false)
  packets.select(1, 1)
  await connection.answer('index', { index: 7, found: true })
  await updated
  assert.deepStrictEqual([packets.wanted, packets.selected], [null, 1])
})

test('with a new connection, the list is asked for again, and what is on the screen stays', async () => {
  await open(300)
  const went = packets.go(120)
  await give(upTo(300))
  await went
  packets.list.moveTo(115)
  page.frame()
  await connection.lose()
  const shown = packets.showAgain({ filter: '' })
  assert.strictEqual(busy(), 'true')
  await packets.update(found(900), true)
  assert.strictEqual(packets.list.count, 300, 'that is not the list of this page')
  await connection.answer('view', {})
  await shown
  page.frame()
  assert.deepStrictEqual([text(115), packets.selected, selections], ['packet 115', 120, [120, 120]])
  const updated = packets.update(found(290), true)
  await connection.answer('index', { index: 110, found: true })
  await connection.answer('index', { index: 110, found: true })
  await updated
  await give(upTo(300).slice(10))
  assert.deepStrictEqual([busy(), packets.list.top, packets.index, text(105)], ['false', 105, 110, 'packet 115'])
})

test('rows that were asked for when the connection was lost are asked for again', async () => {
  await show({ filter: '' })
  await packets.update(found(5), false)
  page.frame()
  await connection.lose()
  const again = packets.showAgain({ filter: '' })
  await connection.answer('view', {})
  await again
  await packets.update(found(5), false)
  await give(upTo(5))
  assert.strictEqual(text(4), 'packet 4')
})

test('requests are rejected with the connection, and none is counted as under way for ever', async () => {
  await open(10)
  const rejected = [packets.show({ filter: 'chat' }), packets.go(5).then(() => packets.annotate(row(5), 'kept'))]
    .map(it => assert.rejects(it, ConnectionLost))
  await settled()
  await connection.lose()
  await Promise.all(rejected)
  assert.strictEqual(packets.asked, 0)
  await show({ filter: '' })
  const updated = packets.update(found(10), false)
  await connection.answer('index', { index: 5, found: true })
  await updated
  assert.strictEqual(busy(), 'false')
})

// What the cells of a row show, by the classes of their columns.
const cells = index => element.querySelector(`[id="row-${index}"]`).children.map(it => [it.className.split(' ')[0], it.textContent])
const column = key => columns.all.find(it => it.key === key)
const titles = () => columns.head.children.map(it => it.className.split(' ')[0])

test('columns are hidden, shown and made wide, also after a reload; times have three forms', async () => {
  await open(3)
  assert(!cells(1).some(([name]) => name === 'c-wire') && !titles().includes('c-wire'))
  columns.show(column('wire'), true)
  columns.resize(column('name'), 300)
  page.frame()
  assert(cells(1).some(([name]) => name === 'c-wire') && titles().includes('c-wire'))
  const again = new Columns(make('div'), make('button'))
  assert.deepStrictEqual([again.shown.map(it => it.key), again.sheet.text], [columns.shown.map(it => it.key), columns.sheet.text])
  assert.match(columns.sheet.text, /\.col-6 \{ width: 300px/)
  columns.resize(column('name'), undefined)
  assert.doesNotMatch(columns.sheet.text, /300px/)
  assert.deepStrictEqual([packets.nextTime(), packets.cell(row(2), 'time')], ['relative', '2.000000'])
  assert.deepStrictEqual([packets.nextTime(), packets.cell(row(2), 'time')], ['delta', '1.000000'])
  assert.strictEqual(packets.nextTime(), 'absolute')
})

test('a field is added as a column before the summary, unless no packet has it, and removed', async () => {
  await open(3)
  columns.check = async name => (name === 'mesage' ? 'no packet has it' : null)
  assert.strictEqual(await columns.toggle('mesage'), 'no packet has it')
  assert.strictEqual(await columns.toggle('chat.message'), null)
  page.frame()
  const request = await connection.answer('rows', { rows: upTo(3).map(n => row(n, { columns: [n === 1 ? 'hello' : null] })) })
  assert.deepStrictEqual(request, { start: 0, count: 100, columns: ['chat.message'] })
  page.frame()
  assert.deepStrictEqual(cells(1).slice(-2), [['c-added', 'hello'], ['c-summary', '']])
  assert.deepStrictEqual(cells(0).at(-2), ['c-added', ''])
  assert.deepStrictEqual(new Columns(make('div'), make('button')).names, ['chat.message'], 'also after a reload')
  columns.setSort({ by: 'chat.message', descending: false })
  await columns.toggle('chat.message')
  assert.deepStrictEqual([columns.names, columns.sort], [[], null])
})

test('a title sorts ascending, descending, and as recorded', () => {
  let told = 0
  columns.onsort = () => told++
  const click = () => {
    columns.head.querySelector('.c-size').querySelector('button').click()
    return [columns.sort, columns.head.querySelector('.c-size').getAttribute('aria-sort')]
  }
  assert.deepStrictEqual(click(), [{ by: 'size', descending: false }, 'ascending'])
  assert.deepStrictEqual(click(), [{ by: 'size', descending: true }, 'descending'])
  assert.deepStrictEqual(click(), [null, null])
  assert.strictEqual(told, 3)
})

test('several rows are selected: single ones, spans and all', async () => {
  await open(30)
  const click = (index, keys) => element.querySelector(`[id="row-${index}"]`).dispatchEvent(event('click', keys))
  const shown = () => element.querySelectorAll('.line').filter(it => it.getAttribute('aria-selected') === 'true').map(it => Number(it.id.slice(4)))
  packets.setFollow(false)
  packets.list.moveTo(0)
  await give(upTo(30))
  click(3)
  click(6, { ctrlKey: true })
  page.frame()
  assert.deepStrictEqual([packets.targets, shown().sort()], [[3, 6], [3, 6]])
  click(3, { ctrlKey: true })
  assert.deepStrictEqual(packets.targets, [6])
  click(8, { shiftKey: true })
  assert.deepStrictEqual([packets.targets, packets.selected], [[6, 7, 8], 8])
  click(5, { shiftKey: true })
  assert.deepStrictEqual([packets.targets, packets.selected], [[5, 6], 5], 'from where it began')
  const all = packets.chooseAll()
  await connection.answer('row_numbers', { rows: upTo(30) })
  await all
  assert.strictEqual(packets.targets.length, 30)
  const marked = packets.mark()
  assert.deepStrictEqual(await connection.answer('mark_all', {}), { rows: upTo(30), marked: true })
  await marked
  click(2)
  assert.deepStrictEqual(packets.targets, [2])
})

test('the selected row stays in view when the list gets less room for it, as for its details', async () => {
  await open(100)
  packets.setFollow(false)
  packets.list.resized()
  packets.list.moveTo(0)
  page.frame()
  packets.select(9, 9)
  element.clientHeight = 22 + 110
  // It is drawn before the list knows of its height.
  page.frame()
  packets.list.resized()
  assert.strictEqual(packets.list.top, 5)
  // One that was out of view stays there.
  packets.list.moveTo(50)
  page.frame()
  element.clientHeight = 22 + 88
  packets.list.resized()
  assert.strictEqual(packets.list.top, 50)
})

test('a list that gets more room has not been scrolled by a person, and follows nothing then', async () => {
  await open(100)
  packets.setFollow(false)
  packets.list.moveTo(90)
  page.frame()
  element.clientHeight = 22 + 440
  // The browser keeps the end of the list in view.
  element.scrollTop -= 220
  packets.list.resized()
  element.dispatchEvent(new Event('scroll'))
  assert(!packets.follow)
})

test('the last packet of a list is selected once the list is found, unless another one is selected meanwhile', async () => {
  await open(30)
  packets.begin()
  await packets.goToEnd(true)
  assert.deepStrictEqual(selections, [])
  packets.update(found(30), false, upTo(30).map(n => row(n)))
  await settled()
  assert.deepStrictEqual(selections, [29])
  packets.complete = false
  await packets.goToEnd(false)
  packets.select(28, 28)
  packets.complete = true
  await packets.selectEnd()
  assert.deepStrictEqual(selections, [29, 28])
})

test('a selection that is on its way can be waited for, and a later press counts instead', async () => {
  await open(1000)
  packets.select(999, 999)
  const span = packets.chooseSpan(500)
  const { moving } = packets
  assert.deepStrictEqual(await connection.answer('row_numbers', { rows: upTo(1000).slice(500) }), { start: 500, count: 500 })
  await Promise.all([span, moving])
  assert.deepStrictEqual([packets.targets.length, packets.moving], [500, null])
  const all = packets.chooseAll()
  packets.select(998, 998)
  await connection.answer('row_numbers', { rows: upTo(1000) })
  await all
  assert.deepStrictEqual(packets.targets, [998])
})

test('the selected packet is found wherever it stands by now, and keeps its comment', async () => {
  await open(30)
  packets.setFollow(false)
  packets.select(4, 4)
  // Another one was found before it, and the list is not drawn again yet.
  packets.pages.change()
  packets.list.redraw()
  page.frame()
  await connection.answer('rows', { rows: [row(100), ...upTo(30).map(n => row(n))] })
  assert.deepStrictEqual([packets.pages.at(packets.index).row, packets.current.row], [3, 4])
  const opened = packets.current
  packets.select(7, 7)
  packets.pages.at(5).marked = true
  const kept = packets.annotate(opened, 'the first')
  assert.deepStrictEqual(await connection.answer('annotate', {}), { row: 4, marked: true, comment: 'the first' })
  await kept
})

test('cells say what the row has', () => {
  const cell = (key, more) => packets.cell(row(10, more), key)
  assert.deepStrictEqual([cell('dir'), cell('dir', { dir: 'clientbound' })], ['→', '←'])
  assert.deepStrictEqual([cell('id'), cell('id', { id: null })], ['0x0a', ''])
  assert.deepStrictEqual([cell('name', { name: null }), cell('name', { guess: true })], ['(unknown)', 'packet 10?'])
  assert.deepStrictEqual([cell('verdict'), cell('verdict', { verdict: 'drop' })], ['', 'drop'])
  assert.deepStrictEqual([cell('state', { state: 'configuration' }), cell('comment')], ['config', ''])
})
