'use strict'
// The list of packets and what is done with it, after a session was played.

const assert = require('assert')

module.exports = { live, list, details, filter, search, columns, kept, compare, hidden, sessions, many }

// The session that was played while the page was open.
async function live ({ page, applied, rows, shows, text, until }) {
  assert.strictEqual(await page.evaluate(() => location.hash), '', 'the token has left the address')
  await shows('#session-list', /#\d+ Tester.*1\.8\.9.*closed/s)
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

async function list ({ page, rows, chosen, selected, text, until, click, press }) {
  await page.focus('#list')
  await press('Home')
  await selected(0, /set_protocol.*rewrite.*⟶.*serverPort/) // with what was sent in its place
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'false', 'selecting a packet pauses')
  await press('j')
  await press('ArrowDown')
  await until(async () => (await chosen())?.index === 2, 'two rows down')
  await press('k')
  await selected(1, /login_start.*username="Tester"/)
  await press('PageDown')
  await until(async () => (await rows()).find(it => it.selected)?.index > 10, 'a screen down')
  await press('G')
  const last = Number(await text('#list', 'aria-rowcount')) - 2
  await selected(last, /kick_disconnect/)
  await page.mouse.move(600, 200)
  await page.mouse.wheel(0, -2200)
  await until(async () => (await rows())[0].index < last - 100, 'the wheel scrolls by lines')
  await press('f')
  await until(async () => (await rows()).at(-1).index === last, 'follow returns to the newest')
  assert.strictEqual(await text('#time-mode'), 'Time: absolute')
  await press('t')
  await until(async () => /^\d\.\d{6}/.test((await rows()).at(-1).text), 'times since the session began')
  await press('t')
  assert.strictEqual(await text('#time-mode'), 'Time: delta')
  await click('#time-mode')
  assert.strictEqual(await text('#time-mode'), 'Time: absolute')
  // Other ways to move.
  await press('g')
  await selected(0, /set_protocol/)
  await page.focus('#list')
  await press('End')
  await selected(last, /kick_disconnect/)
  await press('ArrowUp')
  await selected(last - 1, /./)
  await press('PageUp')
  await until(async () => (await chosen())?.index < last - 10, 'a screen up')
  const line = (await rows()).find(it => !it.selected)
  await click(`#row-${line.index}`)
  await selected(line.index, /./)
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'false')
  await click('#follow')
  await until(async () => await text('#follow', 'aria-pressed') === 'true', 'the button follows')
}

async function details ({ page, apply, shows, until, picture, click, press }) {
  await press('Escape')
  await apply('spawn_position')
  await page.focus('#list')
  await press('Home')
  await shows('#facts', /spawn_position 0x05.*9 B.*on the wire.*compressed from 64 B/s)
  await shows('#tree', /location/)
  await press('Enter')
  await press('ArrowDown')
  await until(async () => await page.locator('#hex i.leaf').count() > 0, 'the bytes of the field are marked')
  const marked = await page.locator('#hex i.leaf').evaluateAll(all => all.map(it => Number(it.dataset.at)))
  assert.strictEqual(Math.min(...marked), 1)
  await apply('custom_payload and clientbound')
  await page.focus('#list')
  await press('Home')
  await shows('#tree', /channel.*data/s)
  await click('#hex i[data-at="3"]')
  await shows('#tree .selected', /channel/)
  await click(page.locator('#tree .line', { hasText: 'data' }).first())
  await shows('#tree .selected', /data/)
  await picture('details')
  // Fields are found by what they have, and marked there.
  await page.fill('#field-search', 'CHAN')
  await shows('#field-count', /^1 of \d+$/)
  await shows('#tree .selected mark', /^chan$/)
  await page.fill('#field-search', '')
  await shows('#field-count', /^$/)
  // A text as players see it is on a line, its source below it, behind a fold.
  await apply('chat and clientbound')
  await page.focus('#list')
  await press('Home')
  await shows('#tree', /message.*Welcome/)
  const count = await page.locator('#tree .line').count()
  assert.doesNotMatch(await page.locator('#tree').textContent(), /source/)
  await click(page.locator('#tree .fold').first())
  await shows('#tree', /source.*"Welcome/)
  assert.strictEqual(await page.locator('#tree .line').count(), count + 1)
  const tall = await page.locator('#tree .line').evaluateAll(all => all.filter(it => it.scrollHeight > it.clientHeight).map(it => it.textContent))
  assert.deepStrictEqual(tall, [], 'no text stands on the next line')
  await page.focus('#tree')
  await press('ArrowLeft')
  await until(async () => await page.locator('#tree .line').count() === count, 'it is closed')
  await press('ArrowRight')
  await until(async () => await page.locator('#tree .line').count() === count + 1, 'it is open')
}

async function filter ({ page, accessible, apply, applied, rows, selected, shows, text, until, picture, click, press }) {
  // What can be written is listed, and used by a press.
  await click('#filter-help')
  await shows('#dialog', /packets of a state: configuration, .*frame\.number == 12.*pkt\.n == 12/s)
  await accessible('help on filters')
  await picture('filters')
  await click(page.getByRole('button', { name: 'role.chat or role.command' }))
  await until(async () => await page.inputValue('#filter') === 'role.chat or role.command' && await applied(), 'it is applied')
  await apply('chat')
  const chats = Number(await text('#list', 'aria-rowcount')) - 1
  await shows('#state', new RegExp(`^${chats} of `))
  assert((await rows()).every(it => /chat/.test(it.text)))
  // The error stands under its character, and moves nothing.
  const places = () => Promise.all(['#list', '#tab-rules'].map(it => page.locator(it).boundingBox()))
  const before = await places()
  await page.fill('#filter', 'chat and mesage == "x"')
  await shows('#filter-message', /no packet has a field `mesage`.*did you mean `message`/s)
  const caret = await page.locator('#filter-message .caret').textContent()
  assert.strictEqual(caret, ' '.repeat(9) + '^'.repeat(6))
  const [line, input] = await Promise.all(['#filter-message .caret', '#filter'].map(it => page.locator(it).boundingBox()))
  assert(Math.abs(line.x - input.x - 9) < 2, `the caret begins where the text does: ${line.x} ${input.x}`)
  assert.deepStrictEqual(await places(), before)
  await picture('filter')
  await press('Enter')
  await until(applied, 'the filter is refused')
  assert.strictEqual(Number(await text('#list', 'aria-rowcount')) - 1, chats, 'the list stays')
  // An empty list says why it is.
  await apply('chat and message == "nobody says this"')
  await shows('#empty', /^None of [\d,]+ packets is listed: clear the filter/)
  await apply('chat')
  await until(() => page.locator('#empty').isHidden(), 'it is not empty')
  // Completion.
  await page.fill('#filter', '')
  await page.locator('#filter').pressSequentially('chat and mess')
  await shows('#completions', /message/)
  await press('Tab')
  assert.strictEqual(await page.inputValue('#filter'), 'chat and message')
  // By the mouse.
  await page.fill('#filter', '')
  await page.locator('#filter').pressSequentially('chat and mess')
  await click(page.locator('#completions [data-index="0"]'))
  assert.strictEqual(await page.inputValue('#filter'), 'chat and message')
  await page.locator('#filter').pressSequentially(' and mess')
  await shows('#completions', /message/)
  await page.focus('#list')
  await until(async () => await page.locator('#completions').isHidden(), 'nothing is offered elsewhere')
  await press('/')
  await page.fill('#filter', 'chat and message')
  await page.focus('#list')
  await press('/')
  await press('End')
  await page.keyboard.type(' contains "Grüße"')
  await press('Escape')
  await page.focus('#filter')
  await press('Enter')
  await shows('#state', /^2 of /)
  // History.
  await apply('')
  await page.focus('#filter')
  await press('ArrowUp')
  assert.match(await page.inputValue('#filter'), /Grüße/)
  await apply('')
  // Hide, and show only, packets of the selected type.
  await page.focus('#list')
  await press('Home')
  await selected(0, /set_protocol/)
  await press('h')
  await until(async () => await page.inputValue('#filter') === 'not pkt.name == "set_protocol"', 'the type is hidden')
  await until(async () => (await rows()).length > 3 && (await rows()).every(it => !/set_protocol/.test(it.text)), 'no such packet')
  await apply('')
  await page.focus('#list')
  await press('Home')
  await selected(0, /set_protocol/)
  await press('o')
  await until(async () => await page.inputValue('#filter') === 'pkt.name == "set_protocol"', 'only the type')
  await until(async () => (await rows()).length > 0 && (await rows()).every(it => /set_protocol/.test(it.text)), 'only such packets')
  await apply('')
  // The selected packet stays selected, and in view, when a filter is set and cleared.
  await apply('kick_disconnect or chat')
  await page.focus('#list')
  await press('End')
  await shows('#facts', /kick_disconnect/)
  await apply('chat')
  await shows('#facts', /kick_disconnect/)
  await apply('')
  await until(async () => /kick_disconnect/.test((await rows()).find(it => it.selected)?.text ?? ''), 'it is selected and in view')
  await page.fill('#filter', 'chat')
  assert(await page.locator('#filter-box .pending').filter({ hasText: 'not applied' }).isVisible(), 'it is only typed')
  await page.fill('#filter', '')
  assert(await page.locator('#filter-box small').isHidden())
}

async function search ({ page, chosen, selected, shows, until, click, press }) {
  await page.focus('#list')
  await press('Home')
  await selected(0, /set_protocol/)
  await press('s')
  await page.keyboard.type('HELLO FROM A REAL')
  await shows('#search-count', /^2 matches$/)
  await press('Enter')
  // What a line shows is compared, and not where it stands: the index of a row is that of an older list for a moment.
  const match = (direction, what) => until(async () => new RegExp(`${direction}.*hello from a real client`, 'i').test((await chosen())?.text ?? ''), what)
  await match('→', 'the first match')
  await until(async () => /^hello from a real$/i.test(await page.locator('#tree mark').first().textContent()), 'it is marked in the fields')
  await until(async () => await page.locator('#hex i.sought, #hex i.leaf').count() >= 2 * 17, 'and in the bytes')
  await click('#search-next')
  await match('←', 'the next match')
  await click('#search-back')
  await match('→', 'the previous match')
  await page.focus('#list')
  await press('n')
  await match('←', 'the next match, by its key')
  await press('N')
  await match('→', 'the previous match, by its key')
  await page.fill('#search', '4d:43:7c') // MC|
  await shows('#search-count', /^\d+ matches$/)
  await page.fill('#search', '')
  await shows('#search-count', /^$/)
}

async function columns ({ page, until, click, press }) {
  await click('#columns')
  await page.getByRole('checkbox', { name: 'Wire' }).check()
  await until(async () => await page.locator('#list .c-wire').count() > 3, 'the column is shown')
  await page.getByRole('checkbox', { name: 'Wire' }).uncheck()
  await click('#columns')
  assert.strictEqual(await page.locator('#list .c-wire').count(), 0)
  await page.focus('#list')
  await press('c')
  await page.locator('#column-menu').waitFor({ state: 'visible' })
  await press('c')
  await page.locator('#column-menu').waitFor({ state: 'hidden' })
}

async function kept ({ page, apply, text, until, click }) {
  await apply('chat and clientbound')
  const count = await text('#list', 'aria-rowcount')
  assert.strictEqual(await text('#save-filter', 'aria-pressed'), 'false')
  await click('#save-filter')
  await until(async () => await text('#save-filter', 'aria-pressed') === 'true', 'the filter is kept')
  await page.fill('#filter', 'chat')
  assert.strictEqual(await text('#save-filter', 'aria-pressed'), 'false', 'the star follows what is typed')
  await page.fill('#filter', 'chat and clientbound')
  assert.strictEqual(await text('#save-filter', 'aria-pressed'), 'true')
  await apply('')
  await page.selectOption('#saved-filters', 'chat and clientbound')
  await until(async () => await text('#list', 'aria-rowcount') === count, 'the kept filter is applied')
  assert.strictEqual(await page.inputValue('#filter'), 'chat and clientbound')
  await click('#save-filter')
  await until(async () => await page.locator('#saved-filters').isHidden(), 'it is not kept any more')
  await apply('')
}

async function compare ({ page, apply, chosen, shows, until, press }) {
  await apply('position and serverbound')
  await page.focus('#list')
  await press('Home')
  await until(async () => (await chosen())?.index === 0, 'the first')
  await press('m')
  await until(async () => await page.locator('#list .marked').count() === 1, 'it is marked')
  await press('j')
  await until(async () => (await chosen())?.index === 1, 'the second')
  await press('x')
  await shows('#dialog', /Comparison.*x.*onGround/s)
  const differs = await page.locator('#dialog tr.differs th').allTextContents()
  assert.deepStrictEqual(differs, ['x'])
  const heights = await page.locator('#dialog tbody th').evaluateAll(all => all.map(it => it.getClientRects().length === 1 && it.scrollHeight < 40 && getComputedStyle(it).whiteSpace === 'nowrap'))
  assert(heights.length > 2 && heights.every(it => it), 'no name is broken')
  await press('Escape')
  await apply('')
}

// Single packets are hidden, and shown again.
async function hidden ({ page, apply, rows, chosen, selected, shows, until, press }) {
  await apply('chat')
  const all = (await rows()).map(it => it.text)
  await page.focus('#list')
  await press('Home')
  await selected(0, /./)
  await press('j')
  await until(async () => (await chosen())?.index === 1, 'the second')
  await press('H')
  await shows('#state', /1 hidden/)
  await until(async () => (await rows()).length === all.length - 1, 'one less')
  const left = (await rows()).map(it => it.text)
  assert.deepStrictEqual(left, all.filter((it, index) => index !== 1))
  await until(async () => (await chosen())?.index === 1, 'the next is selected')
  await press('U')
  await until(async () => (await rows()).length === all.length, 'all again')
  assert.deepStrictEqual((await rows()).map(it => it.text), all)
  await apply('')
}

async function sessions ({ page, apply, selected, shows, text, until, click, press }) {
  const all = await text('#list', 'aria-rowcount')
  await apply('pkt.n == 1')
  await click(page.locator('#session-list .line').nth(1))
  await until(async () => /#1 /.test(await page.locator('#session-list [aria-selected="true"]').textContent()), 'the session is selected')
  await until(async () => await text('#list', 'aria-rowcount') === '2', 'packets of one session')
  await press('ArrowUp')
  await page.locator('#session-list').focus().catch(() => {})
  await click(page.locator('#session-list .line').first())
  await until(async () => Number(await text('#list', 'aria-rowcount')) > 1, 'packets of all sessions')
  const focused = page.locator('#session-list')
  await press('ArrowDown', focused)
  await until(async () => /#1 /.test(await page.locator('#session-list [aria-selected="true"]').textContent()), 'the next session')
  // From there to its first packet and to its last.
  await apply('')
  const count = Number(await text('#list', 'aria-rowcount')) - 1
  await click('#tab-statistics')
  await click(page.getByRole('button', { name: 'Last packet' }))
  await selected(count - 1, /./)
  await click(page.getByRole('button', { name: 'First packet' }))
  await selected(0, /./)
  await shows('#session-facts', /Version1\.8\.9.*Ended/)
  await press('ArrowUp', focused)
  await until(async () => !/#1 /.test(await page.locator('#session-list [aria-selected="true"]').textContent()), 'all sessions')
  await apply('')
  await until(async () => await text('#list', 'aria-rowcount') === all, 'packets of all')
}

// The list itself, with more rows than an element can be high.
async function many ({ page }) {
  const { last, wheel, most, taller } = await page.evaluate(async () => {
    const { VirtualList } = await import('/virtual_list.js')
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
