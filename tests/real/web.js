'use strict'
// A person with a browser: opens the page of `--web` in Chromium and uses the parts of it that a file of
// tests/real/page has, or one of them. All run even if one fails: the next then begins with a fresh page. Exits 0
// if all pass, otherwise names those that failed.

const readline = require('readline')
const { args, emit, die } = require('./common')
const { launch, open } = require('./page/browser')

const opt = args({ url: '', chromium: '', folder: '', rules: '', parts: '', part: '', hold: 0, port: 0 })

main().catch(error => die(error.stack))

async function main () {
  const browser = await launch(opt.chromium)
  const failures = []
  let it = await open(browser, opt)
  if (opt.parts !== 'recording') {
    await it.shows('#state', /^0 packets, live$/)
    await it.shows('#empty', /^No packets yet\. In the game, .*connect to localhost:\d+\.$/)
    emit('ready', {})
    // A session was played meanwhile, or begins when the part says so.
    const orders = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
    await orders.next()
  }
  for (const [name, part] of Object.entries(require(`./page/${opt.parts}`))) {
    if (opt.part && name !== opt.part) continue
    it ??= await reopen(browser)
    try {
      await part(it)
      it.sound()
    } catch (error) {
      failures.push(`${opt.parts}: ${name}: ${error.stack}`)
      await it.picture(`failed-${name}`)
      // The next part does not have what this one left.
      await it.context.close()
      it = null
    }
  }
  await browser.close()
  if (failures.length) die(failures.join('\n'))
  process.exit(0)
}

// The page after a session was played.
async function reopen (browser) {
  const it = await open(browser, opt)
  await it.shows('#session-list', /closed/)
  await it.until(it.applied, 'the list is there')
  return it
}
