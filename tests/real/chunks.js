'use strict'
// What prismarine's packages say of real packets (minecraft-packets), of chunks that prismarine-chunk writes
// itself, and of those that a flying-squid server sends: a line of JSON for each packet, with its bytes.

const { spawn } = require('child_process')
const crypto = require('crypto')
const { once } = require('events')
const path = require('path')
const { createInterface } = require('readline')
const packets = require('minecraft-packets').pc
const loadChunk = require('prismarine-chunk')
const loadEntity = require('prismarine-entity')
const loadItem = require('prismarine-item')
const loadRegistry = require('prismarine-registry')
const { createClient, createSerializer } = require('minecraft-protocol')
const { Vec3 } = require('vec3')

const AIR = ['air', 'cave_air', 'void_air']

const print = line => process.stdout.write(JSON.stringify(line) + '\n')

function count (values) {
  const counts = new Map()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
}

// The name of a state with its properties, from 1.13 on: `oak_slab[type=top,waterlogged=false]`.
function namer (registry) {
  const known = new Map()
  return state => {
    if (!known.has(state)) {
      const block = registry.blocksByStateId[state]
      let rest = state - block.minStateId
      const properties = []
      for (const property of [...block.states].reverse()) {
        const index = rest % property.num_values
        rest = Math.floor(rest / property.num_values)
        const values = property.type === 'bool' ? ['true', 'false'] : property.values
        properties.push(`${property.name}=${values?.[index] ?? index}`)
      }
      known.set(state, `${block.name}[${properties.sort().join(',')}]`)
    }
    return known.get(state)
  }
}

// Every block from the lowest up, by z and x, with the counts of names and biomes.
function describe (registry, chunk, bottom, top) {
  const flat = registry.version['>=']('1.13')
  const name = state => flat ? registry.blocksByStateId[state].name : registry.blocks[state >> 4].name
  const states = []
  const light = []
  const pos = new Vec3(0, 0, 0)
  for (pos.y = bottom; pos.y < top; pos.y++) {
    for (pos.z = 0; pos.z < 16; pos.z++) {
      for (pos.x = 0; pos.x < 16; pos.x++) {
        states.push(chunk.getBlockStateId(pos))
        // Between them light has packets of its own.
        if (!registry.version['>=']('1.14') || registry.version['>=']('1.18')) {
          const section = light[pos.y - bottom >> 4] ??= [0, 0]
          section[0] += chunk.getBlockLight(pos)
          section[1] += chunk.getSkyLight(pos)
        }
      }
    }
  }
  const bytes = Buffer.from(Uint32Array.from(states).buffer)
  const biomes = []
  const cells = registry.version['>=']('1.15')
  for (pos.y = bottom; pos.y < (cells ? top : bottom + 1); pos.y += 4) {
    for (pos.z = 0; pos.z < 16; pos.z += cells ? 4 : 1) {
      for (pos.x = 0; pos.x < 16; pos.x += cells ? 4 : 1) biomes.push(chunk.getBiome(pos))
    }
  }
  return {
    bottom,
    top,
    states: crypto.createHash('sha1').update(bytes).digest('hex'),
    named: flat ? crypto.createHash('sha1').update(states.map(namer(registry)).join('\n')).digest('hex') : undefined,
    names: count(states.map(name).filter(name => !AIR.includes(name))).slice(0, 5),
    biomes: count(biomes),
    light
  }
}

function loadLight (chunk, fields) {
  const { skyLight, blockLight, skyLightMask, blockLightMask, emptySkyLightMask, emptyBlockLightMask } = fields
  chunk.loadParsedLight(skyLight, blockLight, skyLightMask, blockLightMask, emptySkyLightMask, emptyBlockLightMask)
}

for (const [version, directions] of Object.entries(packets)) {
  const registry = loadRegistry(version)
  const Chunk = loadChunk(registry)
  const Item = loadItem(registry)
  const Entity = loadEntity(registry)
  const kinds = directions['from-server']
  const tall = registry.version['>=']('1.18')
  const [bottom, top] = tall ? [-64, 320] : [0, 256]
  for (const { raw, json } of kinds.map_chunk ?? []) {
    if (!json.chunkData.data.length) continue
    const chunk = new Chunk({ minY: bottom, worldHeight: top - bottom })
    chunk.load(Buffer.from(json.chunkData.data ?? json.chunkData), json.bitMap, true, json.groundUp ?? true)
    if (tall) loadLight(chunk, json)
    if (registry.version['>=']('1.15') && !tall && json.biomes) chunk.loadBiomes(json.biomes)
    print({ version, name: 'map_chunk', real: true, body: raw.toString('base64'), ...describe(registry, chunk, bottom, top) })
  }
  for (const name of ['set_slot', 'window_items']) {
    for (const { raw, json } of kinds[name] ?? []) {
      const slots = [].concat(json.items ?? json.item)
      const items = slots.map(slot => Item.fromNotch(slot)).filter(item => item).map(item => item.name)
      print({ version, name, body: raw.toString('base64'), items })
    }
  }
  // Versions whose keys of metadata have names: entities, and what changes of them.
  if (version === '1.8.8' || registry.version['>=']('1.19.4')) {
    for (const name of ['spawn_entity_living', 'spawn_entity', 'named_entity_spawn', 'entity_metadata']) {
      for (const { raw, json } of kinds[name] ?? []) {
        print({ version, name, body: raw.toString('base64'), keys: (json.metadata ?? []).map(it => it.key) })
      }
    }
  }
  for (const name of ['spawn_entity_living', 'spawn_entity']) {
    // Objects have numbers of their own up to 1.13, and mobs other names up to 1.10.
    if (!registry.version['>='](name === 'spawn_entity' ? '1.14' : '1.11')) continue
    for (const { raw, json } of kinds[name] ?? []) {
      const entity = new Entity(json.entityId)
      entity.name = registry.entitiesArray.find(it => it.id === json.type && (it.type !== 'object' || registry.version['>=']('1.14'))).name
      print({ version, name, body: raw.toString('base64'), entity: entity.name })
    }
  }
}

// A chunk of 1.8, of which no package has one with blocks.
{
  const version = '1.8.8'
  const registry = loadRegistry(version)
  const chunk = new (loadChunk(registry))()
  const pos = new Vec3(0, 0, 0)
  let seed = 1
  for (pos.y = 0; pos.y < 256; pos.y++) {
    for (pos.z = 0; pos.z < 16; pos.z++) {
      for (pos.x = 0; pos.x < 16; pos.x++) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
        chunk.setBlockStateId(pos, (seed >>> 8) % 198 << 4 | seed >>> 28)
      }
    }
  }
  const serializer = createSerializer({ state: 'play', isServer: true, version, customPackets: {} })
  const params = { x: -9, z: 12, groundUp: true, bitMap: 0xffff, chunkData: chunk.dump() }
  const body = serializer.createPacketBuffer({ name: 'map_chunk', params })
  print({ version, name: 'map_chunk', body: body.toString('base64'), ...describe(registry, chunk, 0, 256) })
}

// Chunks that no package has from real servers: palettes of all widths, and none.
for (const version of ['1.20.4', '1.21.4', '1.21.5', '1.21.11', '26.1']) {
  const registry = loadRegistry(version)
  const Chunk = loadChunk(registry)
  const chunk = new Chunk({ minY: -64, worldHeight: 384 })
  const known = Math.max(...Object.keys(registry.blocksByStateId).map(Number))
  const pos = new Vec3(0, 0, 0)
  let seed = 1
  for (pos.y = -64; pos.y < 320; pos.y++) {
    const kinds = [1, 2, 15, 16, 17, 200, 256, 2000][(pos.y + 64 >> 4) % 8]
    for (pos.z = 0; pos.z < 16; pos.z++) {
      for (pos.x = 0; pos.x < 16; pos.x++) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
        const state = kinds === 1 ? 5 : (seed >>> 8) % kinds * Math.floor(known / 2000)
        chunk.setBlockStateId(pos, state)
        if (!((pos.x | pos.y | pos.z) & 3)) chunk.setBiome(pos, (seed >>> 4) % (kinds % 40 + 1))
      }
    }
  }
  const serializer = createSerializer({ state: 'play', isServer: true, version, customPackets: {} })
  const heightmaps = registry.version['>=']('1.21.5') ? [] : { type: 'compound', name: '', value: {} }
  const body = serializer.createPacketBuffer({
    name: 'map_chunk',
    params: {
      x: -9, z: 12, heightmaps, chunkData: chunk.dump(), blockEntities: [],
      skyLightMask: [], blockLightMask: [], emptySkyLightMask: [], emptyBlockLightMask: [], skyLight: [], blockLight: []
    }
  })
  print({ version, name: 'map_chunk', body: body.toString('base64'), ...describe(registry, chunk, -64, 320) })
}

// The chunks that a server with hills sends a player, in the newest versions that it knows.
async function served (version) {
  const server = spawn(process.execPath, [path.join(__dirname, 'squid.js'), '--version', version, '--generation', 'diamond_square'])
  const [line] = await once(createInterface(server.stdout), 'line')
  const registry = loadRegistry(version)
  const Chunk = loadChunk(registry)
  const client = createClient({ version, host: '127.0.0.1', port: JSON.parse(line).port, username: 'Steve' })
  let chunks = 0
  client.on('packet', (fields, meta, _, raw) => {
    if (meta.name !== 'map_chunk' || ++chunks > 8) return
    const chunk = new Chunk({ minY: -64, worldHeight: 384 })
    chunk.load(fields.chunkData)
    loadLight(chunk, fields)
    print({ version, name: 'map_chunk', server: true, body: raw.toString('base64'), ...describe(registry, chunk, -64, 320) })
    if (chunks === 8) client.end()
  })
  await once(client, 'end')
  await once(server, 'exit')
}

served('1.20.4').then(() => served('1.21.4'))
