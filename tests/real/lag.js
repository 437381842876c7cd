'use strict'
// A game with one planted cause of lag, over sockets and in real time: a server that ticks and catches up as the game
// does, a client that ticks as the game does, or a link between two of them. Times are in seconds since the player
// came. `server` and `link` end with SIGTERM, `client` after --length.

const { randomBytes } = require('crypto')
const net = require('net')
const mc = require('minecraft-protocol')
const { args, emit, die } = require('./common')

const opt = args({
  role: '',
  port: 0, // what to connect to
  length: 0,
  stalls: '', // AT+LENGTH, separated by commas: when the game stands still
  flood: '', // FROM-TO+BYTES: what a plugin channel takes in each tick of the server
  chunks: 0, // bytes of chunks per tick of the server
  delay: '', // FROM-TO+SECONDS: what the link adds, both ways
  jitter: '', // FROM-TO+SECONDS: the most that it adds, at random
  speed: '' // FROM-TO+BYTES: what the link takes to the player in a second
})
const VERSION = '1.8.8'
const TICK = 50

let began = null
const now = () => began === null ? -1 : (Date.now() - began) / 1000
// A span and its value.
function planted (text) {
  const [, from, to, value] = /^([\d.]+)-([\d.]+)\+([\d.]+)$/.exec(text) ?? [null, 0, 0, 0]
  return () => now() >= Number(from) && now() < Number(to) ? Number(value) : 0
}
const stalls = opt.stalls.split(',').filter(it => it).map(it => it.split('+').map(Number))
// Does nothing else for as long as a stall says that has come.
function stall () {
  if (stalls.length === 0 || now() < stalls[0][0]) return
  const [[, length]] = stalls.splice(0, 1)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, length * 1000)
}

({ server, client, link }[opt.role] ?? (() => die(`no role: ${opt.role}`)))()

function server () {
  const host = mc.createServer({ host: '127.0.0.1', port: 0, version: VERSION, keepAlive: false, 'online-mode': false, errorHandler: () => {} })
  host.on('error', die)
  host.on('listening', () => emit('listening', { port: host.socketServer.address().port }))
  host.on('playerJoin', player => {
    began = Date.now()
    const flood = planted(opt.flood)
    player.write('login', { entityId: 1, gameMode: 0, dimension: 0, difficulty: 1, maxPlayers: 5, levelType: 'default', reducedDebugInfo: false })
    player.write('position', { x: 8, y: 70, z: 8, yaw: 0, pitch: 0, flags: 0 })
    player.write('named_entity_spawn', { entityId: 2, playerUUID: '069a79f4-44e9-4726-a5be-fca90e38aaf5', x: 0, y: 0, z: 0, yaw: 0, pitch: 0, currentItem: 0, metadata: [{ type: 0, key: 0, value: 0 }] })
    let ticks = 0
    let due = Date.now()
    const tick = () => {
      if (player.ended) return
      stall()
      ticks += 1
      if (ticks % 20 === 0) player.write('update_time', { age: [0, ticks], time: [0, ticks % 24000] })
      for (let moved = 0; moved < 3; moved++) player.write('rel_entity_move', { entityId: 2, dX: 1, dY: 0, dZ: 0, onGround: true })
      if (ticks % 40 === 0) player.write('keep_alive', { keepAliveId: ticks })
      if (flood()) player.write('custom_payload', { channel: 'shop:prices', data: randomBytes(flood()) })
      if (opt.chunks) player.write('map_chunk', { x: ticks % 16, z: 0, groundUp: false, bitMap: 0, chunkData: randomBytes(opt.chunks) })
      due += TICK
      // What is too far behind is skipped.
      if (Date.now() - due > 2000) due = Date.now()
      setTimeout(tick, Math.max(0, due - Date.now()))
    }
    tick()
  })
}

function client () {
  const player = mc.createClient({ host: '127.0.0.1', port: opt.port, version: VERSION, username: 'Player', keepAlive: false })
  player.on('error', die)
  // The game answers in its turn.
  player.on('keep_alive', ({ keepAliveId }) => player.write('keep_alive', { keepAliveId }))
  player.once('position', () => {
    began = Date.now()
    let ticks = 0
    let due = Date.now()
    const tick = () => {
      if (now() > opt.length) {
        player.end()
        setTimeout(() => process.exit(0), 500)
        return
      }
      stall()
      // At most ten ticks at once; the others are lost.
      const missed = Math.max(0, Math.floor((Date.now() - due) / TICK))
      for (let at = 0; at < Math.min(10, missed + 1); at++) {
        ticks += 1
        if (ticks % 300 < 200) player.write('position', { x: 8 + ticks / 100, y: 70, z: 8, onGround: true })
        else player.write('flying', { onGround: true })
      }
      due += (missed + 1) * TICK
      setTimeout(tick, Math.max(0, due - Date.now()))
    }
    player.write('position_look', { x: 8, y: 70, z: 8, yaw: 0, pitch: 0, onGround: true })
    tick()
  })
}

function link () {
  const [delay, jitter, speed] = [planted(opt.delay), planted(opt.jitter), planted(opt.speed)]
  const host = net.createServer(player => {
    began = Date.now()
    const target = net.connect(opt.port, '127.0.0.1')
    for (const socket of [player, target]) socket.setNoDelay(true)
    pass(player, target, () => 0)
    pass(target, player, speed)
  })
  // A network has room for some bytes, and takes no more then.
  const ROOM = 64 * 1024
  function pass (from, to, speed) {
    let free = 0
    let last = 0
    let waiting = 0
    from.on('data', bytes => {
      const at = Date.now()
      free = Math.max(free, at) + (speed() ? bytes.length / speed() * 1000 : 0)
      last = Math.max(last, free + (delay() + jitter() * Math.random()) * 1000)
      waiting += bytes.length
      if (speed() && waiting > ROOM) from.pause()
      setTimeout(() => {
        waiting -= bytes.length
        if (waiting <= ROOM) from.resume()
        to.write(bytes)
      }, last - at)
    })
    from.on('end', () => setTimeout(() => to.end(), Math.max(0, last - Date.now())))
    from.on('error', () => to.destroy())
  }
  host.on('error', die)
  host.listen(0, '127.0.0.1', () => emit('listening', { port: host.address().port }))
}
