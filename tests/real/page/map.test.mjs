import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { MapPanel } from '../../../src/web/page/map.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { event, openDocument } from './fake_dom.mjs'

let connection, element, panel, drawn

beforeEach(() => {
  openDocument()
  drawn = []
  const context = new Proxy({}, {
    get: (of, name) => of[name] ?? ((...values) => { if (name === 'drawImage' || name === 'lineTo') drawn.push([name, ...values]) }),
    set: (of, name, value) => { of[name] = value; return true }
  })
  HTMLElement.prototype.getContext = () => context
  HTMLElement.prototype.setPointerCapture = () => {}
  globalThis.devicePixelRatio = 1
  globalThis.createImageBitmap = async blob => ({ size: blob.size, close () { this.closed = true } })
  connection = new FakeConnection()
  element = document.createElement('section')
  document.body.append(element)
  panel = new MapPanel(connection, element)
  Object.assign(panel.frame, { clientWidth: 400, clientHeight: 300 })
})

const dimension = (number, more) => ({ number, name: number ? 'minecraft:the_nether' : 'minecraft:overworld', chunks: 2, tiles: [[0, 0, 7], [9, 9, 3]], path: [[[0, 0], [4, 0]]], ...more })
const state = more => ({ row: null, session: 1, complete: true, whole: true, dimensions: [dimension(0), dimension(1, { tiles: [] })], player: { dimension: 0, x: 4, y: 64, z: -3 }, packet: null, left_out: 0, ...more })

async function shown (more) {
  panel.ask({ row: null, session: null })
  await connection.answer('map', { answer: 'done' })
  panel.take(state(more))
}

test('tiles are asked for when they can be seen, and again when they have changed', async () => {
  await shown()
  assert.deepStrictEqual(connection.waiting.map(it => it.what), ['map_tile'])
  assert.deepStrictEqual(await connection.answer('map_tile', { png: btoa('abc') }), { dimension: 0, x: 0, z: 0, row: null })
  assert.deepStrictEqual(drawn.filter(([name]) => name === 'drawImage').at(-1).slice(1), [{ size: 3, close: drawn.find(([name]) => name === 'drawImage')[1].close }, 191, 155, 256, 256])
  panel.draw()
  assert.strictEqual(connection.waiting.length, 0)
  const [, old] = drawn.find(([name]) => name === 'drawImage')
  panel.take(state({ dimensions: [dimension(0, { tiles: [[0, 0, 8]] })] }))
  await connection.answer('map_tile', { png: btoa('abcd') })
  assert(old.closed)
  assert.strictEqual(drawn.filter(([name]) => name === 'drawImage').at(-1)[1].size, 4)
})

test('what has not changed is not sent again', async () => {
  await shown()
  const changed = dimension(0, { chunks: 3, tiles: [[0, 1, 9], [0, 0, 8]], path: null })
  panel.take(state({ whole: false, complete: false, dimensions: [changed, dimension(1, { tiles: [], path: null })] }))
  assert.deepStrictEqual(panel.shown(), { ...changed, tiles: [[0, 1, 9], [0, 0, 8], [9, 9, 3]], path: [[[0, 0], [4, 0]]] })
  assert.strictEqual(panel.state.complete, false)
  panel.take(state({ dimensions: [changed] }))
  assert.deepStrictEqual(panel.shown().tiles, changed.tiles)
})

test('a push that is not wanted any more is what the next one adds to', async () => {
  await shown()
  panel.ask({ row: 5, session: null })
  panel.ask({ row: null, session: null })
  panel.take(state({ row: 5, dimensions: [dimension(0, { tiles: [[1, 1, 1]] })] }))
  assert.deepStrictEqual(panel.shown().tiles, dimension(0).tiles)
  panel.ask({ row: 5, session: null })
  panel.take(state({ row: 5, whole: false, dimensions: [dimension(0, { tiles: [[2, 2, 1]], path: null })] }))
  assert.deepStrictEqual(panel.shown().tiles, [[2, 2, 1], [1, 1, 1]])
})

test('few tiles wait for an answer at a time, and few are kept', async () => {
  const tiles = Array.from({ length: 1000 }, (_, at) => [at % 40 - 20, Math.floor(at / 40) - 12, 1])
  panel.zoom = 0
  Object.assign(panel.frame, { clientWidth: 4000, clientHeight: 3000 })
  await shown({ dimensions: [dimension(0, { tiles })] })
  assert.strictEqual(connection.waiting.length, 4)
  for (let answered = 0; connection.waiting.length; answered++) {
    assert(answered < 601)
    await connection.answer('map_tile', { png: btoa('x') })
  }
  assert.strictEqual(panel.tiles.size, 600)
})

test('keys, the wheel and the pointer move the map, whose place is said in words', async () => {
  await shown({ packet: { dimension: 0, x: 100, y: null, z: 8 } })
  assert.match(panel.where.textContent, /^2 chunks of minecraft:overworld in session 1, as of now\. ● The player is at x 4, y 64, z -3 in minecraft:overworld\. ◆ The packet is about x 100, z 8 in/)
  assert.deepStrictEqual(panel.centre, { x: 100.5, z: 8.5 })
  panel.frame.dispatchEvent(event('keydown', { key: 'ArrowRight' }))
  assert.deepStrictEqual(panel.centre, { x: 124.5, z: 8.5 })
  assert.deepStrictEqual(await connection.answer('map_block', { y: 63, name: 'stone' }), { dimension: 0, x: 124, z: 8, row: null })
  assert.strictEqual(panel.under.textContent, 'x 124, z 8: stone at y 63')
  // What comes next does not take a person elsewhere.
  panel.take(state())
  assert.strictEqual(panel.centre.x, 124.5)
  panel.frame.dispatchEvent(event('keydown', { key: '+' }))
  assert.strictEqual(panel.scale, 4)
  panel.frame.dispatchEvent(event('wheel', { deltaY: 1, clientX: 0, clientY: 150 }))
  assert.deepStrictEqual([panel.scale, panel.centre.x], [2, 174.5])
  assert.strictEqual(panel.at(0, 150).x, 74, 'what is under the pointer stays there')
  panel.frame.dispatchEvent(event('pointerdown', { pointerId: 1, clientX: 10, clientY: 10 }))
  panel.frame.dispatchEvent(event('pointermove', { clientX: 30, clientY: 0 }))
  panel.frame.dispatchEvent(event('pointerup', {}))
  assert.deepStrictEqual(panel.centre, { x: 164.5, z: 13.5 })
  panel.frame.dispatchEvent(event('keydown', { key: '0' }))
  assert.deepStrictEqual(panel.centre, { x: 4.5, z: -2.5 })
  // Other keys are those of the page.
  const other = event('keydown', { key: 'j' })
  panel.frame.dispatchEvent(other)
  assert(!other.defaultPrevented)
})

test('another dimension can be chosen, and another packet shows that of its player', async () => {
  await shown()
  assert.deepStrictEqual(panel.dimension.options.map(it => it.textContent), ['minecraft:overworld', 'minecraft:the_nether'])
  panel.dimension.value = '1'
  panel.dimension.dispatchEvent(new Event('change'))
  assert.strictEqual(panel.shown().number, 1)
  panel.take(state())
  assert.strictEqual(panel.dimension.value, '1')
  panel.ask({ row: 12, session: null })
  assert.deepStrictEqual(await connection.answer('map', { answer: 'done' }), { row: 12, session: null })
  panel.take(state({ row: 12 }))
  assert.strictEqual(panel.shown().number, 0)
})

test('without chunks, the map says so, and a lost connection leaves nothing behind', async () => {
  await shown({ dimensions: [], player: null })
  assert.match(panel.where.textContent, /^No chunks were sent/)
  panel.take(state())
  await connection.lose()
  panel.forget()
  await settled()
  assert.deepStrictEqual([panel.tiles.size, panel.asked.size, panel.state, panel.busy], [0, 0, null, false])
  panel.ask({ row: null, session: null })
  panel.ask({ row: null, session: null })
  await connection.answer('map', { answer: 'done' })
  assert.strictEqual(connection.waiting.length, 0)
  panel.take(state({ dimensions: [] }))
  assert.deepStrictEqual(connection.waiting.map(it => it.what), ['map'], 'what came meanwhile is asked for then')
})

test('the map is that of the selected packet, or of the selected session as of now if the packet is of another one', async () => {
  const asks = async (packets, session) => {
    panel.askFor({ follow: false, selected: 7, current: { session: 2 }, ...packets }, session)
    const asked = await connection.answer('map', { answer: 'done' })
    panel.take(state({ row: asked.row, session: asked.session ?? 2 }))
    return [asked.row, asked.session]
  }
  assert.deepStrictEqual(await asks({}, 0), [7, null])
  assert.deepStrictEqual(await asks({}, 2), [7, 2])
  assert.deepStrictEqual(await asks({}, 3), [null, 3])
  assert.deepStrictEqual(await asks({ follow: true }, 0), [null, null])
  assert.deepStrictEqual(await asks({ current: undefined }, -1), [7, null], 'pings are selected, and the row is not known yet')
})

test('an answer about a packet that is not selected any more is passed over, and the map of the other one is asked for', async () => {
  await shown()
  panel.ask({ row: 5, session: null })
  await connection.answer('map', { answer: 'done' })
  panel.take(state({ row: 5, complete: false }))
  panel.ask({ row: 6, session: null })
  panel.take(state({ row: 5, complete: false, dimensions: [] }))
  assert.match(panel.where.textContent, /as of the selected packet/)
  assert.deepStrictEqual(await connection.answer('map', { answer: 'done' }), { row: 6, session: null })
  panel.take(state({ row: 6, dimensions: [] }))
  assert.match(panel.where.textContent, /^No chunks/)
  panel.ask({ row: null, session: 3 })
  await connection.answer('map', { answer: 'done' })
  panel.take(state({ session: 1 }))
  assert.match(panel.where.textContent, /^No chunks/, 'it is of another session')
})

test('a tile is drawn as of the row for which it was asked, and again if its version is the same', async () => {
  const seen = () => {
    drawn = []
    panel.draw()
    return drawn.filter(([name]) => name === 'drawImage').length
  }
  const at = async (row, version) => {
    panel.ask({ row, session: null })
    await connection.answer('map', { answer: 'done' })
    panel.take(state({ row, dimensions: [dimension(0, { tiles: [[0, 0, version]] })] }))
  }
  await at(9, 7)
  // The answer comes once another row is shown.
  await at(3, 2)
  await connection.answer('map_tile', { png: btoa('of 9') })
  assert.strictEqual(seen(), 0)
  assert.strictEqual((await connection.answer('map_tile', { png: btoa('of 3') })).row, 3)
  assert.strictEqual(seen(), 1)
  await at(4, 2)
  assert.deepStrictEqual([seen(), connection.waiting.length], [1, 0])
  // As of now, more may have come than the version says.
  await at(null, 2)
  assert.strictEqual(seen(), 0)
  await connection.answer('map_tile', { png: btoa('now') })
  assert.strictEqual(seen(), 1)
  await at(4, 2)
  assert.strictEqual(seen(), 0)
})
