'use strict'
// A player on a flying-squid server, on node-minecraft-protocol, who takes turns with it: does the next thing only
// once the server has answered the one before, so that no clock decides what the two say in which order. Exits 0 once
// kicked, as it asks for at the end.

const mc = require('minecraft-protocol')
const { args, emit, die } = require('./common')

const opt = args({ version: '1.8.8', host: '127.0.0.1', port: 25565, name: 'Turner' })
const client = mc.createClient({ host: opt.host, port: opt.port, username: opt.name, version: opt.version, auth: 'offline' })
const spawn = { x: 0, y: 0, z: 0 }
let kicked = false

client.on('error', die)
client.on('disconnect', ({ reason }) => die(`disconnected at login: ${JSON.stringify(reason)}`))
client.on('kick_disconnect', () => { kicked = true })
client.on('end', reason => {
  if (!kicked) die(`connection ended early: ${reason}`)
  process.exit(0)
})

const flags = { onGround: true, hasHorizontalCollision: false }
const move = by => client.write('position', { ...spawn, x: spawn.x + by, onGround: true, flags })

// A teleport is confirmed at once, as by the game.
client.on('position', ({ x, y, z, yaw, pitch, teleportId }) => {
  Object.assign(spawn, { x, y, z })
  if (teleportId !== undefined) client.write('teleport_confirm', { teleportId })
  client.write('position_look', { ...spawn, yaw, pitch, onGround: false, flags: { ...flags, onGround: false } })
})

const place = () => new Promise(resolve => client.once('position', resolve))
const heard = words => new Promise(resolve => {
  for (const name of ['chat', 'system_chat']) {
    client.on(name, function listen (packet) {
      if (!JSON.stringify(packet).includes(words)) return
      client.removeListener(name, listen)
      resolve()
    })
  }
})

// What the player does, and the last packet with which the server answers it.
const TURNS = [
  // The server waits for a look before it ends the login.
  [() => client.write('look', { yaw: 90, pitch: 0, onGround: true, flags }), place],
  // The server lets players appear at the corner of a random block, and its /tp adds half a block: all moves stay within
  // that block, so that no run goes into another chunk.
  [() => { [0.2, 0.4, 0.3].forEach(move); client.write('arm_animation', { hand: 0 }); client.chat('hello') }, () => heard('hello')],
  [() => client.chat('/help'), () => heard('/day')],
  [() => client.chat('/tp ~ ~1 ~'), place],
  [() => client.chat('/kill'), () => heard('Usage: /kill')],
  [() => client.chat(`/kick ${opt.name}`), () => new Promise(() => {})]
]

// Health comes last in a login.
client.once('update_health', async () => {
  for (const [act, answer] of TURNS) {
    const answered = answer()
    act()
    await answered
    emit('turn', {})
  }
})
