'use strict'
// What the peers share: argument reading, JSON-line events, a way out that
// always ends, and the witness (a log of every packet body on the wire).

const fs = require('fs')
const minecraftData = require('minecraft-data')

// Seconds after which a peer that hangs ends: far more than any takes on a busy machine.
const LONGEST = 600

// stdout carries JSON lines only; libraries that print there go to stderr.
console.log = console.info = console.debug = console.error

// --name value, --name=value and bare --name; a value may be negative.
function args (defaults) {
  const out = { ...defaults }
  const argv = process.argv.slice(2)
  while (argv.length) {
    const [, key, inline] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argv.shift()) || []
    if (!(key in defaults)) die(`unknown argument; known: ${Object.keys(defaults).map(k => '--' + k).join(' ')}`)
    if (typeof defaults[key] === 'boolean') { out[key] = true; continue }
    const value = inline ?? argv.shift()
    if (value === undefined) die(`--${key} wants a value`)
    out[key] = typeof defaults[key] === 'number' ? Number(value) : value
  }
  setTimeout(() => die(`still running after ${LONGEST} s`), LONGEST * 1000)
  process.on('SIGTERM', () => process.exit(0))
  return out
}

// Straight to the descriptor: synchronous, so nothing is lost at exit.
function emit (event, fields = {}) {
  fs.writeSync(1, JSON.stringify({ event, ...fields }) + '\n')
}

function die (reason) {
  fs.writeSync(2, `${reason instanceof Error ? reason.stack : reason}\n`)
  process.exit(1)
}

// A socket's 'end' can overtake packets still in the decipher/inflate streams. These wait for
// nothing but their turn: the packets are read and logged before the next round of the loop.
const settle = fn => setImmediate(fn)

// Packet id -> name, from the protocol tables. Not from the parser, so that
// packets that do not parse get their name too.
function packetName (version, state, dir, body) {
  const side = minecraftData(version).protocol[state]?.[dir === 'clientbound' ? 'toClient' : 'toServer']
  if (!side) return null
  let id = 0
  for (let i = 0; i < Math.min(5, body.length); i++) {
    id |= (body[i] & 0x7f) << (7 * i)
    if (!(body[i] & 0x80)) break
  }
  const names = side.types.packet[1][0].type[1].mappings
  return names['0x' + id.toString(16).padStart(2, '0')] ?? null
}

// Log every packet of every connection of this process, as the bytes between
// the length prefix and the compression layer (id + fields), in wire order.
//
// nmp makes a new serializer and deserializer at each state change, so:
// - sent: tapped behind them, where the bytes enter the compressor, or the
//   framer as long as there is no compressor. Catches writeRaw() too.
// - received: tapped where the bytes enter each deserializer, before parsing.
// The Client class is patched because a server makes its own Client objects,
// and sets the first state in their constructor.
function witness (file) {
  if (!file) return
  const fd = fs.openSync(file, 'w')
  const proto = require('minecraft-protocol').Client.prototype
  const { setSerializer, setCompressionThreshold } = proto
  let connections = 0

  function log (client, sent, state, body) {
    const dir = client.isServer === sent ? 'clientbound' : 'serverbound'
    const name = packetName(client.version, state, dir, body)
    fs.writeSync(fd, JSON.stringify({ conn: client.witnessId, server: client.isServer, dir, state, name, body: body.toString('hex') }) + '\n')
  }

  function tapSent (client, stream, wanted) {
    const transform = stream._transform
    stream._transform = function (chunk, enc, cb) {
      if (wanted()) log(client, true, client.state, chunk)
      return transform.call(this, chunk, enc, cb)
    }
  }

  proto.setSerializer = function (state) {
    setSerializer.call(this, state)
    if (this.witnessId === undefined) {
      this.witnessId = connections++
      tapSent(this, this.framer, () => this.compressor === null)
    }
    const { deserializer } = this
    const write = deserializer.write
    deserializer.write = (chunk, ...rest) => {
      log(this, false, state, chunk)
      return write.call(deserializer, chunk, ...rest)
    }
  }

  proto.setCompressionThreshold = function (threshold) {
    const fresh = this.compressor === null
    setCompressionThreshold.call(this, threshold)
    if (fresh) tapSent(this, this.compressor, () => true)
  }
}

// Names the session server that nmp's servers ask about players: nmp knows none but Mojang's.
function verifyThere (host) {
  const yggdrasil = require('yggdrasil')
  const { server } = yggdrasil
  yggdrasil.server = options => server({ host, ...options })
}

// An item with nested NBT, as an enchanted and named sword has. Both peers send it.
const namedSword = {
  blockId: 276,
  itemCount: 1,
  itemDamage: 3,
  nbtData: {
    type: 'compound',
    name: '',
    value: {
      ench: { type: 'list', value: { type: 'compound', value: [{ id: { type: 'short', value: 16 }, lvl: { type: 'short', value: 5 } }] } },
      display: { type: 'compound', value: { Name: { type: 'string', value: 'Épée ⚔' }, Lore: { type: 'list', value: { type: 'string', value: ['one', 'two'] } } } },
      blob: { type: 'byteArray', value: [...Array(300).keys()].map(i => (i * 7 % 256) - 128) }
    }
  }
}
const emptySlot = { blockId: -1 }

module.exports = { args, emit, die, settle, witness, verifyThere, namedSword, emptySlot }
