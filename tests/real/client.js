'use strict'
// A Minecraft 1.8 client on node-minecraft-protocol. Joins, acts, waits for its
// chat to be echoed, says "bye" and exits 0 once kicked.

const mc = require('minecraft-protocol')
const { args, emit, die, witness, namedSword, emptySlot } = require('./common')

const opt = args({ version: '1.8.8', host: '127.0.0.1', port: 25565, name: 'Tester', log: '', 'fake-host': '', odd: false, 'session-server': '', token: '', uuid: '' })
witness(opt.log)

const client = mc.createClient({
  version: opt.version,
  host: opt.host,
  port: opt.port,
  fakeHost: opt['fake-host'], // only the name in the handshake
  username: opt.name,
  sessionServer: opt['session-server'],
  auth: opt.token ? withToken : 'offline' // without a token encryption starts without a join
})

// An account that is logged in already.
function withToken (client, options) {
  client.username = opt.name
  client.session = { accessToken: opt.token, selectedProfile: { id: opt.uuid, name: opt.name } }
  options.accessToken = opt.token
  options.haveCredentials = true
  options.connect(client)
}

const LINES = ['hello from a real client', 'Grüße, 你好, мир 🎮🧱 ☃']
const missing = new Set(LINES)
let keptAlive = false
let kicked = false
let ended = false
let byeSaid = false

// With --odd the server sends packets no parser likes; they are witnessed, not fatal.
client.on('error', err => { if (!opt.odd) die(err); console.error(err.message) })
client.on('disconnect', ({ reason }) => die(`disconnected at login: ${reason}`))
client.on('login', () => {
  emit('login', { name: client.username, encrypted: client.cipher !== null, threshold: client.compressionThreshold })
  client.write('custom_payload', { channel: 'MC|Brand', data: Buffer.from('\x07vanilla', 'latin1') })
  client.write('settings', { locale: 'en_US', viewDistance: 8, chatFlags: 0, chatColors: true, skinParts: 127 })
})
client.once('position', act)

function act ({ x, y, z, yaw, pitch }) {
  emit('position', { x, y, z })
  client.write('position_look', { x, y, z, yaw, pitch, onGround: false })

  client.write('flying', { onGround: true })
  for (let i = 1; i <= 10; i++) client.write('position', { x: x + i / 10, y, z, onGround: true })
  client.write('look', { yaw: 90, pitch: -30, onGround: true })
  client.write('held_item_slot', { slotId: 3 })
  client.write('arm_animation', {})
  client.write('entity_action', { entityId: 1, actionId: 'start_sprinting', jumpBoost: 0 })
  client.write('use_entity', { target: 1000, mouse: 2, x: 0.1, y: 1.5, z: -0.1 })

  const location = { x: 9, y: 3, z: -8 } // negative: all three parts of the packed position matter
  client.write('block_dig', { status: 0, location, face: 1 })
  client.write('block_dig', { status: 2, location, face: 1 })
  client.write('block_place', { location, direction: 1, heldItem: namedSword, cursorX: 8, cursorY: 15, cursorZ: 8 })
  client.write('block_place', { location: { x: -1, y: -1, z: -1 }, direction: -1, heldItem: emptySlot, cursorX: 0, cursorY: 0, cursorZ: 0 })
  client.write('window_click', { windowId: 0, slot: 36, mouseButton: 0, action: 1, mode: 0, item: namedSword })
  client.write('close_window', { windowId: 0 })
  client.write('client_command', { payload: 'open_inventory_achievement' })

  client.write('custom_payload', { channel: 'test|empty', data: Buffer.alloc(0) })
  client.write('custom_payload', { channel: 'test|big', data: Buffer.from([...Array(20000).keys()].map(i => i * i % 251)) })

  for (const message of LINES) client.write('chat', { message })
}

// nmp answers keep-alives by itself; staying for one has that in the session too.
client.on('keep_alive', () => { keptAlive = true; sayBye() })
client.on('chat', ({ message }) => {
  const { with: parts } = JSON.parse(message)
  if (parts && missing.delete(parts[1])) emit('echo', { message: parts[1] })
  sayBye()
})
// The last packet: the server closes when it has come, so that an answer sent later could be lost.
function sayBye () {
  if (byeSaid || missing.size || !keptAlive) return
  byeSaid = true
  client.removeAllListeners('keep_alive')
  client.write('chat', { message: 'bye' })
}

// The kick is the server's last packet. It can come after 'end', which overtakes what is still in the
// decipher and inflate streams: done when both have come.
client.on('kick_disconnect', ({ reason }) => {
  kicked = true
  emit('kicked', { reason: JSON.parse(reason) })
  leave()
})
client.on('end', reason => {
  if (!byeSaid) die(`connection ended (${reason}) before the end of the script; not echoed: ${[...missing]}`)
  ended = true
  leave()
})
function leave () { if (kicked && ended) process.exit(0) }
