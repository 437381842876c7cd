'use strict'
// The filter files on the page.

const assert = require('assert')
const fs = require('fs')
const { emit } = require('../common')

module.exports = { rules, first }

// The filter file: what its rules did, errors in their places, a rule from a packet, and no file lost. The rule acts on
// the next session.
async function rules ({ page, apply, selected, shows, until, accessible, picture, click, press, rules: file }) {
  await click('#tab-packets')
  await page.focus('#list')
  await press('7')
  await shows('#rule-counts', /slots\s*[1-9]/)
  const first = await page.inputValue('#rule-text')
  assert.strictEqual(first, fs.readFileSync(file, 'utf8'))
  await page.fill('#rule-text', first.replace('held_item_slot', 'held_item_slt'))
  await shows('#rule-faults', /line 3.*error.*held_item_slt.*did you mean `held_item_slot`/s)
  assert.strictEqual(await page.locator('#rule-marks mark').textContent(), 'held_item_slt')
  const [text, mark] = await Promise.all(['#rule-text', '#rule-marks mark'].map(it => page.locator(it).boundingBox()))
  assert(mark.y > text.y + 40 && mark.y < text.y + 70, `the mark is in the third line: ${mark.y - text.y}`)
  await accessible('rules')
  // A picture says nothing of this machine.
  await page.evaluate(() => { document.querySelector('#rule-file option').textContent = 'rules.toml' })
  await picture('rules')
  await click('text="line 3"')
  assert.strictEqual(await page.evaluate(() => { const it = document.querySelector('#rule-text'); return it.value.slice(it.selectionStart, it.selectionEnd) }), 'held_item_slt', 'the error is selected')
  await click('text="Save and apply"')
  await shows('#rule-message', /Not saved: the rules have errors/)
  assert.strictEqual(fs.readFileSync(file, 'utf8'), first)
  // It has changed on disk meanwhile.
  const theirs = first + '# theirs\n'
  fs.writeFileSync(file, theirs)
  await page.fill('#rule-text', first + '# mine\n')
  await click('text="Save and apply"')
  await shows('#rule-message', /Not saved\. The file has changed on disk/)
  assert.strictEqual(fs.readFileSync(file, 'utf8'), theirs)
  await click('text="Take the text on disk"')
  await until(async () => await page.inputValue('#rule-text') === theirs, 'their text is shown')
  // What another program writes is shown at once, with its errors; what is deleted is not lost.
  fs.writeFileSync(file, first.replace('held_item_slot', 'held_item_slt'))
  await shows('#rule-message', /^The file on disk has errors: the rules from before stay active\.$/)
  await shows('#rule-faults', /line 3.*held_item_slt/s)
  fs.writeFileSync(file, theirs)
  await until(async () => await page.inputValue('#rule-text') === theirs, 'it is followed')
  await shows('#rule-message', /^$/)
  fs.unlinkSync(file)
  await shows('#rule-message', /cannot be read.*its rules stay active\. Save to write it again/)
  assert.strictEqual(await page.inputValue('#rule-text'), theirs)
  await click('text="Save and apply"')
  await shows('#rule-message', /^Saved\.$/)
  assert.strictEqual(fs.readFileSync(file, 'utf8'), theirs)
  // It changes while something else is typed.
  await page.fill('#rule-text', first + '# typed\n')
  fs.writeFileSync(file, theirs + '# again\n')
  await shows('#rule-message', /^Not saved\. The file has changed on disk since it was read\.$/)
  assert.strictEqual(await page.inputValue('#rule-text'), first + '# typed\n')
  fs.writeFileSync(file, theirs)
  await shows('#rule-message', /^Not saved\.$/)
  await page.fill('#rule-text', theirs)
  await shows('#rule-message', /^$/)
  // Or mine is kept, and saved over theirs.
  const mine = first + '# mine\n'
  fs.writeFileSync(file, theirs + '# more\n')
  await page.fill('#rule-text', mine)
  await click('text="Save and apply"')
  await shows('#rule-message', /Not saved\. The file has changed on disk/)
  assert.strictEqual(fs.readFileSync(file, 'utf8'), theirs + '# more\n')
  await click('text="Keep mine, to save it over that"')
  await shows('#rule-message', /^Not saved\.$/)
  assert.strictEqual(await page.inputValue('#rule-text'), mine)
  assert.strictEqual(fs.readFileSync(file, 'utf8'), theirs + '# more\n', 'nothing is written yet')
  await click('text="Save and apply"')
  await shows('#rule-message', /^Saved\.$/)
  assert.strictEqual(fs.readFileSync(file, 'utf8'), mine)
  fs.writeFileSync(file, theirs)
  await until(async () => await page.inputValue('#rule-text') === theirs, 'it is read again')
  // The other file; the marks move with a long text.
  await page.selectOption('#rule-file', { index: 1 })
  await until(async () => /^# more rules/.test(await page.inputValue('#rule-text')), 'the second file')
  await page.evaluate(() => { document.querySelector('#rule-text').scrollTop = 300 })
  await until(() => page.evaluate(() => {
    const [text, marks] = [document.querySelector('#rule-text'), document.querySelector('#rule-marks')]
    return text.scrollTop > 100 && text.scrollTop === marks.scrollTop
  }), 'the marks are where the text is')
  await page.selectOption('#rule-file', { index: 0 })
  await until(async () => await page.inputValue('#rule-text') === theirs, 'the first file')
  // However fast somebody types, what is typed can be saved.
  await page.evaluate(() => {
    const text = document.querySelector('#rule-text')
    for (let typed = 0; typed < 100; typed++) {
      text.value += '#'
      text.dispatchEvent(new InputEvent('input'))
    }
    text.dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true, cancelable: true }))
  })
  await shows('#rule-message', /^Saved\.$/)
  fs.writeFileSync(file, theirs)
  await until(async () => await page.inputValue('#rule-text') === theirs, 'it is read again')
  // A rule from a field of a packet.
  await apply('held_item_slot and serverbound and pkt.origin == "client"')
  await page.focus('#list')
  await press('Home')
  await selected(0, /slotId=3/)
  await click(page.locator('#tree .line', { hasText: 'slotId' }))
  await press('M')
  await page.fill('#field-value', '6')
  await press('Enter')
  await until(async () => /when = "serverbound and held_item_slot and slotId == 3"\nset {2}= { slotId = 6 }\n/.test(await page.inputValue('#rule-text')), 'the rule of the field')
  // Nothing that is not saved is lost without a question.
  const unload = () => page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })))
  assert(await unload(), 'the page asks')
  await page.focus('#rule-text')
  await press('Control+s')
  await shows('#rule-message', /^Saved\.$/)
  assert.match(fs.readFileSync(file, 'utf8'), /# theirs\n\n\[\[rule\]\]\nname = "held_item_slot from a packet"/)
  assert(!await unload(), 'everything is saved')
  await shows('#rule-counts', /held_item_slot from a packet\s*0/) // it was reloaded
  emit('saved')
  await shows('#rule-counts', /held_item_slot from a packet\s*1\s*1\s*0/)
}

// The run has no filter file: the first rule creates one, and acts on the next session.
async function first ({ page, apply, applied, selected, shows, until, press, click, text }) {
  await click('#tab-rules')
  assert.strictEqual(await page.inputValue('#rule-text'), '')
  await shows('#rule-message', /^$/)
  await apply('held_item_slot and serverbound and pkt.origin == "client"')
  await page.focus('#list')
  await press('Home')
  await selected(0, /slotId=3/)
  await press('R')
  await until(async () => /when = "serverbound and held_item_slot and slotId == 3"/.test(await page.inputValue('#rule-text')), 'the rule of the packet')
  await shows('#rule-message', /^Not saved\. Saving creates .*rules-\d{8}T\d{6}Z\.toml\.$/)
  await click('text="Show what it matches"')
  await until(applied, 'the packets that it matches')
  assert.strictEqual(await page.inputValue('#filter'), 'serverbound and held_item_slot and slotId == 3')
  assert.strictEqual(await text('#list', 'aria-rowcount'), '2')
  await click('#tab-rules')
  const changed = (await page.inputValue('#rule-text')).replace(/tag {2}= "seen"\n/, '').replace('# set   = { slotId = 3 }', 'set   = { slotId = 6 }')
  await page.fill('#rule-text', changed)
  await press('Control+s')
  await shows('#rule-message', /^Saved: .*rules-.*\.toml\. Start the proxy with -f/)
  await shows('#rule-counts', /held_item_slot from a packet\s*0/)
  emit('saved')
  await shows('#rule-counts', /held_item_slot from a packet\s*1\s*1\s*0/)
}
