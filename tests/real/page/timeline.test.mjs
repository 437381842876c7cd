import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { inIntervals, TimelinePanel } from '../../../src/web/page/timeline.js'
import { event, openDocument } from './fake_dom.mjs'

const chart = { begin: 1000, step: 0.5, series: [{ name: 'chat', packets: [1, 2, 3, 4, 5], wire: [10, 20, 30, 40, 50] }], trips: [0.1, null, null, null, 0.3] }

test('intervals are whole bins together, and the last one has what is left', () => {
  assert.strictEqual(inIntervals(chart, 0), chart)
  assert.strictEqual(inIntervals(chart, 0.5), chart)
  assert.deepStrictEqual(inIntervals(chart, 1), {
    begin: 1000, step: 1, series: [{ name: 'chat', packets: [3, 7, 5], wire: [30, 70, 50] }], trips: [0.1, null, 0.3]
  })
  assert.deepStrictEqual(inIntervals(chart, 60).series[0].packets, [15])
  assert.deepStrictEqual(inIntervals(chart, 60).trips, [0.3], 'the slowest round trip')
})

let panel

beforeEach(() => {
  openDocument()
  globalThis.devicePixelRatio = 1
  globalThis.getComputedStyle = () => ({ getPropertyValue: () => '#000' })
  panel = new TimelinePanel({ ask: async () => ({}) }, document.createElement('div'), () => {}, () => {})
  const context = new Proxy({}, { get: () => () => {}, set: () => true })
  Object.assign(panel.canvas, {
    clientWidth: 1136, clientHeight: 400, getContext: () => context, setPointerCapture () {},
    getBoundingClientRect: () => ({ left: 0, top: 0, width: 1136, height: 400 })
  })
  panel.interval.value = '0'
  panel.what.value = 'packets'
  panel.show(chart)
})

test('what is under the pointer is said, of the interval that is chosen', () => {
  // The chart is 1,000 pixels wide, from 72 on.
  const point = clientX => panel.canvas.dispatchEvent(event('pointermove', { clientX }))
  assert.strictEqual(panel.value.textContent, '')
  point(72 + 850)
  assert.match(panel.value.textContent, /^\d\d:\d\d:03\.000 to \d\d:\d\d:03\.500: chat 5, slowest round trip 300\.0 ms$/)
  panel.interval.value = '1000'
  point(72 + 250)
  assert.match(panel.value.textContent, /:01\.000 to \d\d:\d\d:02\.000: chat 3, slowest round trip 100\.0 ms$/)
  panel.what.value = 'wire'
  point(72 + 450)
  assert.match(panel.value.textContent, /:02\.000 to \d\d:\d\d:03\.000: chat 70 B$/)
  panel.canvas.dispatchEvent(event('pointerleave', {}))
  assert.strictEqual(panel.value.textContent, '')
})

test('a rate that is extrapolated is told with what was counted', () => {
  assert.match(panel.caption.textContent, /^Highest: 10 packets per second \(5 in 500 ms\)\. Slowest/)
  panel.interval.value = '1000'
  panel.draw()
  assert.match(panel.caption.textContent, /^Highest: 7 packets per second\. Slowest/)
})
