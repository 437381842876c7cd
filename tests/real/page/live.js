'use strict'
// A person at a page while very much happens: a player of this process joins through the proxy.

const assert = require('assert')
const mc = require('minecraft-protocol')
const { released } = require('./held')

module.exports = { many }

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
  assert(await lines.count() < 20, 'only the visible ones are elements')
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
  await shows('#control-message', /^Dropped 4 packets\.$/)
  await shows('#held', /3#1 → chatmessage="2".*drop/)
  // The last one, far away.
  await page.focus('#held')
  await press('End')
  await shows('#held-targets', /^packet 10,?100, chat/)
  await shows('#held', /message="10099"/)
  await press('Home')
  await press('F')
  await shows('#control-message', /^Forwarded packet 1, chat, of session #1\.$/)
  await until(async () => /10,099/.test(await page.locator('#tab-control').textContent()), 'the first one is gone')
  await press('Control+a')
  await shows('#held-targets', /^10,095 selected packets$/)
  await press('D')
  await shows('#control-message', /^Dropped 10,095 packets\.$/)
  await click('text="Hold no more"')
  player.end()
  await released(it)
}

// Lets two players come, one of whom says so many lines per second, while a part runs.
async function busy (it, rate, part) {
  const players = [await join(it.port), await join(it.port, 'Other')]
  let said = 0
  const talk = setInterval(() => {
    for (let i = 0; i < rate / 20; i++) players[0].write('chat', { message: `line ${++said} of many` })
  }, 50)
  await it.shows('#session-list', /Tester.*Other/s)
  await it.page.evaluate(() => {
    const keyOf = it => (it?.id.startsWith('row-') ? it.id : undefined) ?? it?.dataset.key ?? it?.querySelector('.h-number')?.textContent
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
  await presses(it, 'a session', '#session-list [aria-selected="true"]', i => within(page, `#session-list li:nth-child(${i % 3 + 1})`, 40, 12), () => {})
}

async function conversation (it) {
  const { page, until, click, press } = it
  await click('#tab-conversation')
  await until(async () => await page.locator('#conversation li').count() > 40, 'much was said')
  const line = i => within(page, '#panel-conversation', 60, 120 + 22 * (i % 5))
  await presses(it, 'a line of the conversation', '#list .line.selected', line, () => press('3', page.keyboard, 0))
  // What is selected there stays selected, and what has the focus keeps it.
  await press('3')
  const { x, y } = await within(page, '#panel-conversation', 250, 200)
  await page.mouse.dblclick(x, y)
  const text = await page.evaluate(() => getSelection().toString())
  assert(text.length > 0)
  await goesOn(it)
  assert.strictEqual(await page.evaluate(() => getSelection().toString()), text)
  await page.evaluate(() => getSelection().removeAllRanges())
  const focused = await page.evaluate(() => {
    const lines = document.querySelectorAll('#conversation button')
    lines[Math.floor(lines.length / 2)].focus()
    return document.activeElement.closest('li').dataset.key
  })
  await goesOn(it)
  assert.strictEqual(await page.evaluate(() => document.activeElement.closest('li')?.dataset.key), focused)
}

async function held (it) {
  const { page, shows, click, press } = it
  await click('#tab-control')
  await page.fill('#break', 'serverbound and chat')
  await click('text="Hold"')
  await shows('#tab-control', /\(\d\d/)
  await presses(it, 'a held packet', '#held .line.selected', i => within(page, '#held', 300, 33 + 22 * (i % 8)), () => {})
  await page.focus('#kick-text')
  await goesOn(it)
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), 'kick-text')
  await click('text="Hold no more"')
  await page.focus('#held')
  await press('Control+a')
  await shows('#held-targets', /selected packets$/)
  await press('D')
  await shows('#control-message', /^Dropped .* packets\.$/)
}
