import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { CaptureOpener } from '../../../src/web/page/open_capture.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { event, openDocument } from './fake_dom.mjs'

let connection, dialog, said, opener

beforeEach(() => {
  openDocument()
  connection = new FakeConnection()
  dialog = { element: document.createElement('dialog'), shown: 0, show () { this.shown++ } }
  said = []
  opener = new CaptureOpener(connection, dialog, { say: text => said.push(text) })
  opener.limit = 3 << 20
  opener.watch(document.body)
})

const file = (name, length) => Object.assign(new Blob([new Uint8Array(length).fill(1)]), { name })
const drop = (...files) => {
  const dropped = event('drop', { dataTransfer: { files } })
  document.body.dispatchEvent(dropped)
  return dropped
}
const problem = () => opener.problem.textContent

test('a file that is dropped is sent in pieces, one after the other', async () => {
  assert(drop(file('a.pcapng', (2 << 20) + 5)).defaultPrevented)
  assert.strictEqual(dialog.shown, 1)
  assert.deepStrictEqual(await connection.answer('open', {}), { name: 'a.pcapng', size: (2 << 20) + 5 })
  const sizes = []
  for (const part of [0.5, 1, 1]) {
    await settled()
    assert.strictEqual(connection.waiting.length, 1)
    sizes.push(atob((await connection.answer('open_more', {})).bytes).length)
    assert(Math.abs(opener.progress.value - part) < 0.01, `${opener.progress.value}`)
  }
  assert.deepStrictEqual([sizes, connection.waiting, problem()], [[1 << 20, 1 << 20, 5], [], ''])
})

test('what cannot be opened is said by the name of its file', async () => {
  drop(file('big.jsonl', (3 << 20) + 1))
  assert.match(problem(), /^big\.jsonl is too large: 3\.0 MiB, of at most 3\.0 MiB\. Name it on the command line/)
  drop(file('one', 1), file('two', 1))
  assert.match(problem(), /one of the 2 files/)
  assert.strictEqual(connection.waiting.length, 0)
  drop(file('text.txt', 9))
  await connection.answer('open', {})
  await settled()
  await connection.answer('open_more', { error: { message: 'cannot read `text.txt`: not a capture' } })
  assert.deepStrictEqual([problem(), opener.progress.hidden], ['Cannot read `text.txt`: not a capture.', true])
  const gone = Object.assign(file('gone', 2), { slice: () => ({ arrayBuffer: () => Promise.reject(new Error('it was deleted')) }) })
  drop(gone)
  await connection.answer('open', {})
  assert.strictEqual(problem(), 'gone cannot be read: it was deleted')
  assert.deepStrictEqual(await connection.answer('open_more', { error: { message: 'changed' } }), { bytes: '' })
})

test('a file is not sent on once the dialog is closed', async () => {
  drop(file('a.pcapng', 3 << 20))
  await connection.answer('open', {})
  await settled()
  dialog.element.dispatchEvent(event('close', {}))
  await connection.answer('open_more', {})
  await settled()
  // What was sent is forgotten, so that another page can open a capture.
  assert.deepStrictEqual(await connection.answer('open_more', { error: { message: 'changed' } }), { bytes: '' })
  await settled()
  assert.deepStrictEqual([connection.waiting, problem()], [[], ''])
  dialog.element.dispatchEvent(event('close', {}))
  assert.deepStrictEqual(connection.waiting, [])
})

test('a running proxy opens no captures, and the file does not take the place of its page', () => {
  opener.limit = null
  assert(drop(file('a.pcapng', 1)).defaultPrevented)
  assert.deepStrictEqual([dialog.shown, connection.waiting.length], [0, 0])
  assert.match(said[0], /mitmcraft view/)
})
