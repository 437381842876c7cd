'use strict'
// A person at a page while very much happens: a player of this process joins through the proxy.

const assert = require('assert')
const mc = require('minecraft-protocol')
const { released } = require('./held')

module.exports = { join, many, repeated, counted, large, flooded }

// While a player walks, and while very much comes in.
for (const [name, rate] of [['walking', 20], ['crowded', 2000]]) {
  for (const part of [list, conversation, held]) module.exports[`${name}_${part.name}`] = it => busy(it, rate, part)
}

// Joins as a player, who is in the game.
async function join (port, username = 'Tester') {
  const client = mc.createClient({ version: '1.8.8', host: '127.0.0.1', port, username, auth: 'offline' })
  await new Promise((resolve, reject) => {
    client.once('position', resolve)
    client.once('error', reject)
  })
  return client
}

// Thousands of packets are held: only the visible ones are elements, none of them is made anew when others come, and
// several are decided on at once.
async function many (it) {
  const { page, port, shows, until, click, press } = it
  await click('#tab-control')
  await page.fill('#break', 'serverbound and chat')
  await click('text="Hold"')
  await shows('#break-state', /chat are held/)
  const player = await join(port)
  const talk = async (from, to) => { for (let i = from; i < to; i++) player.write('chat', { message: String(i) }) }
  await talk(0, 10_000)
  await shows('#tab-control', /\(10,000\)/)
  const lines = page.locator('#held .line:not(.head)')
  assert(await lines.count() < 40, 'only the visible ones are elements')
  await page.evaluate(() => { document.querySelector('#held .line:not(.head)').kept = true })
  await shows('#held', /1#1 → chatmessage="0"/)
  // The editor stays where it is while packets come.
  await click(page.locator('#held-3'))
  await click(page.locator('#held-bar').getByRole('button', { name: 'Edit' }))
  await shows('#edit-title', /^Edit packet 4, chat, of session #1$/)
  const place = await page.locator('#edit-title').boundingBox()
  await talk(10_000, 10_100)
  await shows('#tab-control', /\(10,100\)/)
  assert.deepStrictEqual(await page.locator('#edit-title').boundingBox(), place)
  assert(await page.evaluate(() => document.querySelector('#held .line:not(.head)').kept), 'no line is made anew')
  await click('text="Cancel"')
  // Some of them.
  await click(page.locator('#held-2'))
  await page.keyboard.down('Shift')
  await click(page.locator('#held-5'))
  await page.keyboard.up('Shift')
  await shows('#held-targets', /^4 selected packets$/)
  await press('D')
  await shows('#notice', /^Dropped 4 packets\.$/)
  await shows('#held', /3#1 → chatmessage="2".*drop/)
  // The last one, far away.
  await page.focus('#held')
  await press('End')
  await shows('#held-targets', /^packet 10,?100, chat/)
  await shows('#held', /message="10099"/)
  await press('Home')
  await shows('#held-targets', /^packet 1, chat/)
  await press('F')
  await shows('#notice', /^Forwarded packet 1, chat, of session #1\.$/)
  await until(async () => /10,099/.test(await page.locator('#tab-control').textContent()), 'the first one is gone')
  await press('Control+a')
  await shows('#held-targets', /^10,095 selected packets$/)
  await press('D')
  await shows('#notice', /^Dropped 10,095 packets\.$/)
  await click('text="Hold no more"')
  player.end()
  await released(it)
}

// What is sent repeatedly is listed, with a button that stops it.
async function repeated (it) {
  const { page, port, shows, until, accessible, picture, click, press } = it
  const player = await join(port)
  await shows('#session-list', /Tester/)
  await click('#tab-control')
  await page.selectOption('#send-to', 'server')
  await until(async () => await page.locator('#send-packets option[value="held_item_slot"]').count() === 1, 'packets are offered')
  await page.fill('#send-packet', 'held_item_slot')
  await press('Tab')
  const slot = page.locator('[id="send/slotId"]')
  await until(async () => await slot.count() === 1, 'the form is there')
  await slot.fill('4')
  await page.fill('#send-times', '1000')
  await page.fill('#send-interval', '20ms')
  await page.focus('[id="send/slotId"]')
  await press('Control+Enter')
  await shows('#sending', /^Stop held_item_slot to the server of session 1: (1[0-9]|[2-9][0-9]|[0-9]{3}) of 1,000 times, every 20 ms$/)
  await accessible('sending')
  await picture('sending')
  // On every tab.
  await click('#tab-packets')
  await page.focus('#list')
  await press('X')
  await shows('#notice', /^Sent held_item_slot to the server of session 1 \d+ of 1,000 times, then stopped\.$/)
  await click('#tab-control')
  await until(async () => await page.locator('#sending li').count() === 0, 'nothing is sent any more')
  await page.fill('#send-times', '3')
  await click(page.getByRole('button', { name: 'Send', exact: true }))
  await shows('#notice', /^Sent held_item_slot to the server of session 1 3 times\.$/)
  // A condition of a page that is gone is shown, and holds nothing before it is wanted.
  await page.evaluate(() => {
    const control = { push: 'control', break: null, earlier: { where: 'chat', overtaken: true }, by: null, interfaces: 1 }
    window.sockets.at(-1).onmessage({ data: JSON.stringify(control) })
  })
  await shows('#notice', /^Packets that match chat were held earlier\. They are not held now: see Control\.$/)
  await click('text="Hold them again"')
  await shows('#break-state', /^Packets that match chat are held\.$/)
  assert(await page.locator('#earlier').isHidden())
  assert(await page.isChecked('#overtaken'))
  await click('text="Hold no more"')
  await shows('#break-state', /^Nothing is held\.$/)
  // The session that has ended stays chosen, and takes no command.
  player.end()
  await shows('#session-list', /#1 Tester.*closed/s)
  const other = await join(port, 'Other')
  await shows('#session-list', /Other/)
  await shows('#control-session', /#1 Tester \(ended\)#2 Other/)
  assert.strictEqual(await page.inputValue('#control-session'), '1')
  await click(page.getByRole('button', { name: 'Send', exact: true }))
  await until(async () => /session 1 is not open/.test(await page.locator('#panel-control').textContent()), 'the command is refused')
  other.end()
}

// A packet with a field of 1 MB is written, sent, and looked at.
async function large (it) {
  const { page, port, apply, selected, shows, until, click, press } = it
  const player = await join(port)
  await shows('#session-list', /Tester/)
  await click('#tab-control')
  await page.selectOption('#send-to', 'client')
  await until(async () => await page.locator('#send-packets option[value="custom_payload"]').count() === 1, 'packets are offered')
  await page.fill('#send-packet', 'custom_payload')
  await press('Tab')
  await until(async () => await page.locator('[id="send/channel"]').count() === 1, 'the form is there')
  await page.locator('input[name="send-mode"][value="json"]').check()
  await until(() => page.locator('#send-text').isVisible(), 'the JSON')
  const data = Buffer.alloc(1 << 20, 'large ').toString('base64')
  await page.fill('#send-text', JSON.stringify({ channel: 'test|large', data }))
  await click(page.getByRole('button', { name: 'Send', exact: true }))
  await shows('#notice', /^Sent custom_payload to the client of session 1\.$/)
  await apply('custom_payload and clientbound and pkt.origin == "proxy"')
  await page.focus('#list')
  await press('Home')
  await selected(0, /custom_payload/)
  await shows('#facts', /Size 1,048,588 B/)
  await shows('#tree', /channel.*"test\|large".*data/)
  await shows('#hex', /large/)
  assert(await page.locator('#hex .line').count() < 60, 'only the visible bytes are elements')
  await page.locator('#tree .line', { hasText: 'data' }).click({ position: { x: 60, y: 10 } })
  await until(async () => await page.locator('#hex i.leaf').count() > 0, 'its bytes are marked')
  // The receiver has packets of its own, and what was written for the other one stays.
  await click('#tab-control')
  await page.selectOption('#send-to', 'server')
  assert.strictEqual(await page.inputValue('#send-packet'), '')
  await page.selectOption('#send-to', 'client')
  await until(async () => await page.inputValue('#send-packet') === 'custom_payload', 'it is there again')
  await apply('')
  player.end()
}

// Statistics and timeline go on while they are shown.
async function counted (it) {
  const { page, port, shows, until, click } = it
  // Views that are empty say what would be there.
  for (const [tab, empty] of Object.entries({ conversation: /No chat/, statistics: /No packets.*counts/, timeline: /No packets.*traffic over time/, control: /Nothing is held.*that you send by hand appear here/s })) {
    await click(`#tab-${tab}`)
    await shows(`#panel-${tab}`, empty)
  }
  const player = await join(port)
  player.write('chat', { message: 'one' })
  await click('#tab-statistics')
  const row = page.locator('#panel-statistics tr', { hasText: '→ chat' })
  const count = async () => Number(await row.locator('td').nth(1).textContent().catch(() => 0))
  await until(async () => await count() === 1, 'it is counted')
  await page.evaluate(() => { document.querySelector('#panel-statistics table').kept = true })
  player.write('chat', { message: 'two' })
  await until(async () => await count() === 2, 'it is counted while it is shown')
  assert(await page.evaluate(() => document.querySelector('#panel-statistics table').kept), 'nothing is made anew')
  await click('#tab-timeline')
  await shows('#panel-timeline', /Highest/)
  const drawn = () => page.evaluate(() => document.querySelector('#chart').toDataURL())
  const before = await drawn()
  for (let i = 0; i < 200; i++) player.write('chat', { message: 'many' })
  await until(async () => await drawn() !== before, 'the chart goes on')
  // The list is hidden just after it has moved to a new packet: nobody has scrolled it, so it is still followed.
  await click('#tab-packets')
  await until(async () => (await it.rows()).at(-1).index > 200, 'the newest packet is shown')
  await page.evaluate(async () => {
    document.querySelector('#list').scrollTop -= 1
    document.querySelector('#list').scrollTop += 1
    document.querySelector('#tab-timeline').click()
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame)
    document.querySelector('#tab-packets').click()
  })
  assert.strictEqual(await it.text('#follow', 'aria-pressed'), 'true')
  await until(async () => (await it.rows()).at(-1).index === Number(await it.text('#list', 'aria-rowcount')) - 2, 'the newest packet is shown')
  player.end()
}

// A player says 10,000 lines per second: the page goes on meanwhile, and has every one of them in the end.
async function flooded (it) {
  const { page, port, apply, until, click, text } = it
  const player = await join(port)
  await click('#tab-conversation')
  const all = 30_000
  let said = 0
  const over = new Promise(resolve => {
    const talk = setInterval(() => {
      for (let i = 0; i < 500 && said < all; i++) player.write('chat', { message: `line ${++said} of many` })
      if (said === all) resolve(clearInterval(talk))
    }, 50)
  })
  await goesOn(it)
  await over
  const last = () => page.locator('#conversation .line').last().textContent()
  for (let seen = await last(); !seen.includes(`line ${all} of many`); seen = await last()) {
    await until(async () => await last() !== seen, `the conversation goes on after ${seen}`)
  }
  await apply('serverbound and chat')
  await until(async () => Number(await text('#list', 'aria-rowcount')) === all + 1, 'every line is a packet of the list')
  await scrolled(it, all)
  player.end()
}

// All of a long conversation is reached: by keys, the wheel, the scrollbar and a search. Few of its lines are elements.
async function scrolled ({ page, apply, until, click, press }, all) {
  const seen = () => page.locator('#conversation').evaluate(list => {
    const { top, bottom } = list.getBoundingClientRect()
    const lines = [...list.querySelectorAll('.line')].filter(it => it.getBoundingClientRect().top < bottom - 1 && it.getBoundingClientRect().bottom > top + 1)
    return lines.map(it => it.textContent)
  })
  const sees = (what, why) => until(async () => {
    const lines = await seen()
    return what(lines) && !lines.includes('…')
  }, why)
  const number = line => Number(/line (\d+) of many/.exec(line)?.[1])
  const ascends = lines => lines.every((it, at) => at === 0 || !number(lines[at - 1]) || number(it) === number(lines[at - 1]) + 1)
  await click('#tab-conversation')
  await sees(lines => number(lines.at(-1)) === all && ascends(lines), 'the end')
  await page.focus('#conversation')
  await press('Home')
  await sees(lines => lines.some(it => number(it) === 1), 'the first line')
  await page.locator('#conversation').hover()
  await page.mouse.wheel(0, 2200)
  await sees(lines => number(lines[0]) > 90 && ascends(lines), 'a hundred lines later')
  await page.locator('#conversation').evaluate(it => { it.scrollTop = (it.scrollHeight - it.clientHeight) / 2 })
  await sees(lines => Math.abs(number(lines[10]) - all / 2) < 200 && ascends(lines), 'the middle')
  await press('End')
  await sees(lines => number(lines.at(-1)) === all && ascends(lines), 'the last line')
  await page.fill('#conversation-search', 'line 12345 of')
  await sees(lines => lines.length === 1 && number(lines[0]) === 12345, 'the line that is searched')
  await page.locator('#conversation .line').first().click({ position: { x: 500, y: 10 } })
  await page.fill('#conversation-search', '')
  await sees(lines => number(lines[0]) < 12345 && number(lines.at(-1)) > 12345 && ascends(lines), 'what was said around it')
  await until(async () => number(await page.locator('#conversation .line.selected').textContent()) === 12345, 'it is still selected')
  await page.focus('#conversation')
  await press('j')
  await until(async () => number(await page.locator('#conversation .line.selected').textContent()) === 12346, 'the next one')
  assert(await page.locator('#conversation .line').count() < 100, 'only the lines around the visible ones are elements')
  await click('#conversation-newer')
  await sees(lines => number(lines.at(-1)) === all, 'the newest line')
  // It is that of the list.
  await apply('serverbound and chat.message matches "line 2999[0-9] of"')
  await click('#tab-conversation')
  await sees(lines => lines.length === 10 && number(lines[0]) === 29990, 'the lines of the filter')
}

// Lets two players come, one of whom says so many lines per second, while a part runs.
async function busy (it, rate, part) {
  const players = [await join(it.port), await join(it.port, 'Other')]
  let [said, heard] = [0, 0]
  players[0].on('chat', () => heard++)
  // A busy machine may need longer: a server gives up players whose keep-alives wait behind too much. What is held
  // does not come back.
  const most = part === held ? Infinity : 1000
  const talk = setInterval(() => {
    for (let i = 0; i < rate / 20 && said - heard < most; i++) players[0].write('chat', { message: `line ${++said} of many` })
  }, 50)
  await it.shows('#session-list', /Tester.*Other/s)
  await it.page.evaluate(async () => {
    // This machine may take longer for a press than a person.
    const { Press } = await import('/dom.js')
    Press.LONGEST = 60_000
    const keyOf = it => (it?.id.startsWith('row-') ? it.id : it?.id.startsWith('said-') ? it.dataset.row : undefined) ?? it?.dataset.key ?? it?.dataset.session ?? it?.querySelector('.h-number')?.textContent
    document.addEventListener('pointerdown', event => { window.pressed = keyOf(event.target.closest('.line, li')) }, true)
    window.chosen = where => {
      const it = document.querySelector(where)
      // A line of the conversation leads to its packet.
      return /^\d+$/.test(window.pressed) ? it?.dataset.row ?? keyOf(it) : keyOf(it)
    }
  })
  await part(it)
  clearInterval(talk)
  for (const it of players) it.end()
}

// Presses the mouse 50 times for as long as a person does, where `where` says, and looks each time whether what stood
// there is chosen then.
async function presses ({ page, until }, what, chosen, where, before) {
  for (let i = 1; i <= 50; i++) {
    await before(i)
    const { x, y } = await where(i)
    await page.mouse.click(x, y, { delay: 100 })
    const hits = () => page.evaluate(it => window.pressed !== undefined && window.chosen(it) === window.pressed, chosen)
    await until(hits, `press ${i} of 50 on ${what} hits`)
  }
}

// A place in an element.
async function within (page, element, dx, dy) {
  const { x, y } = await page.locator(element).boundingBox()
  return { x: x + dx, y: y + dy }
}

// Waits until packets have come in many times.
async function goesOn ({ page, until }) {
  for (let i = 0; i < 20; i++) {
    const before = await page.textContent('#state')
    await until(async () => await page.textContent('#state') !== before, 'packets come in')
  }
}

async function list (it) {
  const { page, click } = it
  const follows = async on => {
    if (await page.getAttribute('#follow', 'aria-pressed') !== String(on)) await click('#follow')
  }
  await presses(it, 'a row', '#list .line.selected', i => within(page, '#list', 300, 60 + 22 * (i % 5)), i => follows(i % 2 === 0))
  await follows(true)
  await presses(it, 'a session', '#session-list [aria-selected="true"]', i => within(page, `#session-list .line:nth-child(${i % 3 + 1})`, 40, 12), () => {})
}

async function conversation (it) {
  const { page, until, click, press } = it
  await click('#tab-conversation')
  await until(async () => await page.locator('#conversation .when').count() > 30, 'much was said')
  // A place in one of the lines that are seen.
  const line = async (i, dx = 30) => {
    let place
    await until(async () => {
      place = await page.locator('#conversation .when').evaluateAll((all, [i, dx]) => {
        const boxes = all.map(it => it.getBoundingClientRect()).filter(it => it.top > 200 && it.bottom < 600)
        if (boxes.length < 5) return null
        const { left, top, height } = boxes[i % 5]
        return { x: left + dx, y: top + height / 2 }
      }, [i, dx])
      return place
    }, 'lines are seen')
    return place
  }
  await presses(it, 'a line of the conversation', '#list .line.selected', line, () => press('3', page.keyboard, 0))
  // What is selected there stays selected, and what has the focus keeps it.
  await press('3')
  const { x, y } = await line(2, 200)
  await page.mouse.dblclick(x, y)
  const text = await page.evaluate(() => getSelection().toString())
  assert(text.length > 0)
  await goesOn(it)
  assert.strictEqual(await page.evaluate(() => getSelection().toString()), text)
  await page.evaluate(() => getSelection().removeAllRanges())
  // So does a line that a key has selected.
  await page.focus('#conversation')
  const chosen = page.locator('#conversation .line.selected')
  const index = async () => Number(await chosen.getAttribute('data-index'))
  const from = await index()
  for (let i = 0; i < 3; i++) await press('k')
  await until(async () => await index() === from - 3, 'three lines further up')
  const [row, box] = [await chosen.getAttribute('data-row'), await chosen.boundingBox()]
  await goesOn(it)
  assert.deepStrictEqual([await chosen.getAttribute('data-row'), await chosen.boundingBox()], [row, box])
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), 'conversation')
  // The newest line again, which stays in view.
  await press('f')
  await goesOn(it)
  assert(await page.locator('#conversation-newer').isHidden())
}

async function held (it) {
  const { page, shows, click, press } = it
  await click('#tab-control')
  await page.fill('#break', 'serverbound and chat')
  await click('text="Hold"')
  await shows('#tab-control', /\(\d\d/)
  await shows('#held', /message.*message.*message/)
  await presses(it, 'a held packet', '#held .line.selected', i => within(page, '#held', 300, 33 + 22 * (i % 8)), () => {})
  await page.focus('#kick-text')
  await goesOn(it)
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), 'kick-text')
  await click('text="Hold no more"')
  await page.focus('#held')
  await press('Control+a')
  await shows('#held-targets', /selected packets$/)
  await press('D')
  await shows('#notice', /^Dropped .* packets\.$/)
}
