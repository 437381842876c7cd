'use strict'
// A page at the end of a slow link, and at one that is dead.

const assert = require('assert')
const fs = require('fs')
const net = require('net')
const { open } = require('./browser')
const { decide, released } = require('./held')
const { join } = require('./live')

module.exports = { slow, selected, dead, relay }

// A relay in front of the page, which holds back everything for `delay` ms each way, or passes on nothing at all.
async function relay (url, delay) {
  const { port } = new URL(url)
  const state = { stalled: false }
  const pass = (from, to) => {
    from.on('data', bytes => setTimeout(() => { if (!state.stalled) to.write(bytes) }, delay))
    from.on('close', () => setTimeout(() => { if (!state.stalled) to.destroy() }, delay))
    from.on('error', () => {})
  }
  const server = net.createServer(page => {
    if (state.stalled) return
    const proxy = net.connect(port, '127.0.0.1')
    pass(page, proxy)
    pass(proxy, page)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { state, url: url.replace(`:${port}`, `:${server.address().port}`) }
}

// With 300 ms from a request to its answer, what is sent is what is seen: with every view of a packet, and however
// fast a person is.
async function slow (it) {
  const link = await relay(it.url, 150)
  const far = await open(it.context.browser(), { ...it, url: link.url, hold: 100 })
  const { page, shows, until, click, press } = far
  await shows('#state', /live$/)
  await click('#tab-control')
  await page.fill('#break', 'serverbound and chat')
  await press('Enter')
  await shows('#break-state', /chat are held/)
  const player = await join(it.port)
  player.write('chat', { message: 'hi 3' })
  await shows('#held', /hi 3/)
  await decide(far, 'chat', 'Edit')
  await until(async () => await page.locator('[id="edit/message"]').inputValue().catch(() => '') === 'hi 3', 'its fields are there')
  await page.fill('[id="edit/message"]', 'CHANGED')
  await click('text="Send edited"')
  await shows('#notice', /^Edited packet 1, chat/)
  await released(far)
  await page.selectOption('#send-to', 'server')
  await until(async () => await page.locator('#send-packets option[value="look"]').count() === 1, 'packets are offered')
  await page.fill('#send-packet', 'held_item_slot')
  await press('Tab')
  const slot = page.locator('[id="send/slotId"]')
  await until(async () => await slot.count() === 1, 'the form is there')
  const send = () => click(page.getByRole('button', { name: 'Send', exact: true }))
  for (const number of [2, 3, 4, 5]) {
    await slot.fill(String(number))
    await send()
  }
  await page.locator('input[name="send-mode"][value="json"]').check()
  await until(() => page.locator('#send-text').isVisible(), 'the JSON')
  await page.fill('#send-text', '{"slotId": 6}')
  await send()
  await page.locator('input[name="send-mode"][value="hex"]').check()
  await until(async () => await page.inputValue('#send-text') === '09 00 06', 'the bytes')
  await page.fill('#send-text', '09 00 07')
  await send()
  await page.locator('input[name="send-mode"][value="form"]').check()
  await until(async () => await slot.isVisible() && await slot.inputValue() === '7', 'what was typed as bytes is in the form')
  // What is no packet stays where it was typed.
  await page.locator('input[name="send-mode"][value="json"]').check()
  await until(() => page.locator('#send-text').isVisible(), 'the JSON')
  await page.fill('#send-text', '{"slotId": ')
  await page.locator('input[name="send-mode"][value="form"]').click()
  await shows('#send-message', /not JSON.*Correct it, or undo it/)
  assert.strictEqual(await page.inputValue('#send-text'), '{"slotId": ')
  await it.apply('held_item_slot and serverbound and pkt.origin == "proxy"')
  await it.until(async () => /slotId=7/.test((await it.rows()).at(-1)?.text), 'all are sent')
  player.end()
  await far.context.close()
  await it.apply('')
}

// With 300 ms from a request to its answer, commands act on what was selected just before, and what is typed after a
// key that opens a form goes into it, or nowhere.
async function selected (it) {
  const link = await relay(it.url, 150)
  const far = await open(it.context.browser(), { ...it, url: link.url, hold: 100 })
  const { page, shows, until, click, press } = far
  await shows('#state', /live$/)
  await click('#tab-control')
  await page.fill('#break', 'serverbound and chat')
  await press('Enter')
  await shows('#break-state', /chat are held/)
  const player = await join(it.port)
  const say = async texts => {
    for (const message of texts) player.write('chat', { message })
    await shows('#tab-control', RegExp(`\\(${texts.length}\\)`))
    await shows('#held', RegExp(`message="${texts.at(-1)}"`))
  }
  await say([...'0123456789'])
  await click(page.locator('#held-0'))
  await press('Control+a')
  await press('D')
  await shows('#notice', /^Dropped 10 packets\.$/)
  await shows('#tab-control', /^Control$/)
  await say([...'abcdef'])
  await click(page.locator('#held-0'))
  await page.keyboard.down('Shift')
  await click(page.locator('#held-2'))
  await page.keyboard.up('Shift')
  await press('F')
  await shows('#notice', /^Forwarded 3 packets\.$/)
  await shows('#tab-control', /\(3\)/)
  await until(async () => /message="d"/.test(await page.locator('#held-0').textContent()), 'the first one that is left')
  await click(page.locator('#held-0'))
  // Nothing of this is a command.
  await press('E')
  await page.keyboard.type('Drop A Fox', { delay: 60 })
  await shows('#edit-title', /^Edit packet 14, chat/)
  const message = page.locator('[id="edit/message"]')
  await until(async () => await message.evaluate(it => document.activeElement === it).catch(() => false), 'it has the focus')
  await page.keyboard.type('X')
  assert.match(await message.inputValue(), /^[A-Za-z ]*X$/)
  await shows('#tab-control', /\(3\)/)
  assert(!await page.locator('#dialog').isVisible(), 'no key has opened a dialog')
  await message.fill('X')
  await click('text="Send edited"')
  await shows('#notice', /^Edited packet 14, chat/)
  await shows('#tab-control', /\(2\)/)
  await page.focus('#held')
  await press('A')
  await shows('#notice', /^Press the key again to forward all 2 held packets\.$/)
  await press('A')
  await shows('#notice', /^Forwarded 2 packets\.$/)
  await click('text="Hold no more"')
  await shows('#break-state', /Nothing is held/)
  await far.apply('serverbound and chat and pkt.verdict == "pass"')
  await page.focus('#list')
  await press('Home')
  await far.selected(0, /message="a"/)
  for (let i = 0; i < 2; i++) await press('Shift+ArrowDown')
  await press('r')
  await shows('#notice', /^Sent 3 packets again\.$/)
  await press('A')
  await shows('#notice', /^Nothing is held\.$/)
  await click('#tab-statistics')
  await press('A')
  await shows('#notice', /^Held packets are decided on in Packets and Control\.$/)
  player.end()
  far.sound()
  await far.context.close()
}

// A link that passes on nothing any more is noticed, and everything comes back with another one.
async function dead (it) {
  const link = await relay(it.url, 0)
  // This page says nothing from now on, but its browser answers.
  const silent = Date.now()
  const sockets = await it.page.evaluate(() => { window.sockets.at(-1).send = () => {}; return window.sockets.length })
  const far = await open(it.context.browser(), { ...it, url: link.url })
  const { page, shows, text, until, click } = far
  const player = await join(it.port)
  await shows('#state', /live$/)
  await click('#tab-rules')
  const first = fs.readFileSync(it.rules, 'utf8')
  await until(async () => await page.inputValue('#rule-text') === first, 'the rules')
  await page.fill('#rule-text', first + '# not saved\n')
  await click('#tab-conversation')
  player.write('chat', { message: 'before' })
  await shows('#conversation', /before/)
  await click('#tab-control')
  await page.fill('#break', 'not applied')
  await click('#tab-packets')
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'true')
  link.state.stalled = true
  await until(async () => /^disconnected/.test(await text('#state')), 'the link is dead')
  player.write('chat', { message: 'meanwhile' })
  link.state.stalled = false
  await shows('#state', /live$/)
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'true')
  await until(async () => {
    const newest = (await far.rows()).at(-1)
    return newest.index === Number(await text('#list', 'aria-rowcount')) - 2
  }, 'the newest packet is shown')
  await click('#tab-conversation')
  await shows('#conversation', /meanwhile/)
  player.write('chat', { message: 'after' })
  await shows('#conversation', /after/)
  await click('#tab-rules')
  assert.strictEqual(await page.inputValue('#rule-text'), first + '# not saved\n')
  await click('#tab-control')
  assert.strictEqual(await page.inputValue('#break'), 'not applied')
  await until(() => Date.now() - silent > 17_000, 'long enough')
  assert.deepStrictEqual(await it.page.evaluate(() => [window.sockets.length, window.sockets.at(-1).readyState]), [sockets, 1])
  player.end()
  await far.context.close()
}
