'use strict'
// A person at a page while very much happens: a player of this process joins through the proxy.

const assert = require('assert')
const mc = require('minecraft-protocol')
const { released } = require('./held')

module.exports = { many }

// Joins as a player, who is in the game.
async function join (port) {
  const client = mc.createClient({ version: '1.8.8', host: '127.0.0.1', port, username: 'Tester', auth: 'offline' })
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
