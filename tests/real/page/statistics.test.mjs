import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { StatisticsPanel } from '../../../src/web/page/statistics.js'
import { openDocument } from './fake_dom.mjs'

let asked, panel

beforeEach(() => {
  openDocument()
  asked = []
  panel = new StatisticsPanel({ ask: async what => { asked.push(what); return {} } }, document.createElement('div'), () => {})
})

const counted = (packet, packets, bytes) => ({ packet, dir: 'clientbound', state: 'play', packets, bytes, wire: bytes, mean: bytes / packets, largest: bytes, dropped: 0, rewritten: 0, made: 0 })
const report = packets => ({ packets, channels: [], round_trips: [], undecoded: [] })
const shares = () => panel.element.querySelectorAll('.share-cell').map(it => it.textContent)

test('packets have their share of what they are sorted by, as a bar and in words', () => {
  panel.show(report([counted('chat', 30, 100), counted('map_chunk', 10, 99_900)]))
  assert.deepStrictEqual(shares(), ['99.9 %', '0.1 %'])
  const [bar] = panel.element.querySelectorAll('progress')
  assert.deepStrictEqual([bar.getAttribute('value'), bar.getAttribute('max')], ['99900', '100000'])
  panel.sortBy('packets')
  assert.deepStrictEqual([shares(), panel.element.querySelectorAll('th').at(-1).textContent], [['75.0 %', '25.0 %'], 'share of packets'])
  // A mean has no share: the bytes have.
  panel.sortBy('mean')
  assert.deepStrictEqual(shares(), ['99.9 %', '0.1 %'])
  panel.show(report([counted('chat', 1, 1), counted('map_chunk', 1, 99_999)]))
  assert.deepStrictEqual(shares(), ['100.0 %', '<0.1 %'])
  // One type alone is all there is.
  panel.show(report([counted('chat', 30, 100)]))
  assert.deepStrictEqual(shares(), [])
})

test('packets are counted again only if more have come', async () => {
  for (const total of [5, 5, 6]) await panel.askAgain({ end: total, list: { total } })
  assert.deepStrictEqual(asked, ['statistics', 'statistics'])
})
