'use strict'
// Marks, comments and exports, after a session was played.

const assert = require('assert')
const fs = require('fs')

module.exports = { marks, exported }

// Marks and comments, which every page has, and every capture that is exported.
async function marks ({ page, context, apply, selected, shows, until, click, press, url }) {
  const other = await context.newPage()
  await other.goto(url)
  await apply('chat and serverbound')
  await page.focus('#list')
  await press('Home')
  await selected(0, /hello from a real client/)
  await press('m')
  await until(async () => await page.locator('#list .line.marked').count() === 1, 'it is marked')
  await press(';')
  await page.fill('#comment', 'the <b>first</b> words')
  await press('Enter')
  await shows('#facts', /Comment the <b>first<\/b> words; #marked/)
  await press(';')
  await page.fill('#comment', 'the <i>first</i> words')
  await click('#dialog >> text="Save"')
  await shows('#facts', /Comment the <i>first<\/i> words; #marked/)
  await press(';')
  await page.fill('#comment', 'the <b>first</b> words')
  await press('Enter')
  await shows('#facts', /Comment the <b>first<\/b> words; #marked/)
  await press('w')
  await shows('#state', /marks and comments are kept in the capture of the run when that ends/)
  await other.fill('#filter', 'chat and serverbound')
  await other.keyboard.press('Enter')
  await other.locator('#list .line.marked').waitFor()
  await other.close()
}

async function exported (it) {
  const { page, apply, selected, shows, until, accessible, picture, click, press } = it
  await apply('chat and serverbound')
  await page.focus('#list')
  await press('Home')
  await selected(0, /hello from a real client/)
  if (await page.locator('#list .line.marked').count() === 0) await press('m')
  await press(';')
  await page.fill('#comment', 'the <b>first</b> words')
  await press('Enter')
  await shows('#facts', /Comment the <b>first<\/b> words; #marked/)
  await click('#export')
  await shows('#dialog', /Export/)
  await press('Escape')
  await page.focus('#list')
  await press('e')
  await accessible('export')
  const file = await download(it, 'jsonl', 'marked')
  const lines = file.toString().trim().split('\n').map(it => JSON.parse(it))
  const packets = lines.filter(it => it.packet)
  assert.deepStrictEqual(packets.map(it => [it.fields.message, it.comment]), [['hello from a real client', 'the <b>first</b> words; #marked']])
  const capture = await download(it, 'pcapng', 'list')
  assert.strictEqual(capture.readUInt32LE(0), 0x0a0d0d0a)
  assert(capture.includes('hello from a real client'))
  const shown = async (format, what) => {
    await page.selectOption('#export-from', 'selected')
    await page.selectOption('#export-format', format)
    await click('#export-run')
    await until(async () => what.test(await page.inputValue('#export-text')), `${format}: ${what}`)
  }
  await shown('rule', /^\[\[rule\]\]\nname = .*\nwhen = 'serverbound and chat and message == "hello from a real client"'/)
  await shown('command', /^mitmcraft show \S+noted\.pcapng -Y 'session\.id == 1 and pkt\.n == \d+'\n$/)
  await shown('hex', /^# .* serverbound chat, 26 bytes\n000000 {2}01 18 68 65 6c 6c 6f/)
  await shown('json', /"fields":\{"message":"hello from a real client"\}/)
  await picture('export')
  await press('Escape')
  await apply('')
}

async function download ({ page, click }, format, from) {
  await page.selectOption('#export-from', from)
  await page.selectOption('#export-format', format)
  const [saved] = await Promise.all([page.waitForEvent('download'), click('#export-run')])
  assert.strictEqual(saved.suggestedFilename(), `packets.${format}`)
  return fs.readFileSync(await saved.path())
}
