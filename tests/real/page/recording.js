'use strict'
// A recording of another program.

const assert = require('assert')

module.exports = { recording }

// A recording of tcpdump with an encrypted session, whose keys are known.
async function recording ({ page, apply, selected, shows, press }) {
  await shows('#state', /^[\d,]+ packets, complete$/)
  await shows('#session-list', /1\.8\.9, closed/)
  assert(await page.locator('#tab-control').isHidden(), 'there is nothing to control')
  assert(await page.locator('#tab-rules').isHidden(), 'there are no rules')
  await apply('chat and serverbound')
  await page.focus('#list')
  await press('Home')
  await selected(0, /message="hello from a real client"/)
  await shows('#facts', /client encrypted, compressed from 64 B/)
}
