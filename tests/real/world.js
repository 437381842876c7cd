'use strict'
// What a server and a client send each other beside nmp's steps until a player is in a world: the rest of the
// configuration, and after the game's `login` a position and a chunk.

const loadChunk = require('prismarine-chunk')
const loadRegistry = require('prismarine-registry')
const { Vec3 } = require('vec3')

// Ground of four layers. Chunks of 26.1 are those of later versions too.
function ground (version) {
  const registry = loadRegistry(version)
  const chunk = new (loadChunk(registry))({ minY: -64, worldHeight: 384 })
  const { stone, bedrock } = registry.blocksByName
  const pos = new Vec3(0, 0, 0)
  for (pos.y = -64; pos.y < -60; pos.y++) {
    for (pos.z = 0; pos.z < 16; pos.z++) {
      for (pos.x = 0; pos.x < 16; pos.x++) {
        chunk.setBlockStateId(pos, (pos.y === -64 ? bedrock : stone).defaultState)
      }
    }
  }
  return chunk.dump()
}

// The packs are asked for before the registries, which wait for the answer, and tags come after them.
function configure (client, age, brand) {
  const { write } = client
  const waiting = []
  let asked = age < 766
  let begun = false
  client.write = (name, params) => {
    if (!begun && name === 'registry_data') {
      begun = true
      write.call(client, 'custom_payload', { channel: 'minecraft:brand', data: Buffer.from(brand) })
      write.call(client, 'feature_flags', { features: ['minecraft:vanilla'] })
      write.call(client, 'keep_alive', { keepAliveId: [0, 11] })
      if (!asked) write.call(client, 'select_known_packs', { packs: [{ namespace: 'minecraft', id: 'core', version: '1' }] })
    }
    if (begun && !asked) return waiting.push([name, params])
    if (name === 'finish_configuration') write.call(client, 'tags', { tags: [] })
    write.call(client, name, params)
  }
  client.once('select_known_packs', () => {
    asked = true
    for (const packet of waiting) client.write(...packet)
  })
}

// From the game's `login` on.
function show (client, version, age, done) {
  const at = { x: 8.5, y: -60, z: 8.5, yaw: 0, pitch: 0 }
  client.write('abilities', { flags: 13, flyingSpeed: 0.05, walkingSpeed: 0.1 })
  client.write('held_item_slot', { slot: 0 })
  const spawn = { location: { x: 8, y: -60, z: 8 }, angle: 0 }
  client.write('spawn_position', { ...spawn, globalPos: { dimensionName: 'minecraft:overworld', location: spawn.location }, yaw: 0, pitch: 0 })
  client.write('player_info', { action: { add_player: true, update_listed: true }, data: [{ uuid: client.uuid, player: { name: client.username, properties: [] }, listed: true }] })
  client.write('position', { ...at, dx: 0, dy: 0, dz: 0, flags: age < 768 ? 0 : {}, teleportId: 1 })
  client.write('game_state_change', { reason: age < 776 ? 13 : 'level_chunks_load_start', gameMode: 0 })
  client.write('chunk_batch_start', {})
  client.write('map_chunk', {
    x: 0, z: 0, heightmaps: age < 770 ? { type: 'compound', name: '', value: {} } : [], chunkData: ground(version), blockEntities: [],
    ...(age < 776 ? { skyLightMask: [], blockLightMask: [], emptySkyLightMask: [], emptyBlockLightMask: [] } : { skyLightMask: Buffer.alloc(0), blockLightMask: Buffer.alloc(0), emptySkyLightMask: Buffer.alloc(0), emptyBlockLightMask: Buffer.alloc(0) }),
    skyLight: [], blockLight: []
  })
  client.write('chunk_batch_finished', { batchSize: 1 })
  client.once(age < 769 ? 'chunk_batch_received' : 'player_loaded', done)
}

// The client's part.
function answer (client, age, done) {
  client.once('success', () => client.write('custom_payload', { channel: 'minecraft:brand', data: Buffer.from('\x03nmp') }))
  client.once('position', ({ teleportId, x, y, z, yaw, pitch }) => {
    client.write('teleport_confirm', { teleportId, x, y, z, yaw, pitch })
    client.write('position_look', { x, y, z, yaw, pitch, onGround: false, flags: {} })
  })
  client.once('chunk_batch_finished', () => {
    client.write('chunk_batch_received', { chunksPerTick: 9 })
    if (age >= 769) client.write('player_loaded', {})
    done()
  })
}

module.exports = { configure, show, answer }
