'use strict'
// A person with a browser: opens the page of `--web` in Chromium, waits until a session was played,
// and uses everything on the page. Exits 0 if all of it works.

const assert = require('assert')
const fs = require('fs')
const path = require('path')
const readline = require('readline')
const { chromium } = require('playwright-core')
const { args, emit, die } = require('./common')

const opt = args({ url: '', chromium: '', folder: '' }, 150)
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const found = [opt.chromium, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find(it => it && fs.existsSync(it))
if (!found) die('chromium is missing: run `tests/run`, or install it')

const orders = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const hosts = new Set()
let page

main().catch(error => die(error.stack))

async function main () {
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath: found, args: sandbox })
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
  page = await context.newPage()
  page.setDefaultTimeout(15_000)
  page.on('pageerror', error => die(`the page: ${error.stack}`))
  page.on('console', message => { if (message.type() === 'error') die(`the page: ${message.text()}`) })
  page.on('request', request => hosts.add(new URL(request.url()).host))
  await page.goto(opt.url)
  await shows('#state', /^0 packets, live$/)
  emit('ready', {})
  await orders.next()

  for (const [name, part] of Object.entries({ live, list, details, filter, search, columns, conversation, statistics, timeline, compare, sessions, help, control, many, narrow, strangers })) {
    await part(context).catch(error => { throw new Error(`${name}: ${error.stack}`) })
  }
  assert.deepStrictEqual([...hosts], [new URL(opt.url).host])
  await browser.close()
  process.exit(0)
}

// The session that was played while the page was open.
async function live () {
  assert.strictEqual(await page.evaluate(() => location.hash), '', 'the token has left the address')
  await shows('#session-list', /#\d+ Tester.*1\.8, closed/s)
  await shows('#state', /^[\d,]+ packets, live$/)
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'true')
  await until(async () => {
    const total = Number((await text('#list', 'aria-rowcount'))) - 1
    const newest = (await rows()).at(-1)
    return total > 100 && newest.index === total - 1 && /kick_disconnect/.test(newest.text)
  }, 'the newest packet is shown')
  await page.reload()
  await shows('#state', /packets, live$/) // the token was kept for this tab
  await until(() => applied(''), 'the list is there')
}

async function list () {
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /set_protocol/)
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'false', 'selecting a packet pauses')
  await page.keyboard.press('j')
  await page.keyboard.press('ArrowDown')
  await selected(2, /login_start.*username="Tester"/)
  await page.keyboard.press('k')
  await selected(1, /send/) // the rewritten handshake
  await page.keyboard.press('PageDown')
  await until(async () => (await rows()).find(it => it.selected)?.index > 10, 'a screen down')
  await page.keyboard.press('G')
  const last = Number(await text('#list', 'aria-rowcount')) - 2
  await selected(last, /kick_disconnect/)
  await page.mouse.move(600, 200)
  await page.mouse.wheel(0, -2200)
  await until(async () => (await rows())[0].index < last - 100, 'the wheel scrolls by lines')
  await page.keyboard.press('f')
  await until(async () => (await rows()).at(-1).index === last, 'follow returns to the newest')
  assert.strictEqual(await text('#time-mode'), 'Time: absolute')
  await page.keyboard.press('t')
  await until(async () => /^\d\.\d{6}/.test((await rows()).at(-1).text), 'times since the session began')
  await page.keyboard.press('t')
  assert.strictEqual(await text('#time-mode'), 'Time: delta')
  await page.keyboard.press('t')
}

async function details () {
  await page.keyboard.press('Escape')
  await apply('spawn_position')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await shows('#facts', /spawn_position 0x05.*9 B.*on the wire.*compressed from 64 B/s)
  await shows('#tree', /location/)
  await page.keyboard.press('Enter')
  await page.keyboard.press('ArrowDown')
  await until(async () => await page.locator('#hex i.leaf').count() > 0, 'the bytes of the field are marked')
  const marked = await page.locator('#hex i.leaf').evaluateAll(all => all.map(it => Number(it.dataset.at)))
  assert.strictEqual(Math.min(...marked), 1)
  await apply('custom_payload and clientbound')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await shows('#tree', /channel.*data/s)
  await page.click('#hex i[data-at="3"]')
  await shows('#tree .selected', /channel/)
  await picture('details')
}

async function filter () {
  await apply('chat')
  const chats = Number(await text('#list', 'aria-rowcount')) - 1
  await shows('#state', new RegExp(`^${chats} of `))
  assert((await rows()).every(it => /chat/.test(it.text)))
  // The error stands under its character.
  await page.fill('#filter', 'chat and mesage == "x"')
  await shows('#filter-message', /no packet has a field `mesage`.*did you mean `message`/s)
  const caret = await page.locator('#filter-message .caret').textContent()
  assert.strictEqual(caret, ' '.repeat(9) + '^'.repeat(6))
  const [line, input] = await Promise.all(['#filter-message .caret', '#filter'].map(it => page.locator(it).boundingBox()))
  assert(Math.abs(line.x - input.x - 9) < 2, `the caret begins where the text does: ${line.x} ${input.x}`)
  await picture('filter')
  await page.keyboard.press('Enter')
  await new Promise(resolve => setTimeout(resolve, 300))
  assert.strictEqual(Number(await text('#list', 'aria-rowcount')) - 1, chats, 'the list stays')
  // Completion.
  await page.fill('#filter', '')
  await page.locator('#filter').pressSequentially('chat and mess')
  await shows('#completions', /message/)
  await page.keyboard.press('Tab')
  assert.strictEqual(await page.inputValue('#filter'), 'chat and message')
  await page.keyboard.type(' contains "Grüße"')
  await page.keyboard.press('Escape')
  await page.focus('#filter')
  await page.keyboard.press('Enter')
  await shows('#state', /^2 of /)
  // History.
  await apply('')
  await page.focus('#filter')
  await page.keyboard.press('ArrowUp')
  assert.match(await page.inputValue('#filter'), /Grüße/)
  await apply('')
  // Hide, and show only, packets of the selected type.
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /set_protocol/)
  await page.keyboard.press('h')
  await until(async () => await page.inputValue('#filter') === 'not pkt.name == "set_protocol"', 'the type is hidden')
  await until(async () => (await rows()).length > 3 && (await rows()).every(it => !/set_protocol/.test(it.text)), 'no such packet')
  await apply('')
}

async function search () {
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /set_protocol/)
  await page.keyboard.press('s')
  await page.keyboard.type('HELLO FROM A REAL')
  await shows('#search-count', /^2 matches$/)
  await page.keyboard.press('Enter')
  await until(async () => /chat.*hello from a real client/.test((await chosen())?.text ?? ''), 'the first match')
  const first = (await chosen()).index
  await page.click('#search-next')
  await until(async () => (await chosen())?.index > first, 'the next match')
  await page.click('#search-back')
  await until(async () => (await chosen())?.index === first, 'the previous match')
  await page.fill('#search', '4d:43:7c') // MC|
  await shows('#search-count', /^\d+ matches$/)
  await page.fill('#search', '')
  await shows('#search-count', /^$/)
}

async function columns () {
  await page.click('#columns')
  await page.getByRole('checkbox', { name: 'Wire' }).check()
  await until(async () => await page.locator('#list .c-wire').count() > 3, 'the column is shown')
  await page.getByRole('checkbox', { name: 'Wire' }).uncheck()
  await page.click('#columns')
  assert.strictEqual(await page.locator('#list .c-wire').count(), 0)
}

async function conversation () {
  await page.keyboard.press('Escape')
  await page.focus('#list')
  await page.keyboard.press('2')
  await shows('#conversation', /Tester: Grüße, 你好, мир/)
  await shows('#conversation', /<Tester> hello from a real client/)
  await picture('conversation')
  await accessible('conversation')
  await page.locator('#conversation button').first().click()
  await until(async () => /chat/.test((await chosen())?.text ?? ''), 'the packet of the line is selected')
}

async function statistics () {
  await page.click('#tab-statistics')
  await shows('#panel-statistics', /Packets.*map_chunk.*Plugin channels.*test\|big.*Round trips.*keep-alive/s)
  await page.locator('#panel-statistics caption:text-is("Packets") + thead >> text="packets"').click()
  const counts = await page.locator('#panel-statistics table').first().locator('tbody tr td:nth-child(2)').allTextContents()
  const numbers = counts.map(it => Number(it.replace(/,/g, '')))
  assert.deepStrictEqual(numbers, [...numbers].sort((one, other) => other - one), 'sorted by packets')
  await picture('statistics')
  await accessible('statistics')
  await page.locator('#panel-statistics >> text="← update_health"').click()
  await until(async () => (await rows()).length === 1 && /update_health/.test((await rows())[0].text), 'its packets')
  await apply('')
}

async function timeline () {
  const all = await text('#list', 'aria-rowcount')
  await page.click('#tab-timeline')
  await shows('#panel-timeline', /Highest: .* per second/)
  const box = await page.locator('#chart').boundingBox()
  await page.mouse.move(box.x + 1, box.y + 50)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 4, box.y + 50, { steps: 4 })
  await page.mouse.up()
  await page.click('text="Show only this span"')
  await shows('#state', /^[\d,]+ of [\d,]+ packets/)
  await picture('timeline')
  await accessible('timeline')
  await page.click('text="Show all"')
  await until(async () => await text('#list', 'aria-rowcount') === all, 'all packets again')
  await page.click('#tab-packets')
}

async function compare () {
  await apply('position and serverbound')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await until(async () => (await chosen())?.index === 0, 'the first')
  await page.keyboard.press('m')
  await until(async () => await page.locator('#list .marked').count() === 1, 'it is marked')
  await page.keyboard.press('j')
  await until(async () => (await chosen())?.index === 1, 'the second')
  await page.keyboard.press('x')
  await shows('#dialog', /Comparison.*x.*onGround/s)
  const differs = await page.locator('#dialog tr.differs th').allTextContents()
  assert.deepStrictEqual(differs, ['x'])
  await page.keyboard.press('Escape')
  await apply('')
}

async function sessions () {
  const all = await text('#list', 'aria-rowcount')
  await apply('pkt.n == 1')
  await page.locator('#session-list li').nth(1).click()
  await until(async () => await text('#list', 'aria-rowcount') === '2', 'packets of one session')
  await page.locator('#session-list li').first().click()
  await apply('')
  await until(async () => await text('#list', 'aria-rowcount') === all, 'packets of all')
}

async function help () {
  await page.focus('#list')
  await page.keyboard.press('?')
  await shows('#dialog', /Keys.*next packet.*filter/s)
  await accessible('help')
  await page.keyboard.press('Escape')
  for (const [key, panel] of [['4', '#panel-statistics'], ['1', '#panel-packets']]) {
    await page.keyboard.press(key)
    await page.locator(panel).waitFor({ state: 'visible' })
  }
  await page.keyboard.press('Home')
  await selected(0, /set_protocol/)
  await accessible('packets, light')
  await picture('packets')
  await page.click('#theme')
  await accessible('packets, dark')
  await picture('packets-dark')
  await page.focus('#list')
  await page.keyboard.press('2')
  await shows('#conversation', /Tester/)
  await accessible('conversation, dark')
  await page.keyboard.press('1')
}

// A second session, whose packets are held, dropped, edited, forwarded and sent again.
async function control () {
  await page.focus('#list')
  await page.keyboard.press('5')
  await page.fill('#break', 'serverbound and hm')
  await page.keyboard.press('Enter')
  await shows('#control-message', /hm/)
  await page.fill('#break', 'serverbound and (held_item_slot or look or client_command)')
  await page.keyboard.press('Enter')
  await shows('#break-state', /client_command.* are held/)
  await shows('#control-message', /^$/)
  emit('armed', {})
  await shows('#held', /look.*yaw=90/)
  await accessible('control')
  await picture('control')
  await page.getByRole('button', { name: 'Drop look' }).click()
  await shows('#held', /held_item_slot.*slotId=3/)
  await page.getByRole('button', { name: 'Edit held_item_slot' }).click()
  await until(async () => /"slotId": 3/.test(await page.inputValue('#edit-fields')), 'its fields are there')
  await page.fill('#edit-fields', '{"slotId": "five"}')
  await page.click('text="Send edited"')
  await shows('#control-message', /slotId/)
  await page.fill('#edit-fields', '{"slotId": 5}')
  await page.click('text="Send edited"')
  await shows('#held', /client_command/)
  await page.fill('#send-packet', 'held_item_slot')
  await page.fill('#send-fields', '{"slotId": 7}')
  await page.selectOption('#send-to', 'server')
  await page.fill('#send-times', '2')
  await page.click('text="Send"')
  await page.click('text="Hold no more"')
  await page.click('text="Forward all"')
  await shows('#held', /^$/)
  await shows('#break-state', /^Nothing is held\.$/)
  await shows('#session-list', /#2 Tester.*closed/s)
  await page.click('#tab-packets')
  await apply('held_item_slot and serverbound and session.id == 2')
  const verdicts = (await rows()).map(it => `${/ (rewrite|send) /.exec(it.text)?.[1]} ${/slotId=\d/.exec(it.text)?.[0]}`)
  assert.deepStrictEqual(verdicts.sort(), ['rewrite slotId=3', 'send slotId=5', 'send slotId=7', 'send slotId=7'])
  await apply('')
}

// The list itself, with more rows than an element can be high.
async function many () {
  const { last, wheel, most } = await page.evaluate(async () => {
    const { VirtualList } = await import('/dom.js')
    const element = document.createElement('div')
    element.style.cssText = ''
    element.style.height = '440px'
    element.style.position = 'fixed'
    element.style.inset = '0'
    document.body.append(element)
    const list = new VirtualList(element, (index, line) => { line.textContent = `row ${index}` })
    list.setCount(10_000_000)
    const frame = () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    await frame()
    element.scrollTop = element.scrollHeight
    await frame()
    const last = Math.max(...list.lines.keys())
    const before = list.top
    element.dispatchEvent(new WheelEvent('wheel', { deltaY: -220, cancelable: true }))
    const wheel = before - list.top
    let most = 0
    for (let step = 0; step < 100; step++) {
      list.moveTo(step * 99_991)
      list.draw()
      most = Math.max(most, element.querySelectorAll('*').length)
    }
    element.remove()
    return { last, wheel, most }
  })
  assert.strictEqual(last, 9_999_999)
  assert(Math.abs(wheel - 10) < 0.01, `the wheel moves by ${wheel} lines`)
  assert(most < 100, `${most} elements for 20 visible lines`)
}

async function narrow () {
  await page.setViewportSize({ width: 390, height: 844 })
  await until(async () => await page.evaluate(() => document.documentElement.scrollWidth) <= 390, 'nothing is wider than the screen')
  for (const part of ['#filter', '#search', '#session-list', '#list', '#tree', '#hex']) {
    const box = await page.locator(part).boundingBox()
    assert(box.width > 100 && box.height > 20, `${part}: ${JSON.stringify(box)}`)
  }
  await accessible('narrow')
  await picture('narrow')
  await page.setViewportSize({ width: 1280, height: 800 })
}

// Without the token, the page shows nothing.
async function strangers (context) {
  const stranger = await context.browser().newPage()
  await stranger.goto(opt.url.replace(/#.*/, '#' + '0'.repeat(32)))
  await stranger.locator('#state:has-text("open the URL that it has printed")').waitFor()
  assert.strictEqual(await stranger.locator('#session-list li').count(), 0)
  await stranger.close()
}

async function apply (filter) {
  await page.click('#tab-packets')
  await page.fill('#filter', filter)
  await page.keyboard.press('Escape')
  await page.focus('#filter')
  await page.keyboard.press('Enter')
  await until(() => applied(filter), `\`${filter}\` is applied`)
}

// Whether the list is that of the filter, and its visible rows are there.
async function applied (filter) {
  if (await text('#list', 'data-filter') !== filter) return false
  const [progress, all] = await Promise.all([page.locator('#progress').isHidden(), lines()])
  const count = Number(await text('#list', 'aria-rowcount')) - 1
  return progress && (count === 0 || all.length > 0) && all.every(loaded)
}

// The visible rows, once all of them have come from the proxy.
async function rows () {
  let all
  await until(async () => { all = await lines(); return all.every(loaded) }, 'the rows are loaded')
  return all
}

function loaded (line) {
  return line.text !== '…'
}

function lines () {
  return page.locator('#list .line:not(.head)').evaluateAll(all => all
    .map(it => ({ index: Number(it.id.slice(4)), text: it.innerText.replace(/\s+/g, ' '), selected: it.classList.contains('selected'), top: it.getBoundingClientRect().top, bottom: it.getBoundingClientRect().bottom }))
    .sort((one, other) => one.index - other.index))
}

async function chosen () {
  return (await rows()).find(it => it.selected)
}

async function selected (index, text) {
  await until(async () => {
    const row = await chosen()
    return row?.index === index && text.test(row.text)
  }, `row ${index} is selected: ${text}`)
}

async function shows (where, what) {
  await until(async () => what.test((await page.locator(where).first().textContent()) ?? ''), `${where} shows ${what}`)
}

function text (where, attribute) {
  const element = page.locator(where).first()
  return attribute ? element.getAttribute(attribute) : element.textContent()
}

async function until (condition, what) {
  const begun = Date.now()
  while (!await condition()) {
    if (Date.now() - begun > 15_000) {
      await picture('failed')
      const seen = { state: await text('#state'), rows: (await lines()).slice(0, 5).map(it => it.text), message: await text('#filter-message') }
      throw new Error(`not so after 15 s: ${what}; ${JSON.stringify(seen)}`)
    }
    await new Promise(resolve => setTimeout(resolve, 30))
  }
}

async function accessible (where) {
  const { violations } = await page.evaluate(`(async () => { ${axe}; return axe.run() })()`)
  const faults = violations.map(it => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')}`)
  assert.deepStrictEqual(faults, [], where)
}

async function picture (name) {
  if (opt.folder) await page.screenshot({ path: path.join(opt.folder, `${name}.png`) })
}
