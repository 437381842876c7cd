'use strict'
// Conversation, statistics, timeline, help, and the page as a whole, after a session was played.

const assert = require('assert')
const { PATIENCE } = require('./browser')

module.exports = { conversation, statistics, timeline, map, help, looks, narrow, reconnected, strangers }

async function conversation ({ page, chosen, shows, until, accessible, picture, click, press }) {
  await press('Escape')
  await page.focus('#list')
  await press('3')
  await shows('#conversation', /Tester: Grüße, 你好, мир/)
  await shows('#conversation', /<Tester> hello from a real client/)
  await picture('conversation')
  await accessible('conversation')
  // Lines with a text.
  const said = page.locator('#conversation .line')
  const all = await said.count()
  await page.fill('#conversation-search', 'grüße')
  await until(async () => await said.count() < all && !/…/.test((await said.allTextContents()).join()), 'only some lines')
  assert((await said.allTextContents()).every(it => /Grüße/.test(it)))
  await page.fill('#conversation-search', 'nobody says this')
  await shows('#panel-conversation .empty', /^No line has this text\.$/)
  await accessible('conversation, empty')
  await page.fill('#conversation-search', '')
  await until(async () => await said.count() === all, 'all lines')
  await click(page.locator('#conversation .when').last())
  await until(async () => /chat/.test((await chosen())?.text ?? ''), 'the packet of the line is selected')
}

async function statistics ({ page, apply, rows, shows, until, accessible, picture, click }) {
  await click('#tab-statistics')
  await shows('#panel-statistics', /Packets.*map_chunk.*Plugin channels.*test\|big.*Round trips.*keep-alive/s)
  await click(page.locator('#panel-statistics caption:text-is("Packets") + thead >> text="packets"'))
  const counts = await page.locator('#panel-statistics table').first().locator('tbody tr td:nth-child(2)').allTextContents()
  const numbers = counts.map(it => Number(it.replace(/,/g, '')))
  assert.deepStrictEqual(numbers, [...numbers].sort((one, other) => other - one), 'sorted by packets')
  await shows('#panel-statistics table', /share of packets.*[\d.]+ %/s)
  await picture('statistics')
  await accessible('statistics')
  await click(page.locator('#panel-statistics >> text="← update_health"'))
  await until(async () => (await rows()).length === 1 && /update_health/.test((await rows())[0].text), 'its packets')
  await apply('')
}

async function timeline ({ page, apply, selected, shows, text, until, accessible, picture, click, press }) {
  await apply('')
  const all = await text('#list', 'aria-rowcount')
  await page.focus('#list')
  await press('Home')
  await selected(0, /./)
  await press('5')
  await shows('#chart-caption', /Highest: [\d.,]+ packets per second.*▼ is the selected packet, at \d\d:\d\d:\d\d/)
  await shows('#chart-legend', /clientbound [\d,]+.*serverbound [\d,]+/s)
  await page.selectOption('#chart-quantity', 'wire')
  await shows('#chart-caption', /Highest: .*B per second/)
  const drawn = () => page.evaluate(() => document.querySelector('#chart').toDataURL())
  const before = await drawn()
  // Series of one's own, kept for the next time.
  await page.fill('#chart-series', 'chta')
  await press('Enter', page.locator('#chart-series'))
  await shows('#chart-problem', /no packet `chta`.*did you mean `chat`/)
  await page.fill('#chart-series', 'chat or position')
  await press('Enter', page.locator('#chart-series'))
  await shows('#chart-legend', /chat or position [\d,]+/)
  await until(async () => await drawn() !== before, 'another series')
  await page.reload()
  await shows('#chart-legend', /serverbound [\d,]+.*chat or position [\d,]+/s)
  await click(page.getByRole('button', { name: 'Remove chat or position' }), 100)
  await until(async () => await page.locator('#chart-legend li').count() === 2, 'two series')
  await shows('#chart-caption', /Slowest round trip: [\d.]+ ms/)
  // The chart is as wide as there is room.
  await page.setViewportSize({ width: 1000, height: 800 })
  await until(() => page.evaluate(() => { const it = document.querySelector('#chart'); return it.width === it.clientWidth * devicePixelRatio }), 'the chart is drawn again')
  await page.setViewportSize({ width: 1280, height: 800 })
  await until(() => page.evaluate(() => { const it = document.querySelector('#chart'); return it.width === it.clientWidth * devicePixelRatio }), 'and again')
  const box = await page.locator('#chart').boundingBox()
  // What is under the pointer, of the interval that is chosen.
  await page.selectOption('#chart-interval', '1000')
  await page.mouse.move(box.x + 80, box.y + box.height / 2)
  await shows('#chart-value', /^\d\d:\d\d:\d\d\.\d{3} to \d\d:\d\d:\d\d\.\d{3}: \S+ /)
  await page.mouse.move(box.x + 73, box.y + 50)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 4, box.y + 50, { steps: 4 })
  await page.mouse.up()
  const to = await page.getByLabel('to', { exact: true }).inputValue()
  await page.mouse.move(box.x + box.width / 2, box.y + 50)
  assert.strictEqual(await page.getByLabel('to', { exact: true }).inputValue(), to, 'the button is up')
  await picture('timeline')
  await click('text="Show only this span"')
  await shows('#state', /^[\d,]+ of [\d,]+ packets/)
  await accessible('timeline')
  await click('text="Show all"')
  await until(async () => await text('#list', 'aria-rowcount') === all, 'all packets again')
  await click('#tab-packets')
}

async function map ({ page, apply, selected, shows, until, accessible, picture, click, press }) {
  await apply('map_chunk')
  await page.focus('#list')
  await press('Home')
  await selected(0, /map_chunk/)
  await press('9')
  await shows('#map-where', /^1 chunk of minecraft:overworld in session \d+, as of the selected packet\. .*◆ The packet is about x -?\d+, z -?\d+ in minecraft:overworld\.$/)
  // The picture of the chunk is there: its pixels are neither transparent nor those of the marks.
  const colors = () => page.evaluate(() => {
    const canvas = document.querySelector('#map-canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    const colors = {}
    for (let at = 0; at < data.length; at += 4) if (data[at + 3]) colors[data.subarray(at, at + 3).join()] = (colors[data.subarray(at, at + 3).join()] ?? 0) + 1
    return colors
  })
  // It is flat: dirt in the middle shade.
  await until(async () => (await colors())['130,94,66'] > 500, 'a chunk is drawn')
  await press('ArrowRight', page.locator('#map'))
  await shows('#map-under', /^x -?\d+, z -?\d+: (\w+ at y \d+|nothing known)$/)
  await press('0', page.locator('#map'))
  await shows('#map-under', /: \w+ at y \d+$/)
  const before = Object.values(await colors()).reduce((sum, it) => sum + it, 0)
  await click('#map-in')
  await until(async () => Object.values(await colors()).reduce((sum, it) => sum + it, 0) > 2 * before, 'the chunk is larger')
  const box = await page.locator('#map').boundingBox()
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 2 + 5000, box.y + box.height / 2, { steps: 3 })
  await page.mouse.up()
  await until(async () => Object.keys(await colors()).length === 0, 'it is dragged out of sight')
  await click('#map-player')
  await until(async () => Object.keys(await colors()).length > 0, 'it is back')
  await picture('map')
  await accessible('map')
  await press('Escape')
  await apply('')
  // As of now, with the player's way.
  await page.focus('#list')
  await press('f')
  await click('#tab-map')
  await shows('#map-where', /as of now\. ● The player is at x -?\d+, y -?\d+, z -?\d+ in minecraft:overworld\.$/)
  await accessible('map, live')
  await click('#tab-packets')
}

// Every tab in both themes, and in forced colours.
async function looks ({ page, apply, accessible, picture, click }) {
  await apply('chat')
  await page.focus('#list')
  await page.keyboard.press('Home')
  for (const look of ['light', 'dark', 'forced']) {
    await page.emulateMedia({ forcedColors: look === 'forced' ? 'active' : 'none' })
    await page.evaluate(dark => document.documentElement.classList.toggle('dark', dark), look === 'dark')
    for (const tab of ['packets', 'conversation', 'statistics', 'timeline', 'map', 'control', 'rules']) {
      await click(`#tab-${tab}`)
      await accessible(`${tab}, ${look}`)
      await picture(`look-${tab}-${look}`)
    }
  }
  await page.emulateMedia({ forcedColors: 'none' })
  await click('#tab-packets')
  await apply('')
}

async function help ({ page, selected, shows, accessible, picture, click, press }) {
  await page.focus('#list')
  await press('?')
  await shows('#dialog', /Keys.*next packet.*filter/s)
  await accessible('help')
  // Keys that are single characters can do nothing.
  await page.uncheck('#single-keys')
  await press('Escape')
  await page.focus('#list')
  await press('3')
  assert(await page.locator('#panel-packets').isVisible())
  await click('#help')
  await page.check('#single-keys')
  await press('Escape')
  await page.locator('#dialog').waitFor({ state: 'hidden' })
  await click('#help')
  await page.locator('#dialog').waitFor({ state: 'visible' })
  await shows('#dialog', /Keys.*next packet/s)
  await press('Escape')
  await page.locator('#tab-packets').focus()
  await press('ArrowRight')
  await page.locator('#panel-conversation').waitFor({ state: 'visible' })
  await press('ArrowLeft')
  await page.locator('#panel-packets').waitFor({ state: 'visible' })
  await page.focus('#list')
  for (const [key, panel] of [['4', '#panel-statistics'], ['1', '#panel-packets']]) {
    await press(key)
    await page.locator(panel).waitFor({ state: 'visible' })
  }
  await press('Home')
  await selected(0, /set_protocol/)
  await accessible('packets, light')
  await picture('packets')
  await click('#theme')
  await accessible('packets, dark')
  // In forced colours, the selection can be seen.
  await page.emulateMedia({ forcedColors: 'active' })
  const back = where => page.locator(where).first().evaluate(it => getComputedStyle(it).backgroundColor)
  assert.notStrictEqual(await back('#list .line.selected'), await back('#list .line:not(.head):not(.selected)'))
  assert.notStrictEqual(await back('#session-list .line[aria-selected="true"]'), await back('#session-list .line[aria-selected="false"]'))
  await page.emulateMedia({ forcedColors: 'none' })
  await picture('packets-dark')
  await page.focus('#list')
  await press('3')
  await shows('#conversation', /Tester/)
  await accessible('conversation, dark')
  await press('1')
}

async function narrow ({ page, selected, until, accessible, picture, click, press }) {
  // On a small screen, the details of the packet to which a key goes are seen.
  await page.setViewportSize({ width: 800, height: 600 })
  await page.focus('#list')
  await press('Home')
  await selected(0, /set_protocol/)
  await press('j')
  await selected(1, /login_start/)
  await page.locator('#tree').waitFor({ state: 'visible' })
  for (const part of ['#facts', '#tree', '#hex']) {
    const box = await page.locator(part).boundingBox()
    assert(box.y + 40 < 600 && box.height > 30, `${part}: ${JSON.stringify(box)}`)
  }
  await picture('small')
  // At 200 %, the list still has ten rows before something is selected.
  await page.setViewportSize({ width: 640, height: 400 })
  await page.evaluate(() => document.querySelector('#panel-packets').classList.add('unselected'))
  await until(async () => await page.evaluate(() => Math.floor((document.querySelector('#list').clientHeight - 22) / 22)) >= 10, 'ten rows')
  await until(async () => await page.evaluate(() => document.documentElement.scrollWidth) <= 640, 'nothing is wider than the screen')
  await accessible('200 %')
  await picture('zoomed')
  await page.evaluate(() => document.querySelector('#panel-packets').classList.remove('unselected'))
  await page.setViewportSize({ width: 390, height: 844 })
  await until(async () => await page.evaluate(() => document.documentElement.scrollWidth) <= 390, 'nothing is wider than the screen')
  for (const part of ['#filter', '#search', '#session-list', '#list', '#tree', '#hex']) {
    const box = await page.locator(part).boundingBox()
    assert(box.width > 100 && box.height > 20, `${part}: ${JSON.stringify(box)}`)
  }
  await accessible('narrow')
  await picture('narrow')
  for (const theme of ['dark', 'light']) {
    for (const tab of ['timeline', 'statistics', 'rules', 'control']) {
      await click(`#tab-${tab}`)
      await page.locator(`#panel-${tab}`).waitFor({ state: 'visible' })
      assert(await page.evaluate(() => document.documentElement.scrollWidth) <= 390, `${tab} is wider than the screen`)
      await accessible(`${tab}, ${theme}, narrow`)
    }
    await click('#theme')
  }
  await click('#tab-packets')
  await page.setViewportSize({ width: 1280, height: 800 })
}

// The connection is lost, and comes again: everything on the page is still right.
async function reconnected (it) {
  const { page, apply, applied, rows, chosen, selected, shows, text, until, click, press } = it
  await apply('chat')
  const count = Number(await text('#list', 'aria-rowcount'))
  await page.focus('#list')
  await press('Home')
  await selected(0, /./)
  await press('H')
  await until(async () => await text('#list', 'aria-rowcount') === String(count - 1), 'one less')
  await press('j')
  await selected(1, /./)
  await page.fill('#search', 'hello')
  await shows('#search-count', /^\d+ match(es)?$/)
  const [found, shown, packet] = [await text('#search-count'), (await rows()).map(it => it.text), await text('#facts')]
  await lose(it)
  await page.focus('#list')
  await press('j')
  await press('o')
  await shows('#state', /live, 1 hidden/)
  await press('Escape')
  await until(applied, 'the list is asked for again')
  await until(async () => await page.inputValue('#filter') === 'pkt.name == "chat"', 'what was asked meanwhile')
  await apply('chat')
  await until(async () => await text('#list', 'aria-rowcount') === String(count - 1), 'it is still hidden')
  await page.focus('#list')
  await press('Home')
  await selected(0, /./)
  await press('j')
  await selected(1, /./)
  await until(async () => await text('#facts') === packet, 'its details')
  await lose(it)
  await shows('#state', /live, 1 hidden/)
  await until(applied, 'the list is asked for again')
  assert.deepStrictEqual((await rows()).map(it => it.text), shown)
  await selected(1, /./)
  await shows('#search-count', new RegExp(`^${found}$`))
  // Whether the echo of the first line comes before the second line is up to the server.
  await press('Home')
  await selected(0, /./)
  await press('n')
  await until(async () => (await chosen())?.index > 0, 'the search goes on')
  await page.fill('#search', '')
  await click('#tab-conversation')
  await shows('#conversation', /<Tester> hello from a real client/)
  await lose(it, '#conversation .line')
  await shows('#conversation', /<Tester> hello from a real client/)
  await click('#tab-statistics')
  await shows('#panel-statistics', /Packets.*← chat/s)
  await lose(it, '#panel-statistics')
  await shows('#panel-statistics', /Packets.*← chat/s)
  await click('#tab-packets')
  await page.focus('#list')
  await press('U')
  await until(async () => await text('#list', 'aria-rowcount') === String(count), 'all again')
  await apply('')
}

// Without the token, the page shows nothing.
async function strangers ({ context, url }) {
  const stranger = await context.browser().newPage()
  stranger.setDefaultTimeout(PATIENCE)
  await stranger.goto(url.replace(/#.*/, '#' + '0'.repeat(32)))
  await stranger.locator('#state:has-text("open the URL that it has printed")').waitFor()
  assert.strictEqual(await stranger.locator('#session-list .line').count(), 0)
  await stranger.close()
}

// Ends the connection, and waits until the page says so: it connects again soon. Elements whose content has to come
// with the new connection are emptied before that.
async function lose ({ page, until }, emptied = null) {
  // The page may have lost it by itself on a busy machine.
  await until(() => page.evaluate(() => window.sockets.at(-1).readyState === WebSocket.OPEN), 'the page is connected')
  const fault = await page.evaluate(([emptied, patience]) => new Promise(resolve => {
    const state = document.querySelector('#state')
    const watch = new MutationObserver(() => {
      if (!/^disconnected/.test(state.textContent)) return
      watch.disconnect()
      if (emptied) document.querySelectorAll(emptied).forEach(it => it.replaceChildren())
      resolve(null)
    })
    watch.observe(state, { childList: true })
    const states = () => window.sockets.map(it => it.readyState).join(' ')
    const before = states()
    window.sockets.at(-1).close()
    setTimeout(() => resolve(`sockets ${before}, then ${states()}; ${state.textContent}`), patience)
  }), [emptied, PATIENCE])
  assert.strictEqual(fault, null, 'the page does not say that it is disconnected')
}
