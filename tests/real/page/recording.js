'use strict'
// A recording of another program.

const assert = require('assert')

module.exports = { recording }

// A recording of tcpdump with an encrypted session, whose keys are known.
async function recording ({ page, apply, selected, shows, accessible, press }) {
  await shows('#state', /^[\d,]+ packets, complete$/)
  await shows('#session-list', /1\.8\.9, closed/)
  // What people have sent is part of a capture, but there is nothing to control.
  assert.strictEqual(await page.locator('#tab-control').textContent(), 'Sent')
  await page.focus('#list')
  await press('8')
  await shows('#sent-pane', /Sent.*Nobody has sent a packet by hand in what is shown\./)
  assert.deepStrictEqual(await page.locator('#panel-control > *').evaluateAll(all => all.map(it => it.offsetHeight > 0)), [false, false, true])
  await accessible('sent')
  await press('1')
  assert(await page.locator('#tab-rules').isHidden(), 'there are no rules')
  await apply('chat and serverbound')
  await page.focus('#list')
  await press('Home')
  await selected(0, /message="hello from a real client"/)
  await shows('#facts', /client encrypted, compressed from 64 B/)
}
