import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { Sessions } from '../../../src/web/page/sessions.js'
import { settled } from './fake_connection.mjs'
import { event, openDocument } from './fake_dom.mjs'

let page, list, sessions, shown, opened, all, asked, sent

const isPing = it => it.player === null && it.legs?.state === 'status'

// What mitmcraft answers: as much of it as the list needs.
function answer ({ text = '', only, descending, after, start, count = 1000, anchor }) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const kept = all.filter(it => !(after && it.closed !== null && it.session <= after.session))
  const found = kept
    .filter(it => only === 'pings' ? isPing(it) : !isPing(it))
    .filter(it => only === 'open' ? it.closed === null : only === 'ended' ? it.closed !== null : true)
    .filter(it => words.every(word => `#${it.session} ${it.player} ${it.closed ?? 'open'}`.toLowerCase().includes(word)))
  if (descending) found.reverse()
  const first = start ?? Math.max(0, found.length - count)
  const at = found.findIndex(it => it.session === anchor)
  const part = found.slice(first, first + count)
  sent += part.length
  return {
    answer: 'sessions', sessions: part, left_out: 7, total: found.length, pings: kept.filter(isPing).length,
    mark: { session: all.at(-1).session, ended: 0 }, anchor: at < 0 ? null : at, anchored: all.find(it => it.session === anchor) ?? null
  }
}

beforeEach(() => {
  page = openDocument()
  ;[shown, opened, all, asked, sent] = [[], [], [], [], 0]
  const connection = { ask: async (what, more) => { asked.push(more); return answer(more) } }
  const element = document.createElement('section')
  document.body.append(element)
  sessions = new Sessions(connection, element, { onselect: numbers => shown.push(numbers), onopen: last => opened.push(last), onexplain: () => opened.push('why') })
  list = sessions.element
  list.clientHeight = 10 * 44
})

const session = (number, more) => ({
  session: number, player: `Player${number}`, client: `127.0.0.1:${number}`, server: null, upstream: 'localhost:25565', version: '1.8.9', waits: null,
  legs: { state: 'play' }, packets: 1, bytes: 100, opened: 0, last: 1000, closed: null, capture: null, ...more
})
const ping = number => session(number, { player: null, legs: { state: 'status' }, closed: 'closed by the client' })
const many = count => Array.from({ length: count }, (_, at) => session(at + 1, { closed: at % 2 ? null : 'disconnected by the server: Server full' }))
const lines = () => list.querySelectorAll('.line')
const titles = () => lines().map(it => it.querySelector('strong').textContent)

async function update (now) {
  if (now) all = now
  await sessions.update()
  page.frame()
}

async function press (key) {
  list.dispatchEvent(event('keydown', { key }))
  await settled()
  page.frame()
}

test('sessions that only pinged are one line, which selects all of them', async () => {
  await update([session(1), ping(2), session(3), ping(4)])
  assert.deepStrictEqual(titles(), ['All sessions', '#1 Player1', '#3 Player3', '2 pings'])
  lines()[3].click()
  await settled()
  page.frame()
  assert.deepStrictEqual(shown, [[2, 4]])
  assert.deepStrictEqual(lines().map(it => it.getAttribute('aria-selected')), ['false', 'false', 'false', 'true'])
  // One that has no player yet may still get one.
  await update([session(1, { player: null, legs: { state: 'login' } })])
  assert.deepStrictEqual(titles(), ['All sessions', '#1 127.0.0.1:1'])
})

test('arrows go through the lines', async () => {
  await update([session(1), ping(2), session(3)])
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'Home', 'End']) await press(key)
  assert.deepStrictEqual(shown, [[1], [3], [2], [2], [3], [], [2]])
})

test('what is selected stays the same when others come, and those that are cleared are left out', async () => {
  await update([session(1), session(2)])
  lines()[2].click()
  page.frame()
  const item = lines()[2]
  await update([session(1), session(2), session(3), ping(4)])
  assert.strictEqual(lines()[2], item)
  assert.strictEqual(item.getAttribute('aria-selected'), 'true')
  await update([session(1, { closed: 'closed by the client' }), session(2)])
  await sessions.clear()
  page.frame()
  assert.deepStrictEqual(titles(), ['All sessions', '#2 Player2'])
  await sessions.clear(null)
  page.frame()
  assert.deepStrictEqual(titles(), ['All sessions', '#1 Player1', '#2 Player2'])
})

test('a session is two lines: how it goes, or how it ended as its player reads it, and the rest when it is selected', async () => {
  await update([session(1, { waits: 'the server to send chunks' }), session(2, { closed: 'disconnected by the server: Server full' }), session(3, { closed: 'closed by the client' })])
  const courses = lines().slice(1).map(it => it.querySelector('.course').textContent)
  assert.deepStrictEqual(courses, ['play, 1.0 s, the server to send chunks', 'closed, 1.0 s: Server full', 'closed, 1.0 s: by the client'])
  assert(sessions.facts.hidden)
  lines()[2].click()
  assert(!sessions.facts.hidden)
  const facts = Object.fromEntries(sessions.dl.children.map(it => [it.querySelector('dt').textContent, it.querySelector('dd').textContent]))
  assert.deepStrictEqual([facts.Ended, facts.Client, facts.Packets], ['disconnected by the server: Server full', '127.0.0.1:2', '1, 100 B'])
  // From there to its packets.
  for (const button of sessions.bar.children) button.click()
  assert.deepStrictEqual([shown, opened], [[[2]], [false, true, 'why']])
  // It stays selected, with what becomes of it, when it is not among those that are searched.
  sessions.search.value = 'player3'
  sessions.search.dispatchEvent(event('input'))
  await settled()
  page.frame()
  assert.deepStrictEqual([titles(), sessions.selected, sessions.facts.hidden], [['All sessions', '#3 Player3'], 2, false])
})

test('the rates of open sessions are those between two updates', async t => {
  let now = 1000
  t.mock.method(performance, 'now', () => now)
  await update([session(1, { packets: 10 })])
  now += 500
  await update([session(1, { packets: 20, bytes: 612 })])
  assert.strictEqual(lines()[1].querySelector('.course').textContent, 'play, 1.0 s, 20/s, 1.0 KiB/s')
})

test('of ten thousand sessions, only what is seen is drawn and sent', async () => {
  let made = 0
  const { createElement } = document
  document.createElement = name => { made++; return createElement(name) }
  const cost = async count => {
    all = many(count)
    await update()
    ;[made, sent] = [0, 0]
    for (let push = 0; push < 20; push++) {
      all[push].packets += 25
      all.push(session(all.length + 1))
      await update()
    }
    return { made, sent, elements: list.querySelectorAll('.line').length, listed: sessions.list.count }
  }
  const [few, lots] = [await cost(1000), await cost(10_000)]
  assert.deepStrictEqual([few.listed, lots.listed], [1021, 10_021])
  assert.deepStrictEqual([lots.made, lots.sent, lots.elements], [few.made, few.sent, few.elements])
  assert(lots.elements <= 11 && lots.sent <= 20 * 100 && lots.made <= 20 * 11 * 10, JSON.stringify(lots))
})

test('ten thousand sessions are gone through, and what is not listed is said', async () => {
  await update(many(5))
  assert(sessions.tools.hidden)
  await update(many(10_000))
  assert(!sessions.tools.hidden)
  assert.match(sessions.more.textContent, /^7 sessions before these are not listed any more; a filter such as session\.id == 5 finds their packets\.$/)
  await press('End')
  assert.deepStrictEqual([shown.at(-1), titles().at(-1)], [[10_000], '#10000 Player10000'])
  await press('PageUp')
  assert.deepStrictEqual(shown.at(-1), [9990])
  // What is asked for are the pages around that.
  await update()
  assert(asked.at(-1).start >= 9900 && asked.at(-1).count <= 100, JSON.stringify(asked.at(-1)))
  assert.strictEqual(asked.at(-1).anchor, 9990)
})

test('sessions are searched and sorted by mitmcraft, and what is on the screen stays until the answer comes', async () => {
  await update(many(1000))
  const before = titles()
  sessions.search.value = 'player77 open'
  sessions.search.dispatchEvent(event('input'))
  page.frame()
  assert.deepStrictEqual(titles(), before)
  await settled()
  page.frame()
  assert.deepStrictEqual(titles(), ['All sessions', ...[770, 772, 774, 776, 778].map(it => `#${it} Player${it}`)])
  for (let i = 0; i < 3; i++) await press('ArrowDown')
  assert.deepStrictEqual(shown, [[770], [772], [774]])
  sessions.search.value = 'nobody'
  sessions.search.dispatchEvent(event('input'))
  await settled()
  assert.match(sessions.more.textContent, /^No session has this\./)
  sessions.search.value = ''
  sessions.only.value = 'ended'
  sessions.order.value = '1'
  sessions.order.dispatchEvent(event('change'))
  await settled()
  page.frame()
  assert.deepStrictEqual(titles().slice(0, 3), ['All sessions', '#999 Player999', '#997 Player997'])
})

test('over a new connection, what was on its way is asked for again', async () => {
  await update(many(3))
  const { connection } = sessions
  sessions.connection = { ask: () => new Promise(() => {}) }
  sessions.update()
  sessions.connection = connection
  all = many(4)
  await sessions.renew()
  page.frame()
  assert.strictEqual(titles().length, 5)
})
