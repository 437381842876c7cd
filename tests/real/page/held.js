'use strict'
// What several tests do with held packets.

module.exports = { decide, released }

// Selects a held packet, and does something with it.
async function decide ({ page, shows, click }, packet, what) {
  await click(page.locator('#held .line', { hasText: packet }))
  await shows('#held-targets', new RegExp(packet))
  await click(page.locator('#held-bar').getByRole('button', { name: what, exact: true }))
}

// Waits until nothing is held.
async function released ({ page, until }) {
  await until(async () => await page.locator('#held .line:not(.head)').count() === 0, 'nothing is held')
}
