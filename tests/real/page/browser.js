'use strict'
// Chromium, and what a person sees and does on a page of `--web`.

const assert = require('assert')
const fs = require('fs')
const path = require('path')
const { chromium } = require('playwright-core')
const { die } = require('../common')

// Milliseconds after which something that does not happen is given up: a busy machine takes its time.
const PATIENCE = 200_000

const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** Starts the browser. */
async function launch (wanted) {
  const found = [wanted, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
    .find(it => it && fs.existsSync(it))
  if (!found) die('chromium is missing: run `tests/run`, or install it')
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return await chromium.launch({ executablePath: found, args: sandbox, timeout: PATIENCE })
}

/**
 * Opens a page as somebody who was never there. `hold` is how many milliseconds a key or button stays down,
 * `folder` where pictures go.
 */
async function open (browser, { url, port, folder, rules, hold }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  const hosts = new Set()
  const faults = []
  page.on('pageerror', error => faults.push(error.stack))
  page.on('console', message => { if (message.type() === 'error') faults.push(message.text()) })
  // A file that the page has made itself comes from no host.
  page.on('request', request => { if (!request.url().startsWith('blob:')) hosts.add(new URL(request.url()).host) })
  // A connection can be ended from here.
  await context.addInitScript(() => {
    window.sockets = []
    window.WebSocket = class extends WebSocket {
      constructor (...all) { super(...all); window.sockets.push(this) }
    }
  })
  await page.goto(url)

  const click = (where, delay = hold, more = {}) => typeof where === 'string' ? page.click(where, { delay, ...more }) : where.click({ delay, ...more })
  const press = (key, where = page.keyboard, delay = hold) => where.press(key, { delay })

  function text (where, attribute) {
    const element = page.locator(where).first()
    return attribute ? element.getAttribute(attribute) : element.textContent()
  }

  function lines () {
    return page.locator('#list .line:not(.head)').evaluateAll(all => all
      .map(it => ({ index: Number(it.id.slice(4)), text: it.innerText.replace(/\s+/g, ' '), selected: it.classList.contains('selected') }))
      .sort((one, other) => one.index - other.index))
  }

  const loaded = line => line.text !== '…'

  async function until (condition, what) {
    const begun = Date.now()
    while (!await condition()) {
      if (Date.now() - begun > PATIENCE) {
        const frame = () => Promise.race([new Promise(resolve => requestAnimationFrame(() => resolve(true))), new Promise(resolve => setTimeout(resolve, 5000, false))])
        const seen = {
          state: await text('#state'),
          notice: await text('#notice'),
          sessions: (await text('#session-list')).slice(0, 300),
          rows: (await lines()).filter((it, at) => at < 5 || it.selected).map(it => `${it.selected ? '> ' : ''}${it.text}`),
          filter: await page.inputValue('#filter'),
          message: await text('#filter-message'),
          connections: await page.evaluate(() => window.sockets.length),
          draws: await page.evaluate(frame)
        }
        throw new Error(`not so after ${PATIENCE / 1000} s: ${what}; ${JSON.stringify(seen)}`)
      }
      await new Promise(resolve => setTimeout(resolve, 30))
    }
  }

  async function shows (where, what) {
    let shown
    const fits = async () => {
      shown = (await page.locator(where).first().textContent()) ?? ''
      return what.test(shown)
    }
    await until(fits, `${where} shows ${what}`).catch(error => { throw new Error(`${error.message}; it shows ${JSON.stringify(shown)}`) })
  }

  // The visible rows, once all of them have come from the proxy.
  async function rows () {
    let all
    await until(async () => { all = await lines(); return all.every(loaded) }, 'the rows are loaded')
    return all
  }

  async function chosen () {
    return (await rows()).find(it => it.selected)
  }

  async function selected (index, text) {
    await until(async () => {
      const row = await chosen()
      return row?.index === index && text.test(row.text)
    }, `row ${index} is selected: ${text}`)
  }

  // Whether the list is that of the last filter, and its visible rows are there.
  async function applied () {
    if (await text('#list', 'aria-busy') !== 'false') return false
    const [progress, all] = await Promise.all([page.locator('#progress').isHidden(), lines()])
    const count = Number(await text('#list', 'aria-rowcount')) - 1
    return progress && (count === 0 || all.length > 0) && all.every(loaded)
  }

  async function apply (filter) {
    await click('#tab-packets')
    await page.fill('#filter', filter)
    await press('Escape')
    await page.focus('#filter')
    await press('Enter')
    await until(applied, `\`${filter}\` is applied`)
  }

  async function accessible (where) {
    const { violations } = await page.evaluate(`(async () => { ${axe}; return axe.run() })()`)
    const found = violations.map(it => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')}`)
    assert.deepStrictEqual(found, [], where)
    // Screen readers read rows in the order of the elements.
    const grids = await page.evaluate(() => [...document.querySelectorAll('[role="grid"]')].map(grid => [...grid.querySelectorAll('[aria-rowindex]')].map(row => Number(row.getAttribute('aria-rowindex')))))
    for (const rows of grids) assert.deepStrictEqual(rows, rows.toSorted((one, other) => one - other), `${where}: rows in order`)
  }

  async function picture (name) {
    if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`) })
  }

  // Nothing went wrong that no person sees.
  function sound () {
    assert.deepStrictEqual(faults, [])
    assert.deepStrictEqual([...hosts], [new URL(url).host])
  }

  return { context, page, url, port, folder, rules, hold, click, press, text, until, shows, rows, chosen, selected, applied, apply, accessible, picture, sound }
}

module.exports = { PATIENCE, launch, open }
