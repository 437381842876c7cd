import assert from 'node:assert'
import { test } from 'node:test'
import { marked, places } from '../../../src/web/page/sought.js'
import { openDocument } from './fake_dom.mjs'

const bytes = text => Uint8Array.from(text, char => char.charCodeAt(0))
const found = (all, search) => [...places(all, search)].sort((one, other) => one - other)

test('what is searched is marked in texts, in any letter case, the longest first', () => {
  openDocument()
  const show = (text, ...terms) => marked(text, terms).map(it => (typeof it === 'string' ? it : `[${it.textContent}]`)).join('')
  assert.strictEqual(show('Hello hello', 'HELLO'), '[Hello] [hello]')
  assert.strictEqual(show('hello', ''), 'hello')
  assert.strictEqual(show('abcabd', 'ab', 'abd'), '[ab]c[abd]')
  // A letter with two characters in lower case.
  assert.strictEqual(show('İ hello', 'hello'), 'İ hello')
})

test('what is searched is found in bytes: as text in UTF-8 and UTF-16, or as bytes', () => {
  assert.deepStrictEqual(found(bytes('\x05Hello'), 'hello'), [1, 2, 3, 4, 5])
  assert.deepStrictEqual(found(bytes('\0h\0i'), 'hi'), [0, 1, 2, 3])
  assert.deepStrictEqual(found(new TextEncoder().encode('grün'), 'rün'), [1, 2, 3, 4])
  assert.deepStrictEqual(found(bytes('\x0a\x1b\x0a'), '0a:1B'), [0, 1])
  assert.deepStrictEqual(found(bytes('\x0a\x1b\x0a'), '0x0a'), [0, 2])
  assert.deepStrictEqual(found(bytes('0xzz'), '0xzz'), [0, 1, 2, 3], 'no bytes, so it is text')
  assert.deepStrictEqual(found(bytes('abc'), ''), [])
  assert.strictEqual(places(new Uint8Array(200_000), '00:00').size, 1001, 'so many places and no more')
})
