'use strict'
// A list that follows the newest packets, at many rates and at the end of links of many lengths.

const assert = require('assert')
const { open } = require('./browser')
const { relay } = require('./links')
const { join } = require('./live')

for (const rate of [20, 200, 2000]) {
  for (const trip of [0, 50, 150, 300]) module.exports[`${rate}_${trip}`] = it => follow(it, rate, trip)
}

// Frames that are looked at.
const FRAMES = 200

// No frame has a row that cannot be read, and every one has the newest row that the page was told of one frame before.
async function follow (it, rate, trip) {
  const link = await relay(it.url, trip / 2)
  const far = await open(it.context.browser(), { ...it, url: link.url })
  const { page, until, text } = far
  await far.shows('#state', /live$/)
  const player = await join(it.port)
  let said = 0
  const talk = setInterval(() => {
    for (let i = 0; i < rate / 20; i++) player.write('chat', { message: `line ${++said} of many` })
  }, 50)
  await until(async () => (await far.rows()).at(-1)?.index > 40, 'packets come in')
  const seen = await page.evaluate(async frames => {
    const list = document.querySelector('#list')
    const total = () => Number(list.getAttribute('aria-rowcount')) - 1
    const seen = { unread: 0, late: 0, steps: 0 }
    let [before, told] = [0, 0]
    for (let frame = 0; frame < frames || seen.steps < 20; frame++) {
      await new Promise(requestAnimationFrame)
      const lines = [...list.querySelectorAll('.line:not(.head)')]
      if (lines.some(it => it.innerText === '…')) seen.unread++
      const newest = Math.max(...lines.map(it => Number(it.id.slice(4))))
      if (newest < told - 1) seen.late++
      if (newest > before) seen.steps++
      before = newest
      // What came since is drawn in the next frame.
      await new Promise(resolve => setTimeout(resolve))
      told = total()
      if (frame > 10_000) break
    }
    return seen
  }, FRAMES)
  clearInterval(talk)
  player.end()
  assert.strictEqual(seen.unread, 0, JSON.stringify(seen))
  assert.strictEqual(seen.late, 0, JSON.stringify(seen))
  assert(seen.steps >= 20, JSON.stringify(seen))
  assert.strictEqual(await text('#follow', 'aria-pressed'), 'true')
  far.sound()
  await far.context.close()
}
