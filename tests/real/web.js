'use strict'
// A person with a browser: opens the page of `--web` in Chromium, waits until a session was played,
// and uses everything on the page. Exits 0 if all of it works.

const assert = require('assert')
const fs = require('fs')
const path = require('path')
const readline = require('readline')
const { chromium } = require('playwright-core')
const { args, emit, die } = require('./common')

const opt = args({ url: '', chromium: '', folder: '', rules: '', more: '', recording: 0 }, 150)
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
  // A file that the page has made itself comes from no host.
  page.on('request', request => { if (!request.url().startsWith('blob:')) hosts.add(new URL(request.url()).host) })
  // A connection can be ended from here.
  await context.addInitScript(() => {
    window.sockets = []
    window.WebSocket = class extends WebSocket {
      constructor (...all) { super(...all); window.sockets.push(this) }
    }
  })
  await page.goto(opt.url)
  if (opt.recording) {
    await recording()
    await browser.close()
    process.exit(0)
  }
  await shows('#state', /^0 packets, live$/)
  emit('ready', {})
  await orders.next()

  for (const [name, part] of Object.entries({ live, list, details, filter, search, columns, conversation, statistics, timeline, kept, marks, exported, compare, hidden, sessions, help, reconnected, control, rules, overtaken, kicked, many, narrow, strangers })) {
    await part(context).catch(error => { throw new Error(`${name}: ${error.stack}`) })
  }
  assert.deepStrictEqual([...hosts], [new URL(opt.url).host])
  await browser.close()
  process.exit(0)
}

// A recording of tcpdump with an encrypted session, whose keys are known.
async function recording () {
  await shows('#state', /^[\d,]+ packets, complete$/)
  await shows('#session-list', /1\.8, closed/)
  assert(await page.locator('#tab-control').isHidden(), 'there is nothing to control')
  assert(await page.locator('#tab-rules').isHidden(), 'there are no rules')
  await apply('chat and serverbound')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /message="hello from a real client"/)
  await shows('#facts', /client encrypted, compressed from 64 B/)
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
  await until(applied, 'the list is there')
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
  await page.click('#time-mode')
  assert.strictEqual(await text('#time-mode'), 'Time: absolute')
  // Other ways to move.
  await page.keyboard.press('g')
  await selected(0, /set_protocol/)
  await page.focus('#list')
  await page.keyboard.press('End')
  await selected(last, /kick_disconnect/)
  await page.keyboard.press('ArrowUp')
  await selected(last - 1, /./)
  await page.keyboard.press('PageUp')
  await until(async () => (await chosen())?.index < last - 10, 'a screen up')
  const line = (await rows()).find(it => !it.selected)
  await page.click(`#row-${line.index}`)
  await selected(line.index, /./)
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'false')
  await page.click('#follow')
  await until(async () => await text('#follow', 'aria-pressed') === 'true', 'the button follows')
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
  await page.locator('#tree .line', { hasText: 'data' }).first().click()
  await shows('#tree .selected', /data/)
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
  await until(applied, 'the filter is refused')
  assert.strictEqual(Number(await text('#list', 'aria-rowcount')) - 1, chats, 'the list stays')
  // Completion.
  await page.fill('#filter', '')
  await page.locator('#filter').pressSequentially('chat and mess')
  await shows('#completions', /message/)
  await page.keyboard.press('Tab')
  assert.strictEqual(await page.inputValue('#filter'), 'chat and message')
  // By the mouse.
  await page.fill('#filter', '')
  await page.locator('#filter').pressSequentially('chat and mess')
  await page.locator('#completions [data-index="0"]').click()
  assert.strictEqual(await page.inputValue('#filter'), 'chat and message')
  await page.locator('#filter').pressSequentially(' and mess')
  await shows('#completions', /message/)
  await page.focus('#list')
  await until(async () => await page.locator('#completions').isHidden(), 'nothing is offered elsewhere')
  await page.keyboard.press('/')
  await page.fill('#filter', 'chat and message')
  await page.focus('#list')
  await page.keyboard.press('/')
  await page.keyboard.press('End')
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
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /set_protocol/)
  await page.keyboard.press('o')
  await until(async () => await page.inputValue('#filter') === 'pkt.name == "set_protocol"', 'only the type')
  await until(async () => (await rows()).length > 0 && (await rows()).every(it => /set_protocol/.test(it.text)), 'only such packets')
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
  await page.focus('#list')
  await page.keyboard.press('n')
  await until(async () => (await chosen())?.index > first, 'the next match, by its key')
  await page.keyboard.press('N')
  await until(async () => (await chosen())?.index === first, 'the previous match, by its key')
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
  await page.focus('#list')
  await page.keyboard.press('c')
  await page.locator('#column-menu').waitFor({ state: 'visible' })
  await page.keyboard.press('c')
  await page.locator('#column-menu').waitFor({ state: 'hidden' })
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
  await page.focus('#list')
  await page.keyboard.press('3')
  await shows('#panel-timeline', /Highest: [\d.]+ packets per second/)
  // At once, not only when the next statistics come.
  const quantity = await page.getByLabel('Quantity').evaluate(choice => {
    choice.value = 'wire'
    choice.dispatchEvent(new Event('change'))
    return document.querySelector('#panel-timeline [role=status]').textContent
  })
  assert.match(quantity, /Highest: .*B per second/)
  await shows('#panel-timeline', /Highest: .*B per second/)
  const caption = await page.locator('#panel-timeline [role=status]').textContent()
  const drawn = () => page.evaluate(() => document.querySelector('#chart').toDataURL())
  const before = await drawn()
  await page.selectOption('#chart-packet', 'chat')
  await shows('#panel-timeline', /chat: Highest: .*B per second/)
  assert.notStrictEqual(await drawn(), before, 'the packets of one name')
  await page.selectOption('#chart-packet', '')
  await until(async () => await page.locator('#panel-timeline [role=status]').textContent() === caption, 'all packets')
  // The chart is as wide as there is room.
  await page.setViewportSize({ width: 1000, height: 800 })
  await until(() => page.evaluate(() => { const it = document.querySelector('#chart'); return it.width === it.clientWidth * devicePixelRatio }), 'the chart is drawn again')
  await page.setViewportSize({ width: 1280, height: 800 })
  const box = await page.locator('#chart').boundingBox()
  await page.mouse.move(box.x + 1, box.y + 50)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 4, box.y + 50, { steps: 4 })
  await page.mouse.up()
  const to = await page.getByLabel('To second').inputValue()
  await page.mouse.move(box.x + box.width / 2, box.y + 50)
  assert.strictEqual(await page.getByLabel('To second').inputValue(), to, 'the button is up')
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
  await until(async () => /#1 /.test(await page.locator('#session-list [aria-selected="true"]').textContent()), 'the session is selected')
  await until(async () => await text('#list', 'aria-rowcount') === '2', 'packets of one session')
  await page.keyboard.press('ArrowUp')
  await page.locator('#session-list').focus().catch(() => {})
  await page.locator('#session-list li').first().click()
  await until(async () => Number(await text('#list', 'aria-rowcount')) > 1, 'packets of all sessions')
  const focused = page.locator('#session-list')
  await focused.press('ArrowDown')
  await until(async () => /#1 /.test(await page.locator('#session-list [aria-selected="true"]').textContent()), 'the next session')
  await focused.press('ArrowUp')
  await until(async () => !/#1 /.test(await page.locator('#session-list [aria-selected="true"]').textContent()), 'all sessions')
  await apply('')
  await until(async () => await text('#list', 'aria-rowcount') === all, 'packets of all')
}

async function help () {
  await page.focus('#list')
  await page.keyboard.press('?')
  await shows('#dialog', /Keys.*next packet.*filter/s)
  await accessible('help')
  await page.keyboard.press('Escape')
  await page.locator('#dialog').waitFor({ state: 'hidden' })
  await page.click('#help')
  await page.locator('#dialog').waitFor({ state: 'visible' })
  await shows('#dialog', /Keys.*next packet/s)
  await page.keyboard.press('Escape')
  await page.locator('#tab-packets').focus()
  await page.keyboard.press('ArrowRight')
  await page.locator('#panel-conversation').waitFor({ state: 'visible' })
  await page.keyboard.press('ArrowLeft')
  await page.locator('#panel-packets').waitFor({ state: 'visible' })
  await page.focus('#list')
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

async function kept () {
  await apply('chat and clientbound')
  const count = await text('#list', 'aria-rowcount')
  assert.strictEqual(await text('#save-filter', 'aria-pressed'), 'false')
  await page.click('#save-filter')
  await until(async () => await text('#save-filter', 'aria-pressed') === 'true', 'the filter is kept')
  await page.fill('#filter', 'chat')
  assert.strictEqual(await text('#save-filter', 'aria-pressed'), 'false', 'the star follows what is typed')
  await page.fill('#filter', 'chat and clientbound')
  assert.strictEqual(await text('#save-filter', 'aria-pressed'), 'true')
  await apply('')
  await page.selectOption('#saved-filters', 'chat and clientbound')
  await until(async () => await text('#list', 'aria-rowcount') === count, 'the kept filter is applied')
  assert.strictEqual(await page.inputValue('#filter'), 'chat and clientbound')
  await page.click('#save-filter')
  await until(async () => await page.locator('#saved-filters').isHidden(), 'it is not kept any more')
  await apply('')
}

// Marks and comments, which every page has, and every capture that is exported.
async function marks (context) {
  const other = await context.newPage()
  await other.goto(opt.url)
  await apply('chat and serverbound')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /hello from a real client/)
  await page.keyboard.press('m')
  await until(async () => await page.locator('#list .line.marked').count() === 1, 'it is marked')
  await page.keyboard.press('i')
  await page.fill('#comment', 'the <b>first</b> words')
  await page.keyboard.press('Enter')
  await shows('#facts', /Comment the <b>first<\/b> words; #marked/)
  await page.keyboard.press('i')
  await page.fill('#comment', 'the <i>first</i> words')
  await page.click('text="Keep"')
  await shows('#facts', /Comment the <i>first<\/i> words; #marked/)
  await page.keyboard.press('i')
  await page.fill('#comment', 'the <b>first</b> words')
  await page.keyboard.press('Enter')
  await shows('#facts', /Comment the <b>first<\/b> words; #marked/)
  await page.keyboard.press('w')
  await shows('#state', /marks and comments are kept in the capture of the run when that ends/)
  await other.fill('#filter', 'chat and serverbound')
  await other.keyboard.press('Enter')
  await other.locator('#list .line.marked').waitFor()
  await other.close()
}

async function exported () {
  await page.focus('#list')
  await page.click('#export')
  await shows('#dialog', /Export/)
  await page.keyboard.press('Escape')
  await page.focus('#list')
  await page.keyboard.press('e')
  await accessible('export')
  const file = await download('jsonl', 'marked')
  const lines = file.toString().trim().split('\n').map(it => JSON.parse(it))
  const packets = lines.filter(it => it.packet)
  assert.deepStrictEqual(packets.map(it => [it.fields.message, it.comment]), [['hello from a real client', 'the <b>first</b> words; #marked']])
  const capture = await download('pcapng', 'list')
  assert.strictEqual(capture.readUInt32LE(0), 0x0a0d0d0a)
  assert(capture.includes('hello from a real client'))
  const shown = async (format, what) => {
    await page.selectOption('#export-from', 'selected')
    await page.selectOption('#export-format', format)
    await page.click('#export-run')
    await until(async () => what.test(await page.inputValue('#export-text')), `${format}: ${what}`)
  }
  await shown('rule', /^\[\[rule\]\]\nname = .*\nwhen = 'serverbound and chat and message == "hello from a real client"'/)
  await shown('command', /^mitmcraft show \S+noted\.pcapng -Y '\(session\.id == 1 and pkt\.n == \d+\)'\n$/)
  await shown('hex', /^# .* serverbound chat, 26 bytes\n000000 {2}01 18 68 65 6c 6c 6f/)
  await shown('json', /"fields":\{"message":"hello from a real client"\}/)
  await picture('export')
  await page.keyboard.press('Escape')
  await apply('')
}

async function download (format, from) {
  await page.selectOption('#export-from', from)
  await page.selectOption('#export-format', format)
  const [saved] = await Promise.all([page.waitForEvent('download'), page.click('#export-run')])
  assert.strictEqual(saved.suggestedFilename(), `packets.${format}`)
  return fs.readFileSync(await saved.path())
}

// The connection is lost, and comes again: everything on the page is still right.
async function reconnected () {
  await apply('chat')
  const count = Number(await text('#list', 'aria-rowcount'))
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /./)
  await page.keyboard.press('H')
  await until(async () => await text('#list', 'aria-rowcount') === String(count - 1), 'one less')
  await page.keyboard.press('j')
  await selected(1, /./)
  await page.fill('#search', 'hello')
  await shows('#search-count', /^\d+ match(es)?$/)
  const [found, shown, packet] = [await text('#search-count'), (await rows()).map(it => it.text), await text('#facts')]
  await lose()
  await page.focus('#list')
  await page.keyboard.press('j')
  await page.keyboard.press('o')
  await shows('#state', /live, 1 hidden/)
  await page.keyboard.press('Escape')
  await until(applied, 'the list is asked for again')
  assert.match(await page.inputValue('#filter'), /^pkt\.name == "chat"$/, 'what was asked meanwhile')
  await apply('chat')
  await until(async () => await text('#list', 'aria-rowcount') === String(count - 1), 'it is still hidden')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /./)
  await page.keyboard.press('j')
  await selected(1, /./)
  await until(async () => await text('#facts') === packet, 'its details')
  await lose()
  await shows('#state', /live, 1 hidden/)
  await until(applied, 'the list is asked for again')
  assert.deepStrictEqual((await rows()).map(it => it.text), shown)
  await selected(1, /./)
  await shows('#search-count', new RegExp(`^${found}$`))
  await page.keyboard.press('n')
  await until(async () => (await chosen())?.index > 1, 'the search goes on')
  await page.fill('#search', '')
  await page.click('#tab-conversation')
  await shows('#conversation', /<Tester> hello from a real client/)
  await lose()
  await page.evaluate(() => document.querySelector('#conversation').replaceChildren())
  await shows('#conversation', /<Tester> hello from a real client/)
  await page.click('#tab-statistics')
  await shows('#panel-statistics', /Packets.*← chat/s)
  await lose()
  await page.evaluate(() => document.querySelector('#panel-statistics').replaceChildren())
  await shows('#panel-statistics', /Packets.*← chat/s)
  await page.click('#tab-packets')
  await page.focus('#list')
  await page.keyboard.press('U')
  await until(async () => await text('#list', 'aria-rowcount') === String(count), 'all again')
  await apply('')
}

// Ends the connection, and waits until the page says so.
async function lose () {
  await page.evaluate(() => window.sockets.at(-1).close())
  await shows('#state', /^disconnected/)
}

// A second session, whose packets are held, dropped, edited, forwarded and sent again.
async function control () {
  await page.focus('#list')
  await page.keyboard.press('6')
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
  await page.getByRole('button', { name: 'Edit look' }).click()
  await page.locator('[id="edit/yaw"]').waitFor()
  await page.click('text="Cancel"')
  await page.locator('[id="edit/yaw"]').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Drop look' }).click()
  await shows('#held', /held_item_slot.*slotId=3/)
  await page.getByRole('button', { name: 'Edit held_item_slot' }).click()
  // The form knows what a field can hold, and says at the field what is wrong.
  const slot = page.locator('[id="edit/slotId"]')
  const row = page.locator('.field-row', { has: slot })
  await until(async () => await slot.count() && await slot.inputValue() === '3', 'its fields are there')
  assert.match(await row.textContent(), /-32768 to 32767/)
  await slot.fill('five')
  await slot.press('Enter')
  await until(async () => /expected an integer, found text/.test(await row.textContent()), 'the error is at the field')
  await accessible('form')
  await picture('form')
  await page.click('text="Send edited"')
  await until(async () => await page.locator('[id="edit/slotId"][aria-invalid="true"]').count() === 1, 'it is not sent')
  await page.getByRole('button', { name: 'Undo' }).first().click()
  await until(async () => await slot.inputValue() === '3', 'undone')
  await slot.fill('5')
  await slot.press('Enter')
  await until(async () => !/expected/.test(await row.textContent()) && await slot.inputValue() === '5', 'it is right')
  await page.click('text="Send edited"')
  await shows('#held', /client_command/)
  // What is offered is of the session that is chosen.
  await page.evaluate(() => document.querySelector('#send-packets').replaceChildren())
  await page.locator('#control-session').dispatchEvent('change')
  await until(async () => await page.locator('#send-packets option').count() > 5, 'packets of the session are offered')
  // A new packet, whose fields begin with the simplest values.
  await page.selectOption('#send-to', 'server')
  await until(async () => await page.locator('#send-packets option[value="held_item_slot"]').count() === 1, 'packets of the state are offered')
  await page.fill('#send-packet', 'held_item_slot')
  await page.keyboard.press('Tab')
  const sent = page.locator('[id="send/slotId"]')
  await until(async () => await sent.count() && await sent.inputValue() === '0', 'the form is there')
  await sent.fill('7')
  await sent.press('Enter')
  await until(async () => /^09 ?0007$|"slotId": 7/.test(await page.evaluate(() => document.querySelector('#send-text')?.textContent ?? '')) || await sent.inputValue() === '7', 'changed')
  await page.fill('#send-times', '2')
  await page.fill('#send-interval', '10ms')
  await page.click('text="Send"')
  await page.click('text="Hold no more"')
  await page.getByRole('button', { name: 'Forward client_command' }).click()
  await shows('#held', /^$/)
  await shows('#break-state', /^Nothing is held\.$/)
  await shows('#session-list', /#2 Tester.*closed/s)
  await page.click('#tab-packets')
  await apply('held_item_slot and serverbound and session.id == 2')
  const verdicts = (await rows()).map(it => `${/ (rewrite|send) /.exec(it.text)?.[1]} ${/slotId=\d/.exec(it.text)?.[0]}`)
  assert.deepStrictEqual(verdicts.sort(), ['rewrite slotId=3', 'send slotId=5', 'send slotId=7', 'send slotId=7'])
  await apply('')
}

// The filter file: what its rules did, errors in their places, a rule from a packet, and no file lost.
async function rules () {
  await page.click('#tab-packets')
  await page.focus('#list')
  await page.keyboard.press('5')
  await shows('#rule-counts', /slots\s*[1-9]/)
  const first = await page.inputValue('#rule-text')
  assert.strictEqual(first, fs.readFileSync(opt.rules, 'utf8'))
  await page.fill('#rule-text', first.replace('held_item_slot', 'held_item_slt'))
  await shows('#rule-faults', /line 3.*error.*held_item_slt.*did you mean `held_item_slot`/s)
  assert.strictEqual(await page.locator('#rule-marks mark').textContent(), 'held_item_slt')
  const [text, mark] = await Promise.all(['#rule-text', '#rule-marks mark'].map(it => page.locator(it).boundingBox()))
  assert(mark.y > text.y + 40 && mark.y < text.y + 70, `the mark is in the third line: ${mark.y - text.y}`)
  await accessible('rules')
  // A picture says nothing of this machine.
  await page.evaluate(() => { document.querySelector('#rule-file option').textContent = 'rules.toml' })
  await picture('rules')
  await page.click('text="line 3"')
  assert.strictEqual(await page.evaluate(() => { const it = document.querySelector('#rule-text'); return it.value.slice(it.selectionStart, it.selectionEnd) }), 'held_item_slt', 'the error is selected')
  await page.click('text="Save and apply"')
  await shows('#rule-message', /Not saved: the rules have errors/)
  assert.strictEqual(fs.readFileSync(opt.rules, 'utf8'), first)
  // It has changed on disk meanwhile.
  const theirs = first + '# theirs\n'
  fs.writeFileSync(opt.rules, theirs)
  await page.fill('#rule-text', first + '# mine\n')
  await page.click('text="Save and apply"')
  await shows('#rule-message', /Not saved: the file has changed on disk/)
  assert.strictEqual(fs.readFileSync(opt.rules, 'utf8'), theirs)
  await page.click('text="Take the text on disk"')
  await until(async () => await page.inputValue('#rule-text') === theirs, 'their text is shown')
  // Or mine is kept, and saved over theirs.
  const mine = first + '# mine\n'
  fs.writeFileSync(opt.rules, theirs + '# more\n')
  await page.fill('#rule-text', mine)
  await page.click('text="Save and apply"')
  await shows('#rule-message', /Not saved: the file has changed on disk/)
  assert.strictEqual(fs.readFileSync(opt.rules, 'utf8'), theirs + '# more\n')
  await page.click('text="Keep mine, to save it over that"')
  await shows('#rule-message', /^Not saved\.$/)
  assert.strictEqual(await page.inputValue('#rule-text'), mine)
  assert.strictEqual(fs.readFileSync(opt.rules, 'utf8'), theirs + '# more\n', 'nothing is written yet')
  await page.click('text="Save and apply"')
  await shows('#rule-message', /^Saved\.$/)
  assert.strictEqual(fs.readFileSync(opt.rules, 'utf8'), mine)
  // What another program writes is there when it is read again.
  fs.writeFileSync(opt.rules, theirs)
  await page.click('text="Read again"')
  await until(async () => await page.inputValue('#rule-text') === theirs, 'it is read again')
  // The other file; the marks move with a long text.
  await page.selectOption('#rule-file', { index: 1 })
  await until(async () => /^# more rules/.test(await page.inputValue('#rule-text')), 'the second file')
  await page.evaluate(() => { document.querySelector('#rule-text').scrollTop = 300 })
  await until(() => page.evaluate(() => {
    const [text, marks] = [document.querySelector('#rule-text'), document.querySelector('#rule-marks')]
    return text.scrollTop > 100 && text.scrollTop === marks.scrollTop
  }), 'the marks are where the text is')
  await page.selectOption('#rule-file', { index: 0 })
  await until(async () => await page.inputValue('#rule-text') === theirs, 'the first file')
  // A rule from a packet.
  await apply('held_item_slot and serverbound and pkt.origin == "client"')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /slotId=3/)
  await page.keyboard.press('R')
  await until(async () => /when = 'serverbound and held_item_slot and slotId == 3'\ntag/.test(await page.inputValue('#rule-text')), 'the rule of the packet')
  await page.fill('#rule-text', (await page.inputValue('#rule-text')).replace(/tag {2}= "seen"/, 'set = { slotId = 6 }'))
  await page.focus('#rule-text')
  await page.keyboard.press('Control+s')
  await shows('#rule-message', /^Saved\.$/)
  assert.match(fs.readFileSync(opt.rules, 'utf8'), /# theirs\n\n\[\[rule\]\]\nname = "held_item_slot from a packet"/)
  await shows('#rule-counts', /held_item_slot from a packet\s*0/) // it was reloaded
}

// A third session: one packet is held while the others pass, and the new rule acts.
async function overtaken () {
  await page.click('#tab-control')
  await page.fill('#break', 'serverbound and (look or chat and message == "bye")')
  await page.check('#overtaken')
  await page.keyboard.press('Escape')
  await page.click('text="Hold"')
  await shows('#break-state', /look or chat .* are held/)
  emit('changed', {})
  // Everything between the two has passed.
  await shows('#held', /look.*yaw=90.*chat.*message="bye"/)
  await shows('#session-list', /#3 Tester.*\d+\/s, .*B\/s/s) // its rates
  await resent()
  await forms()
  await page.click('text="Hold no more"')
  await page.click('text="Forward all"')
  await shows('#held', /^$/)
  await shows('#session-list', /#3 Tester.*closed/s)
  await page.click('#tab-rules')
  await shows('#rule-counts', /held_item_slot from a packet\s*1\s*1\s*0/)
  await apply('')
}

// A packet of the list is sent again: as it was, changed in the form, and changed as bytes.
async function resent () {
  await apply('held_item_slot and serverbound and session.id == 3 and pkt.origin == "client"')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /slotId=3/)
  await shows('#facts', /Session #3/)
  await page.keyboard.press('r')
  await apply('held_item_slot and serverbound and session.id == 3 and pkt.origin == "proxy"')
  await until(async () => (await rows()).some(it => /slotId=3/.test(it.text)), 'it is sent again')
  await apply('held_item_slot and serverbound and session.id == 3 and pkt.origin == "client"')
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /slotId=3/)
  await page.keyboard.press('E')
  const slot = page.locator('[id="send/slotId"]')
  await until(async () => await slot.count() && await slot.inputValue() === '3', 'its fields are there')
  await slot.fill('8')
  await slot.press('Enter')
  await until(async () => !/"slotId": 3/.test(await slot.inputValue()) && await slot.inputValue() === '8', 'changed')
  await page.fill('#send-times', '1')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('input[name="send-mode"][value="hex"]').check()
  await until(async () => await page.inputValue('#send-text') === '09 00 08', 'its bytes')
  await page.fill('#send-text', '09 00 04')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('input[name="send-mode"][value="form"]').check()
  await apply('held_item_slot and serverbound and session.id == 3 and pkt.origin == "proxy"')
  await until(async () => /slotId=4/.test((await rows()).at(-1)?.text), 'all are sent')
}

// Names of numbers, NBT as a tree, elements of lists, chat as players see it.
async function forms () {
  await page.click('#tab-control')
  await page.selectOption('#send-to', 'client')
  await page.fill('#send-packet', 'set_slot')
  await page.keyboard.press('Tab')
  const at = pointer => page.locator(`[id="send${pointer}"]`)
  await until(async () => await at('/windowId').count() === 1, 'the form of set_slot')
  await page.locator('input[name="send-mode"][value="json"]').check()
  const item = { blockId: 276, itemCount: 1, itemDamage: 0, nbtData: { type: 'compound', name: '', value: { Unbreakable: { type: 'byte', value: 1 } } } }
  await page.fill('#send-text', JSON.stringify({ windowId: 0, slot: 36, item }))
  await page.locator('input[name="send-mode"][value="form"]').check()
  await until(async () => await at('/item/nbtData/value/Unbreakable/value').count() === 1, 'the tag has its place')
  await at('/item/nbtData/value/Unbreakable/value').fill('300')
  await page.keyboard.press('Enter')
  await shows('#send .bad, .form .field-row .bad', /300/)
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await until(async () => await at('/item/nbtData/value/Unbreakable/value').inputValue() === '1', 'undone')
  // An item by its name.
  await at('/item/blockId').fill('diamond_axe')
  await page.keyboard.press('Enter')
  await until(async () => await at('/item/blockId').inputValue() === '279', 'the number of the name')
  // Yes or no.
  await page.fill('#send-packet', 'entity_teleport')
  await page.keyboard.press('Tab')
  await until(async () => await at('/onGround').count() === 1, 'the form of entity_teleport')
  await at('/onGround').check()
  await page.locator('input[name="send-mode"][value="json"]').check()
  await until(async () => /"onGround": ?true/.test(await page.inputValue('#send-text')), 'it is set')
  await page.locator('input[name="send-mode"][value="form"]').check()
  // One of few names.
  await page.fill('#send-packet', 'respawn')
  await page.keyboard.press('Tab')
  const difficulty = page.getByLabel('Name of difficulty')
  await until(async () => await difficulty.count() === 1, 'the names of difficulties')
  await difficulty.selectOption({ label: 'normal' })
  await until(async () => await at('/difficulty').inputValue() === '2', 'the number of the name')
  await page.fill('#send-packet', 'chat')
  await page.keyboard.press('Tab')
  await until(async () => await at('/message').count() === 1, 'the form of chat')
  await at('/message').fill('{"text":"Hi","color":"red"}')
  await page.keyboard.press('Enter')
  await until(async () => await page.locator('.preview .mc-c').textContent().catch(() => '') === 'Hi', 'the message as it is seen')
  await picture('preview')
  await accessible('forms')
  await page.fill('#send-packet', 'window_items')
  await page.keyboard.press('Tab')
  await page.getByRole('button', { name: 'Add an element to items' }).click()
  await until(async () => await at('/items/0/blockId').count() === 1, 'an element')
  await page.getByRole('button', { name: 'Remove items[0]' }).click()
  await until(async () => await at('/items/0/blockId').count() === 0, 'no element')
}

// A fourth session: the player is kicked while a packet is held, which does not arrive.
async function kicked () {
  await page.click('#tab-control')
  await page.uncheck('#overtaken')
  await page.fill('#break', 'serverbound and chat and message == "bye"')
  await page.click('text="Hold"')
  await shows('#break-state', /bye.* are held/)
  emit('holding', {})
  await shows('#held', /#4 .*message="bye"/)
  await page.fill('#kick-text', 'out of <here>')
  await page.click('text="Kick"')
  await shows('#held', /^$/)
  await shows('#session-list', /#4 Tester.*closed/s)
  await page.click('text="Hold no more"')
  await apply('')
}

// Single packets are hidden, and shown again.
async function hidden () {
  await apply('chat')
  const all = (await rows()).map(it => it.text)
  await page.focus('#list')
  await page.keyboard.press('Home')
  await selected(0, /./)
  await page.keyboard.press('j')
  await until(async () => (await chosen())?.index === 1, 'the second')
  await page.keyboard.press('H')
  await shows('#state', /1 hidden/)
  await until(async () => (await rows()).length === all.length - 1, 'one less')
  const left = (await rows()).map(it => it.text)
  assert.deepStrictEqual(left, all.filter((it, index) => index !== 1))
  await until(async () => (await chosen())?.index === 1, 'the next is selected')
  await page.keyboard.press('U')
  await until(async () => (await rows()).length === all.length, 'all again')
  assert.deepStrictEqual((await rows()).map(it => it.text), all)
  await apply('')
}

// The list itself, with more rows than an element can be high.
async function many () {
  const { last, wheel, most, taller } = await page.evaluate(async () => {
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
    await frame()
    const shorter = list.lines.size
    element.style.height = '880px'
    await frame()
    const taller = list.lines.size - shorter
    element.remove()
    return { last, wheel, most, taller }
  })
  assert.strictEqual(last, 9_999_999)
  assert(Math.abs(wheel - 10) < 0.01, `the wheel moves by ${wheel} lines`)
  assert(most < 100, `${most} elements for 20 visible lines`)
  assert.strictEqual(taller, 20, 'a list that becomes higher shows more lines')
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
  for (const theme of ['dark', 'light']) {
    for (const tab of ['timeline', 'statistics', 'rules', 'control']) {
      await page.click(`#tab-${tab}`)
      await page.locator(`#panel-${tab}`).waitFor({ state: 'visible' })
      assert(await page.evaluate(() => document.documentElement.scrollWidth) <= 390, `${tab} is wider than the screen`)
      await accessible(`${tab}, ${theme}, narrow`)
    }
    await page.click('#theme')
  }
  await page.click('#tab-packets')
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
  await until(applied, `\`${filter}\` is applied`)
}

// Whether the list is that of the last filter, and its visible rows are there.
async function applied () {
  if (await text('#list', 'aria-busy') !== 'false') return false
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
