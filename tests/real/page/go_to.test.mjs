import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { GoTo } from '../../../src/web/page/go_to.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { openDocument } from './fake_dom.mjs'

let connection, dialog, opened, goTo

beforeEach(() => {
  openDocument()
  connection = new FakeConnection()
  dialog = {
    isOpen: false,
    show (title, body) {
      this.isOpen = true
      document.body.append(body)
    },
    close () { this.isOpen = false }
  }
  opened = []
  goTo = new GoTo({ connection, packets: { selected: 3 }, dialog }, row => opened.push(row))
  goTo.input.select = () => {}
  goTo.show()
})

const enter = async text => {
  goTo.input.value = text
  const going = goTo.go()
  await settled()
  return going
}

test('a packet is shown once it is found, and the dialog closes', async () => {
  enter(' 452 ')
  const { to, row, zone } = await connection.answer('go_to', { row: null, searching: true })
  assert.deepStrictEqual([to, row, zone], ['452', 3, -new Date().getTimezoneOffset()])
  assert.strictEqual(goTo.message.textContent, 'searching…')
  while (!connection.waiting.length) await settled()
  await connection.answer('go_to', { row: 17, searching: false })
  assert.deepStrictEqual([opened, dialog.isOpen], [[17], false])
})

test('what is wrong is said, and the dialog stays', async () => {
  enter('9')
  await connection.answer('go_to', { error: { message: 'there is no packet 9: session 1 has 1 to 8' } })
  assert.match(goTo.message.textContent, /1 has 1 to 8/)
  assert.deepStrictEqual([opened, dialog.isOpen], [[], true])
})

test('nothing is shown that is not meant any more', async () => {
  enter('5')
  dialog.close()
  await connection.answer('go_to', { row: 4, searching: false })
  assert.deepStrictEqual(opened, [])
})
