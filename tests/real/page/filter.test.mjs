import assert from 'node:assert'
import { beforeEach, test } from 'node:test'
import { make } from '../../../src/web/page/dom.js'
import { FilterLine } from '../../../src/web/page/filter.js'
import { FakeConnection, settled } from './fake_connection.mjs'
import { event, openDocument } from './fake_dom.mjs'

let connection, input, names, message, applied, line
beforeEach(() => {
  openDocument()
  connection = new FakeConnection()
  applied = []
  open()
})

function open () {
  input = make('input')
  names = make('ul', { id: 'completions' })
  message = make('div')
  line = new FilterLine(connection, input, names, message, filter => applied.push(filter))
}

async function type (text) {
  input.value = text
  input.dispatchEvent(new Event('input'))
  await settled()
}

// Types a text that is right, and whose last word has these completions.
async function complete (text, start, found) {
  await type(text)
  await connection.answer('check', { warnings: [] })
  assert.deepStrictEqual(await connection.answer('complete', { start, names: found }), { filter: text, at: text.length })
}

// Returns whether the key was handled here.
const press = key => !input.dispatchEvent(event('keydown', { key }))
const offered = () => names.children.map(it => it.textContent)
const chosen = () => names.querySelector('[aria-selected="true"]')?.textContent

test('an error stands under its characters, with its hint', async () => {
  await type('chat and mesage')
  await connection.answer('check', { error: { start: 9, end: 15, message: 'no such field', hint: 'did you mean `message`' } })
  await connection.answer('complete', { start: 9, names: [] })
  assert.strictEqual(message.querySelector('.caret').textContent, ' '.repeat(9) + '^'.repeat(6))
  assert.match(message.textContent, /no such field \(did you mean `message`\)$/)
  assert.strictEqual(input.getAttribute('aria-invalid'), 'true')
  await complete('chat', 0, [])
  assert.deepStrictEqual([message.textContent, input.getAttribute('aria-invalid')], ['', 'false'])
})

test('a warning is shown, and is no error', () => {
  input.value = 'chat'
  line.show({ warnings: [{ start: 0, end: 4, message: 'always false' }] })
  assert.match(message.textContent, /\^{4}always false/)
  assert.strictEqual(input.getAttribute('aria-invalid'), 'false')
})

test('a filter that is only typed looks different from one that is applied', async () => {
  const state = () => [line.pending.hidden, input.className.includes('pending')]
  assert.deepStrictEqual(state(), [true, false])
  await type('chat')
  assert.deepStrictEqual(state(), [false, true])
  press('Escape')
  assert.deepStrictEqual(state(), [false, true])
  press('Enter')
  line.setApplied('chat')
  assert.deepStrictEqual(state(), [true, false])
  line.apply('look')
  assert.deepStrictEqual(state(), [false, true], 'it is not accepted yet')
})

test('answers about a text that has changed are dropped', async () => {
  await type('a')
  input.value = 'ab'
  await connection.answer('check', { error: { message: 'wrong' } })
  await connection.answer('complete', { start: 0, names: ['abc'] })
  assert.deepStrictEqual([message.textContent, offered()], ['', []])
})

test('arrows go round the completions, and Tab takes one in place of the word', async () => {
  await complete('chat and mess', 9, ['message', 'messages'])
  assert.deepStrictEqual([offered(), input.getAttribute('aria-expanded')], [['message', 'messages'], 'true'])
  assert(press('ArrowDown') && chosen() === 'message')
  assert(press('ArrowUp') && chosen() === 'messages')
  assert.strictEqual(input.getAttribute('aria-activedescendant'), 'completions-1')
  assert(press('Tab'))
  assert.strictEqual(input.value, 'chat and messages')
  assert.deepStrictEqual([names.hidden, input.getAttribute('aria-expanded')], [true, 'false'])
  assert(!press('Tab'), 'Tab leaves the line when nothing is offered')
})

test('Enter takes a completion only if one is chosen, otherwise it applies the filter', async () => {
  await complete('cha', 0, ['chat'])
  press('Enter')
  assert.deepStrictEqual([applied, input.value], [['cha'], 'cha'])
  await complete('cha', 0, ['chat'])
  press('ArrowDown')
  press('Enter')
  assert.deepStrictEqual([applied, input.value], [['cha'], 'chat'])
})

test('a completion is taken by the mouse', async () => {
  await complete('cha', 0, ['chat', 'chatty'])
  names.children[1].dispatchEvent(event('mousedown', {}))
  assert.strictEqual(input.value, 'chatty')
})

test('nothing is offered for an empty word', async () => {
  await complete('chat ', 5, ['and', 'or'])
  assert.deepStrictEqual(offered(), [])
})

test('Escape closes the completions first, then returns to the list', async () => {
  const list = make('div', { id: 'list' })
  document.body.append(list)
  await complete('cha', 0, ['chat'])
  press('Escape')
  assert.deepStrictEqual([names.hidden, document.activeElement === list], [true, false])
  press('Escape')
  assert.strictEqual(document.activeElement, list)
})

test('earlier filters come back with the arrows, newest first and each once, also after a reload', () => {
  for (const it of ['one', 'two', 'one', '']) line.apply(it)
  assert.deepStrictEqual(applied, ['one', 'two', 'one', ''])
  open()
  const seen = ['ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowDown', 'ArrowDown'].map(key => { press(key); return input.value })
  assert.deepStrictEqual(seen, ['one', 'two', 'two', 'one', ''])
})

test('a filter is kept with the star, applied from the list of kept ones, and dropped again', () => {
  const [star, choice] = [make('button'), make('select')]
  line.keepIn(star, choice)
  assert(choice.hidden)
  input.value = ' chat '
  star.click()
  assert.deepStrictEqual([star.getAttribute('aria-pressed'), choice.hidden, choice.options.map(it => it.getAttribute('value'))], ['true', false, ['', 'chat']])
  input.value = 'other'
  input.dispatchEvent(new Event('input'))
  assert.strictEqual(star.getAttribute('aria-pressed'), 'false')
  choice.value = 'chat'
  choice.dispatchEvent(new Event('change'))
  assert.deepStrictEqual([applied, input.value, star.getAttribute('aria-pressed')], [['chat'], 'chat', 'true'])
  star.click()
  assert(choice.hidden)
  assert.strictEqual(localStorage.getItem('kept-filters'), '[]')
})

test('typing goes on when the connection is lost, and is checked again after that', async () => {
  await type('cha')
  await connection.lose()
  assert.deepStrictEqual([message.textContent, offered()], ['', []])
  await complete('chat', 0, ['chat'])
  assert.deepStrictEqual(offered(), ['chat'])
})

test('a condition is added to the filter that is applied, after those that were added before', async () => {
  let view = 'chat'
  line.onApply = filter => { view = filter }
  const [one, other] = [{ expression: 'a == 1' }, { type_of: 7 }]
  line.combine(() => view, one, 'and')
  line.combine(() => view, other, 'not')
  await settled()
  assert.strictEqual(connection.waiting.length, 1, 'the second one waits for the first')
  assert.deepStrictEqual(await connection.answer('combine', { filter: 'chat and a == 1' }), { filter: 'chat', condition: one, how: 'and' })
  assert.deepStrictEqual(await connection.answer('combine', { filter: 'x' }), { filter: 'chat and a == 1', condition: other, how: 'not' })
  assert.deepStrictEqual([view, input.value], ['x', 'x'])
})

test('a condition that cannot be added says why, and one that is added while the connection is lost is not forgotten', async () => {
  const condition = { expression: 'a' }
  line.combine(() => 'chat', condition, 'and')
  await settled()
  await connection.answer('combine', { error: { message: 'nested too deep', start: 0, end: 1 } })
  assert.match(message.textContent, /nested too deep/)
  line.combine(() => 'chat', condition, 'or')
  await settled()
  await connection.lose()
  await connection.answer('combine', { filter: 'chat or a' })
  assert.deepStrictEqual(applied, ['chat or a'])
})

test('names for a text of before are not offered for another one', async () => {
  await complete('c', 0, ['channel', 'chat'])
  await type('chat')
  assert.deepStrictEqual(offered(), ['chat'])
  await type('chat and mess')
  assert.deepStrictEqual(offered(), [])
  press('Tab')
  assert.strictEqual(input.value, 'chat and mess')
  // The answer for `chat` comes late.
  await connection.answer('check', { warnings: [] })
  await connection.answer('complete', { start: 0, names: ['chat_command'] })
  assert.deepStrictEqual(offered(), [])
  await connection.answer('check', { warnings: [] })
  await connection.answer('complete', { start: 9, names: ['message'] })
  press('Tab')
  assert.strictEqual(input.value, 'chat and message')
})
