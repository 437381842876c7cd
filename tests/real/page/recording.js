'use strict'
// Captures: there is nothing to control.

const assert = require('assert')
const { join } = require('path')

module.exports = { recording, sent }

// A recording of tcpdump with an encrypted session, whose keys are known.
async function recording ({ page, apply, selected, shows, accessible, press }) {
  await shows('#state', /^[\d,]+ packets, complete$/)
  await shows('#session-list', /1\.8\.9.*closed/)
  // What people have sent is part of a capture, but there is nothing to control.
  assert.strictEqual(await page.locator('#tab-control').textContent(), 'Sent')
  await page.focus('#list')
  await press('8')
  await shows('#sent-pane', /Sent.*No packet was sent by hand in the listed sessions\./)
  assert.deepStrictEqual(await page.locator('#panel-control > *').evaluateAll(all => all.map(it => it.offsetHeight > 0)), [false, false, true])
  await accessible('sent')
  await press('1')
  assert(await page.locator('#tab-rules').isHidden(), 'there are no rules')
  await apply('chat and serverbound')
  await page.focus('#list')
  await press('Home')
  await selected(0, /message="hello from a real client"/)
  await shows('#facts', /both encrypted, compressed from 64 B/)
}

// The capture of a run in which a person has sent packets.
async function sent ({ page, apply, selected, accessible, shows, until, click, press }) {
  await shows('#state', /^[\d,]+ packets, complete$/)
  await page.focus('#list')
  await press('8')
  const lines = page.locator('#sent .line:not(.head)')
  await until(async () => await lines.count() === 5 && !/…/.test(await lines.first().locator('.s-0').textContent()), 'what was sent')
  assert.deepStrictEqual((await lines.allTextContents()).map(it => /slotId=\d/.exec(it)?.[0]), ['slotId=3', 'slotId=8', 'slotId=4', 'slotId=3', 'slotId=8'])
  await click(lines.nth(1))
  await shows('#replies-title', /came back within a second/)
  await press('Enter', page.locator('#sent'))
  await page.locator('#panel-packets').waitFor({ state: 'visible' })
  await shows('#facts', /packet \d+ again, sent by hand/)
  // Another capture is opened in its place.
  await click('#open')
  await accessible('open a capture')
  await page.setInputFiles('#open-file', { name: 'text.txt', mimeType: 'text/plain', buffer: Buffer.from('no capture') })
  await shows('#open-problem', /^Cannot read `text\.txt`: /)
  await page.setInputFiles('#open-file', join(__dirname, '../../../captures/session-1.20.4-wire.pcapng'))
  await shows('#state', /^37 packets, complete$/)
  await shows('#session-list', /1\.20\.4/)
  await apply('keep_alive')
  await page.focus('#list')
  await press('Home')
  await selected(0, /keep_alive/)
  await shows('#tree', /keepAliveId/)
}
