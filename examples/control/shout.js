// Holds what players say and forwards it in capital letters. Node 22 or later (20 with --experimental-websocket).
//
//     mitmcraft proxy localhost --control
//     node examples/control/shout.js 'ws://127.0.0.1:8768/socket#TOKEN'

const [address, token] = process.argv[2].split('#')
const socket = new WebSocket(address)
const places = new Map()
let id = 0
let seen = 0
const ask = (request, more) => socket.send(JSON.stringify({ id: ++id, do: request, ...more }))
socket.onopen = () => socket.send(JSON.stringify({ token }))
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data)
  if (message.hello) ask('break', { where: 'serverbound and role.chat' })
  // Something is held: which packets, and what is in them?
  if (message.push === 'holding') ask('held_rows', { start: 0, count: 500 })
  for (const { number, session, held } of message.answer === 'held_rows' ? message.packets : []) {
    // Numbers rise in the order in which the packets came.
    if (number <= seen) continue
    seen = number
    ask('held', { session, held })
    places.set(id, { session, held })
  }
  if (message.answer === 'held') {
    const { fields } = message
    const place = places.get(message.id)
    places.delete(message.id)
    if (!('message' in fields)) return ask('forward', place)
    console.log(`session ${place.session}: ${fields.message}`)
    ask('edit', { ...place, fields: { ...fields, message: fields.message.toUpperCase() } })
  }
  if (message.error) console.error(message.error.message)
}
