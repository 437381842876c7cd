'use strict'
// Gives minecraft-data the versions that it does not have yet, with mitmcraft's own tables.
// docs/protocol-tables.md describes the file that they are read from.

const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const data = require('minecraft-data/data')

const NEWEST = '26.1'
const STATES = ['handshaking', 'status', 'login', 'configuration', 'play']

const file = path.join(__dirname, '../../crates/protocol/src/schema/data/java.bin')
const [first, ...lines] = zlib.inflateSync(fs.readFileSync(file)).toString().split('\n')
const head = JSON.parse(first)

function types (section) {
  if (section === null) return undefined
  let id = 0
  const definitions = head.sections[section].map(step => {
    const [name, json] = lines[id += step].split('\t')
    // Extensions of ProtoDef.
    const definition = JSON.parse(json, (key, value) => {
      if (key === 'negative') return undefined
      return value?.[0] === 'sized' ? ['buffer', { countType: value[1].countType }] : value
    })
    return [name, name === 'packet' ? packets(definition) : definition]
  })
  return Object.fromEntries(definitions)
}

function packets (list) {
  const mappings = {}
  const fields = {}
  let next = 0
  for (const packet of list) {
    const [id, name, type] = Array.isArray(packet) ? packet : [next, packet, `packet_${packet}`]
    mappings[`0x${id.toString(16).padStart(2, '0')}`] = name
    fields[name] = type
    next = id + 1
  }
  return ['container', [
    { name: 'name', type: ['mapper', { type: 'varint', mappings }] },
    { name: 'params', type: ['switch', { compareTo: 'name', fields }] }
  ]]
}

function protocol ({ sections: [global, ...sections] }) {
  const table = { types: types(global) }
  for (const state of STATES) {
    const [toClient, toServer] = sections.splice(0, 2)
    table[state] = { toClient: { types: types(toClient) }, toServer: { types: types(toServer) } }
  }
  return table
}

for (const table of head.versions) {
  const name = table.names.at(-1)
  if (table.version < data.pc[NEWEST].version.version || table.version >= 1 << 30 || table.names.some(name => data.pc[name])) continue
  data.pc[name] = Object.create(data.pc[NEWEST], {
    protocol: { get: () => protocol(table), enumerable: true },
    version: { value: { version: table.version, minecraftVersion: name, majorVersion: name, releaseType: 'release' }, enumerable: true }
  })
}

// The login packet of 26.1 with what 26.2 and 26.3 changed.
function newestLoginPacket (packet, version) {
  const worldState = { ...packet.worldState, previousGamemode: version >= 777 ? 0 : 255 }
  return { ...packet, onlineMode: false, worldState }
}

module.exports = { newestLoginPacket }
