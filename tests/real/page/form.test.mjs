import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { PacketForm } from '../../../src/web/page/form.js'
import { ConnectionLost } from '../../../src/web/page/connection.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { enter, event, openDocument } from './fake_dom.mjs'

const PLACE = { session: 1, dir: 'serverbound', state: 'play', packet: 'held_item_slot' }

let connection, form
beforeEach(() => {
  openDocument()
  connection = new FakeConnection()
  form = new PacketForm(connection, 'send', 'Fields of the packet')
})

const line = (name, raw, more) => ({ pointer: `/${name}`, path: name, name, depth: 0, kind: 'number', raw, ...more })
// An answer with a form of these lines.
const formOf = (text, lines, more) => ({ form: { text, body: null, problem: null, lines, more: false, ...more } })
const field = name => form.fields.querySelector(`[data-path="${name}"]`)
const rowOf = name => field(name).closest('.field-row').textContent
const button = name => form.element.querySelectorAll('button').find(it => it.getAttribute('aria-label') === name || it.textContent === name)

// Opens a packet with these lines; its text is {"a":1}.
async function open (...lines) {
  const opened = form.open(PLACE, '{"a":1}')
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":1}', lines, { body: '0901ff' })), { ...PLACE, text: '{"a":1}' })
  await opened
}

test('a packet without fields yet is asked for with none, so that it gets the simplest', async () => {
  const opened = form.open(PLACE, null)
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":0}', [line('a', '0', { low: -128, high: 127 })])), PLACE)
  await opened
  assert.strictEqual(field('a').value, '0')
  assert.match(rowOf('a'), /-128 to 127/)
  assert.deepStrictEqual(form.content(), { fields: '{"a":0}' })
})

test('a change is sent with all fields, and can be undone', async () => {
  await open(line('a', '1'))
  assert(button('Undo').disabled)
  enter(field('a'), '2')
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":2}', [line('a', '2')])), { ...PLACE, text: '{"a":1}', change: { set: { pointer: '/a', raw: '2' } } })
  assert.deepStrictEqual(form.content(), { fields: '{"a":2}' })
  assert(!button('Undo').disabled)
  form.element.dispatchEvent(event('keydown', { key: 'z', ctrlKey: true }))
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":1}', [line('a', '1')])), { ...PLACE, text: '{"a":1}' })
  assert.strictEqual(field('a').value, '1')
  assert(button('Undo').disabled)
})

test('Ctrl-Z in the text is left to the browser', async () => {
  await open(line('a', '1'))
  enter(field('a'), '2')
  await connection.answer('form', formOf('{"a":2}', [line('a', '2')]))
  assert(form.editor.dispatchEvent(event('keydown', { key: 'z', ctrlKey: true })))
  assert.deepStrictEqual(connection.waiting, [])
})

test('an error is at its field, and at the end if the field is not shown', async () => {
  await open(line('a', '1'))
  enter(field('a'), 'x')
  await connection.answer('form', formOf('{"a":"x"}', [line('a', '"x"')], { problem: { pointer: '/a', message: 'expected an integer' } }))
  assert.match(rowOf('a'), /expected an integer/)
  assert.strictEqual(field('a').getAttribute('aria-invalid'), 'true')
  form.show(formOf('{}', [line('a', '1')], { problem: { pointer: '/b/0', message: 'missing' } }))
  assert.deepStrictEqual([form.message.textContent, field('a').getAttribute('aria-invalid')], ['b/0: missing', 'false'])
  form.show({ error: { message: 'no such packet' } })
  assert.strictEqual(form.message.textContent, 'no such packet')
})

test('a packet that is refused when it is sent is refused at its field', async () => {
  await open(line('a', '1'))
  form.refuse({ path: 'a', message: 'too large' })
  assert.match(rowOf('a'), /too large/)
  form.refuse({ path: 'b', message: 'missing' })
  assert.strictEqual(form.message.textContent, 'missing (b)')
})

test('every kind of field has its input', async () => {
  await open(line('yes', 'true', { kind: 'bool' }), line('mode', '"c"', { options: ['a', 'b'] }), line('text', '"é\\n"', { kind: 'text' }),
    line('number', '12345678901234567890'), line('list', '', { kind: 'list', count: 2 }), line('0', '1', { path: 'list[0]', pointer: '/list/0' }))
  assert.deepStrictEqual([field('yes').checked, field('mode').value, field('text').value, field('number').value], [true, 'c', 'é\n', '12345678901234567890'])
  assert.strictEqual(field('text').localName, 'textarea')
  assert.deepStrictEqual(field('mode').options.map(it => it.textContent), ['c', 'a', 'b'], 'a value that is no option stays')
  const asked = async act => {
    act()
    const { set, add, remove } = (await connection.answer('form', {})).change
    return [set?.pointer ?? add ?? remove, set?.raw]
  }
  assert.deepStrictEqual(await asked(() => { field('yes').checked = false; field('yes').dispatchEvent(new Event('change')) }), ['/yes', 'false'])
  assert.deepStrictEqual(await asked(() => enter(field('mode'), 'b')), ['/mode', '"b"'])
  assert.deepStrictEqual(await asked(() => enter(field('text'), '"')), ['/text', '"\\""'])
  assert.deepStrictEqual(await asked(() => button('Add an element to list').click()), ['/list', undefined])
  assert.deepStrictEqual(await asked(() => button('Remove list[0]').click()), ['/list/0', undefined])
})

test('a number is chosen by its name: from a list of few, typed of many', async () => {
  const few = [[0, 'peaceful'], [2, 'normal']]
  const many = [...Array(50).keys()].map(it => [it, `item ${it}`])
  await open(line('difficulty', '0', { names: few }), line('item', '3', { names: many }))
  const choice = form.fields.querySelector('[aria-label="Name of difficulty"]')
  assert.strictEqual(choice.value, '0')
  enter(choice, '2')
  assert.strictEqual((await connection.answer('form', {})).change.set.raw, '2')
  assert.match(rowOf('item'), /item 3/)
  enter(field('item'), 'item 40')
  assert.strictEqual((await connection.answer('form', {})).change.set.raw, '40')
  enter(field('item'), '41')
  assert.strictEqual((await connection.answer('form', {})).change.set.raw, '41')
})

test('form, JSON and bytes are three views of one packet', async () => {
  await open(line('a', '1'))
  await form.setMode('json')
  assert.deepStrictEqual([form.fields.hidden, form.editor.hidden, form.editor.value], [true, false, '{"a":1}'])
  enter(form.editor, '{"a":7}')
  assert.deepStrictEqual(form.content(), { fields: '{"a":7}' }, 'what is typed counts at once')
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":7}', [line('a', '7')], { body: '0907' })), { ...PLACE, text: '{"a":7}' })
  await form.setMode('hex')
  assert.strictEqual(form.editor.value, '09 07')
  // Bytes become fields, and are sent as they were typed.
  enter(form.editor, '09 8A 00')
  const switched = form.setMode('form')
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":10}', [line('a', '10')], { body: '090a' })), { ...PLACE, body: '0x098a00' })
  await switched
  assert.deepStrictEqual([form.mode, field('a').value, form.content()], ['form', '10', { body: '0x098a00' }])
  await form.setMode('hex')
  assert.strictEqual(form.editor.value, '09 8a 00')
  await form.setMode('form')
  enter(field('a'), '11')
  await connection.answer('form', formOf('{"a":11}', [line('a', '11')], { body: '090b' }))
  assert.deepStrictEqual(form.content(), { fields: '{"a":11}' })
  form.undo()
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":10}', [line('a', '10')], { body: '090a' })), { ...PLACE, body: '0x098a00' })
  assert.deepStrictEqual(form.content(), { body: '0x098a00' })
})

test('switching the view discards nothing that was typed', async () => {
  const radio = mode => form.modes.querySelectorAll('input').find(it => it.value === mode)
  for (const [mode, typed, asked] of [['json', '{"a":', { text: '{"a":' }], ['hex', '09 0', { body: '0x090' }]]) {
    await open(line('a', '1'))
    await form.setMode(mode)
    enter(form.editor, typed)
    const switched = form.setMode('form')
    assert.deepStrictEqual(await connection.answer('form', { error: { message: 'this is no packet' } }), { ...PLACE, ...asked })
    await switched
    assert.deepStrictEqual([form.mode, form.editor.value, radio(mode).checked], [mode, typed, true])
    assert.match(form.message.textContent, /^this is no packet Correct it, or undo it/)
    assert(!button('Undo').disabled && form.isChanged())
    form.undo()
    await settled()
    assert.deepStrictEqual([form.editor.value, form.message.textContent], [mode === 'json' ? '{"a":1}' : '09 01 ff', ''])
    await form.setMode('form')
    assert.strictEqual(form.mode, 'form')
  }
  // What cannot be encoded has no bytes.
  enter(field('a'), 'x')
  await connection.answer('form', formOf('{"a":"x"}', [line('a', '"x"')], { problem: { pointer: '/a', message: 'expected an integer' } }))
  await form.setMode('hex')
  assert.deepStrictEqual([form.mode, form.message.textContent], ['form', 'A packet that cannot be sent has no bytes.'])
})

test('what is one of several kinds is chosen, what may be absent is added and left out', async () => {
  await open(line('type', 'chatType', { kind: 'object', options: ['chatType', 'data'] }), line('name', 'null', { kind: 'null' }),
    line('text', '"x"', { kind: 'text', optional: true }), line('seen', '"AAAA"', { kind: 'text', encoding: 'base64' }))
  const asked = async act => {
    act()
    return (await connection.answer('form', {})).change
  }
  assert.deepStrictEqual(await asked(() => enter(field('type'), 'data')), { choose: { pointer: '/type', name: 'data' } })
  assert.deepStrictEqual(await asked(() => button('Add name').click()), { fill: '/name' })
  assert.deepStrictEqual(await asked(() => button('Leave out text').click()), { set: { pointer: '/text', raw: 'null' } })
  assert.match(rowOf('seen'), /bytes in hex/)
})

test('bits that have names are set one by one', async () => {
  await open(line('flags', '5', { flags: [[1, 'x'], [2, 'y'], [4, 'z']] }))
  const boxes = rowOf('flags') && form.fields.querySelectorAll('input').filter(it => it.getAttribute('type') === 'checkbox')
  assert.deepStrictEqual(boxes.map(it => it.checked), [true, false, true])
  const asked = async (box, on) => {
    box.checked = on
    box.dispatchEvent(new Event('change'))
    return (await connection.answer('form', {})).change.set.raw
  }
  assert.strictEqual(await asked(boxes[1], true), '7')
  assert.strictEqual(await asked(boxes[0], false), '4')
})

test('a warning of what peers do with a changed packet is there from the beginning', () => {
  form.take(PLACE, formOf('{}', [], { warning: 'this message is signed' }).form)
  assert.strictEqual(form.warning.textContent, 'Note: this message is signed.')
  form.clear()
  assert.deepStrictEqual([form.warning.textContent, form.content()], ['', { fields: '{}' }])
})

test('the focus stays in its field when the fields are drawn again', async () => {
  await open(line('a', '1'), line('b', '2'))
  field('b').focus()
  form.show(formOf('{}', [line('a', '1'), line('b', '3')]))
  assert.strictEqual(document.activeElement, field('b'))
})

test('a change that is lost with the connection is not made, says so, and is taken back', async () => {
  await open(line('a', '1'))
  enter(field('a'), '2')
  await connection.lose()
  assert.strictEqual(form.message.textContent, 'Not changed: the connection to mitmcraft is lost.')
  assert.deepStrictEqual(form.content(), { fields: '{"a":1}' })
  const renewed = form.renew()
  assert.deepStrictEqual(await connection.answer('form', formOf('{"a":1}', [line('a', '1')])), { ...PLACE, text: '{"a":1}' })
  await renewed
  assert.deepStrictEqual([field('a').value, form.message.textContent], ['1', ''])
})

test('a packet is sent with what was typed last, also before mitmcraft has answered, and changes follow each other', async () => {
  await open(line('a', '1'), line('b', '2'))
  enter(field('a'), '5')
  enter(field('b'), '6')
  let sent
  const settling = form.settled().then(() => { sent = form.content() })
  await connection.answer('form', formOf('{"a":5,"b":2}', [line('a', '5'), line('b', '2')]))
  assert.strictEqual(sent, undefined, 'a change has no answer yet')
  const second = await connection.answer('form', formOf('{"a":5,"b":6}', [line('a', '5'), line('b', '6')]))
  assert.strictEqual(second.text, '{"a":5,"b":2}', 'it is made on top of the one before')
  await settling
  assert.deepStrictEqual(sent, { fields: '{"a":5,"b":6}' })
})

test('what is typed and not left yet is sent too', async () => {
  await open(line('a', '1'))
  field('a').focus()
  field('a').value = '9'
  field('a').dispatchEvent(new Event('input'))
  const settling = form.settled()
  assert.strictEqual((await connection.answer('form', formOf('{"a":9}', [line('a', '9')]))).change.set.raw, '9')
  await settling
  assert.deepStrictEqual(form.content(), { fields: '{"a":9}' })
})

test('what is typed in a field stays when the answer to another one comes', async () => {
  await open(line('a', '1'), line('b', '2'))
  enter(field('a'), '5')
  const typing = field('b')
  typing.value = '77'
  await connection.answer('form', formOf('{"a":5}', [line('a', '5'), line('b', '2')]))
  assert.strictEqual(field('b'), typing)
  assert.strictEqual(field('b').value, '77')
})

test('nothing is sent if a change was lost with the connection', async () => {
  await open(line('a', '1'))
  enter(field('a'), '5')
  const settling = assert.rejects(form.settled(), ConnectionLost)
  await connection.lose()
  await settling
})

test('opening a packet without a connection is rejected', async () => {
  const opened = form.open(PLACE, null)
  const rejected = assert.rejects(opened, ConnectionLost)
  await connection.lose()
  await rejected
  await settled()
})

test('the way that was chosen stays chosen while changes before it are on their way', async () => {
  await open(line('a', '1'))
  for (const raw of ['2', '3']) enter(field('a'), raw)
  const [asForm, asJson] = form.modes.querySelectorAll('input')
  asJson.checked = !(asForm.checked = false)
  asJson.dispatchEvent(new Event('change'))
  for (const raw of ['2', '3']) {
    await connection.answer('form', formOf(`{"a":${raw}}`, [line('a', raw)]))
    assert.deepStrictEqual([asForm.checked, asJson.checked], [false, true])
  }
  await settled()
  assert.deepStrictEqual([form.mode, form.editor.value], ['json', '{"a":3}'])
  // The last choice counts, and with a lost connection the one before.
  enter(form.editor, '{"a":4}')
  const [first, last] = [form.setMode('hex'), form.setMode('form')]
  await connection.answer('form', formOf('{"a":4}', [line('a', '4')], { body: '0904' }))
  await Promise.all([first, last])
  assert.strictEqual(form.mode, 'form')
  enter(field('a'), '5')
  const lost = assert.rejects(form.setMode('json'))
  await connection.lose()
  await lost
  assert.deepStrictEqual([form.mode, asForm.checked], ['form', true])
})

test('bytes are written in hex, with or without spaces, and what is none is not taken', async () => {
  await open(line('data', '"ChsC"', { kind: 'text', encoding: 'base64' }), line('other', '"no base64"', { kind: 'text', encoding: 'base64' }))
  assert.strictEqual(field('data').value, '0a 1b 02')
  assert.match(rowOf('other'), /bytes in base64/)
  enter(field('data'), '0a 1')
  assert.deepStrictEqual(connection.waiting, [])
  assert.deepStrictEqual([field('data').getAttribute('aria-invalid'), /such as 0a 1b/.test(rowOf('data'))], ['true', true])
  enter(field('data'), ' 0x0A:ff ')
  const asked = await connection.answer('form', formOf('{"a":1}', [line('data', '"Cv8="', { kind: 'text', encoding: 'base64' })]))
  assert.deepStrictEqual(asked.change, { set: { pointer: '/data', raw: '"Cv8="' } })
  assert.strictEqual(field('data').value, '0a ff')
})

test('numbers are taken in hex and with spaces around them', async () => {
  const taken = async (typed, raw) => {
    await open(line('a', '1', { low: '-2147483648', high: '2147483647' }))
    assert(!/2147483647/.test(rowOf('a')), 'what any number can be is not said')
    enter(field('a'), typed)
    assert.deepStrictEqual((await connection.answer('form', formOf('{"a":5}', [line('a', raw)]))).change, { set: { pointer: '/a', raw } })
  }
  for (const [typed, raw] of [['0x05', '5'], [' 7 ', '7'], ['-0x10', '-16'], ['0xffffffffffffffff', '18446744073709551615'], ['1.5', '1.5']]) await taken(typed, raw)
})
