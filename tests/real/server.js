'use strict'
// A Minecraft 1.8 server on node-minecraft-protocol, sending what a real
// session has. Exits 0 after --sessions players came, said "bye" and left
// (0: runs until SIGTERM). Status pings do not count.

const mc = require('minecraft-protocol')
const { Vec3 } = require('vec3')
const { args, emit, die, settle, witness, verifyThere, namedSword, emptySlot } = require('./common')

const opt = args({
  version: '1.8.8',
  host: '127.0.0.1',
  port: 0,
  encrypt: false,
  threshold: 256, // -1: no compression packet at all, as the vanilla server does
  log: '',
  sessions: 1,
  'allow-quit': false, // a player may leave without "bye" (bot.js does)
  'session-server': '', // verify players there, as a server in online mode does
  small: false, // only the smallest chunk, for captures to keep
  quiet: false, // nothing is said about chat, of which there may be very much
  accept: 0, // the number of another version, whose clients are let in and answered as those of 1.8
  odd: false // also send packets a parser trips over; see oddPackets()
})
if (!opt.version.startsWith('1.8')) die('the packets sent here have 1.8 layouts')
witness(opt.log)

const Chunk = require('prismarine-chunk')(opt.version)
const STEVE = '069a79f4-44e9-4726-a5be-fca90e38aaf5'
const FAVICON = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAEklEQVR42mNYBQUMo4xRBukMAJiiVBCrSgnEAAAAAElFTkSuQmCC'

if (opt['session-server']) verifyThere(opt['session-server'])

const server = mc.createServer({
  host: opt.host,
  port: opt.port,
  version: opt.version,
  'online-mode': opt['session-server'] !== '',
  favicon: FAVICON,
  checkTimeoutInterval: 250, // keep-alives come within a short session, not after 4 s
  // One who quits does not wait for what is still on its way; which of the two it is depends on what
  // was being done when the connection was reset.
  errorHandler: (client, err) => {
    if (!opt['allow-quit'] || !['ECONNRESET', 'EPIPE'].includes(err.code)) die(err)
  },
  beforeLogin: setThreshold,
  beforePing: response => ({
    ...response,
    description: { text: 'mötd ☃', color: 'gold', extra: [{ text: ' 2nd part', bold: true }] },
    players: { max: 20, online: 2, sample: [{ name: 'Steve', id: STEVE }, { name: 'Alex', id: '61699b2e-d327-4a01-9f1e-0ea8c3f06bc6' }] }
  })
})
if (opt.accept) server.mcversion = { ...server.mcversion, version: opt.accept }
server.on('error', die)
server.on('listening', () => emit('listening', { port: server.socketServer.address().port }))
server.on('connection', client => { if (opt.encrypt) askForEncryption(client) })
server.on('playerJoin', play)

// nmp asks for encryption exactly where it will ask the session server next:
// for players that are online-mode exceptions. It looks the exception up once
// for each step, so the player is one until the key came back.
function askForEncryption (client) {
  let name
  client.prependOnceListener('login_start', packet => {
    name = packet.username.toLowerCase()
    server.onlineModeExceptions[name] = true
  })
  client.prependOnceListener('encryption_begin', () => { delete server.onlineModeExceptions[name] })
}

// nmp has 256 built in; it is put through these two members of the client.
function setThreshold (client) {
  const { write, setCompressionThreshold } = client
  client.write = (name, params) => {
    if (name !== 'compress') write.call(client, name, params)
    else if (opt.threshold >= 0) write.call(client, name, { threshold: opt.threshold })
  }
  client.setCompressionThreshold = () => {
    if (opt.threshold >= 0) setCompressionThreshold.call(client, opt.threshold)
  }
}

// Four layers of ground and, above it, noise up to `sections` (16 blocks each).
// Noise hardly compresses; it is seeded, so that all runs send the same bytes.
function column (sections) {
  const chunk = new Chunk()
  let seed = sections
  for (let y = 0; y < sections * 16; y++) {
    for (let z = 0; z < 16; z++) {
      for (let x = 0; x < 16; x++) {
        const pos = new Vec3(x, y, z)
        seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
        if (y < 4) chunk.setBlockStateId(pos, (y ? 3 : 7) << 4) // dirt on bedrock
        else if (sections > 1) chunk.setBlockStateId(pos, seed >>> 20)
        chunk.setSkyLight(pos, y < 4 ? 0 : 15)
      }
    }
  }
  const bitMap = 2 ** sections - 1
  return { bitMap, data: chunk.dump(bitMap) }
}

function sendWorld (client) {
  const send = (x, z, sections) => {
    const { bitMap, data } = column(sections)
    client.write('map_chunk', { x, z, groundUp: true, bitMap, chunkData: data })
  }
  send(0, 0, 1) // 12 kB, mostly zeros
  if (opt.small) return
  send(5, 0, 8) // 98 kB of noise
  send(6, 0, 16) // 197 kB
  client.write('map_chunk', { x: 9, z: 9, groundUp: true, bitMap: 0, chunkData: Buffer.alloc(0) }) // unload

  const ground = column(1)
  const around = [[-1, -1], [0, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [0, 1], [1, 1]]
  client.write('map_chunk_bulk', {
    skyLightSent: true,
    meta: around.map(([x, z]) => ({ x, z, bitMap: ground.bitMap })),
    data: Buffer.concat(around.map(() => ground.data))
  })
}

function sendOthers (client) {
  const metadata = [
    { type: 0, key: 0, value: 0 },
    { type: 1, key: 1, value: 300 },
    { type: 4, key: 2, value: 'Steve ☃' },
    { type: 3, key: 6, value: 20 },
    { type: 2, key: 7, value: 0 },
    { type: 5, key: 8, value: namedSword },
    { type: 6, key: 9, value: { x: 1, y: 2, z: -3 } },
    { type: 7, key: 11, value: { pitch: 1, yaw: 0, roll: -1 } }
  ]
  client.write('player_info', {
    action: 'add_player',
    data: [{ uuid: STEVE, name: 'Steve', properties: [{ name: 'textures', value: 'e30='.repeat(50), signature: 'c2ln'.repeat(100) }], gamemode: 0, ping: 42, displayName: '{"text":"Steve","color":"red"}' }]
  })
  client.write('player_info', { action: 'update_latency', data: [{ uuid: STEVE, ping: 50 }] })
  client.write('named_entity_spawn', { entityId: 1000, playerUUID: STEVE, x: 10 * 32, y: 4 * 32, z: 10 * 32, yaw: 10, pitch: -5, currentItem: 276, metadata })
  client.write('entity_metadata', { entityId: 1000, metadata: metadata.slice(0, 3) })
  client.write('entity_equipment', { entityId: 1000, slot: 0, item: namedSword })
  client.write('entity_velocity', { entityId: 1000, velocity: { x: 100, y: -100, z: 0 } })
  client.write('entity_teleport', { entityId: 1000, x: 320, y: 128, z: 320, yaw: 0, pitch: 0, onGround: true })
  // Many tiny packets in one go: they share TCP segments.
  for (let i = 0; i < 200; i++) {
    client.write('rel_entity_move', { entityId: 1000, dX: i % 2 ? 4 : -4, dY: 0, dZ: 0, onGround: true })
    client.write('entity_head_rotation', { entityId: 1000, headYaw: i % 128 })
  }
}

function play (client) {
  emit('join', { name: client.username, encrypted: client.cipher !== null })
  let bye = false
  let time = 0

  client.write('login', { entityId: 1, gameMode: 0, dimension: 0, difficulty: 1, maxPlayers: 20, levelType: 'default', reducedDebugInfo: false })
  client.write('custom_payload', { channel: 'MC|Brand', data: Buffer.from('\x07vanilla', 'latin1') })
  client.write('spawn_position', { location: { x: 8, y: 4, z: -8 } })
  client.write('abilities', { flags: 0, flyingSpeed: 0.05, walkingSpeed: 0.1 })
  client.write('held_item_slot', { slot: 0 })
  sendWorld(client)
  client.write('position', { x: 8.5, y: 4, z: 8.5, yaw: 0, pitch: 0, flags: 0 })
  client.write('update_health', { health: 20, food: 20, foodSaturation: 5 })
  client.write('window_items', { windowId: 0, items: [...Array(45).keys()].map(i => i % 5 ? emptySlot : { blockId: 1 + i, itemCount: 64, itemDamage: 0 }) })
  client.write('set_slot', { windowId: 0, slot: 36, item: namedSword })
  client.write('set_slot', { windowId: -1, slot: -1, item: emptySlot })
  sendOthers(client)
  client.write('world_particles', { particleId: 37, longDistance: true, x: 8, y: 5, z: 8, offsetX: 0, offsetY: 0, offsetZ: 0, particleData: 1, particles: 5, data: [4098] })
  client.write('world_particles', { particleId: 0, longDistance: false, x: 8, y: 5, z: 8, offsetX: 0, offsetY: 0, offsetZ: 0, particleData: 1, particles: 5 })
  client.write('custom_payload', { channel: 'test|empty', data: Buffer.alloc(0) })
  client.write('custom_payload', { channel: 'test|big', data: Buffer.alloc(50000, 'payload ') })
  client.write('chat', { message: JSON.stringify({ text: 'Welcome ☃ ', extra: [{ text: client.username, bold: true }] }), position: 1 })
  if (opt.odd) oddPackets(client)

  const ticker = setInterval(() => {
    client.write('update_time', { age: [0, ++time], time: [0, 1000 + time] })
    client.write('entity_move_look', { entityId: 1000, dX: 1, dY: 0, dZ: -1, yaw: time % 128, pitch: 0, onGround: true })
  }, 50)

  client.on('chat', ({ message }) => {
    if (!opt.quiet) emit('chat', { message })
    if (message === 'bye') {
      bye = true
      // Writes the kick and closes behind it at once.
      client.end('see you', JSON.stringify({ text: 'see you' }))
    } else {
      client.write('chat', { message: JSON.stringify({ translate: 'chat.type.text', with: [client.username, message] }), position: 0 })
    }
  })
  client.on('end', () => {
    clearInterval(ticker)
    settle(() => {
      emit('left', { name: client.username, bye })
      if (!bye && !opt['allow-quit']) die(`${client.username} left without a "bye"`)
      if (--opt.sessions === 0) process.exit(0)
    })
  })
}

// What a proxy must let through although it cannot make sense of it. writeRaw()
// goes around the serializer, so these overtake packets queued there.
function oddPackets (client) {
  client.writeRaw(Buffer.from('00' + '05' + 'c0ffee', 'hex')) // keep_alive with bytes left over
  client.writeRaw(Buffer.from('03' + '00000000', 'hex')) // update_time cut short
  client.writeRaw(Buffer.from('830000', 'hex')) // id 3 (update_time) in a longer varint than it needs
  client.writeRaw(Buffer.from('7f0102', 'hex')) // an id 1.8 does not have
}
