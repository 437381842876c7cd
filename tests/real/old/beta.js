'use strict'
// Two players of Beta 1.7.3 (protocol 14) for mc173-server, which answers commands in chat.
//   node beta.js PORT
// Prints JSON lines: what the server answered, and at the end the hashes of each player's bytes in both
// directions.

const { Client, fields, tell, utf16 } = require('./raw')
const sleep = require('util').promisify(setTimeout)

const { byte, short, int, float, double, text } = fields
const item = (id, count, damage) => Buffer.concat([short(id), byte(count), short(damage)])
const NOTHING = short(-1)

class Player extends Client {
  // Runs a command of the server, and returns the value of its answer: `§aHeight:§r 68`.
  async command (line, answer) {
    this.send(0x03, text(line))
    const label = `§a${answer}§r `
    await this.says(label)
    // The text's length stands before it.
    const start = this.position - 2 * label.length
    const length = this.heard.readInt16BE(start - 2)
    await this.wait(2 * (length - label.length), answer)
    const said = Buffer.from(this.heard.subarray(start, start + 2 * length)).swap16().toString('utf16le')
    const value = said.slice(label.length)
    tell({ event: 'answer', line, answer, value })
    return value
  }

  // Waits until the server has done what was asked of it.
  done () { return this.command('/effect click', 'Played effect:') }
  async ticks () { return Number(await this.command('/time', 'Server time:')) }

  async login () {
    this.send(0x02, text(this.name))
    await this.until(Buffer.concat([Buffer.from([0x02]), text('-')]), 'the answer to the handshake')
    this.send(0x01, int(14), text(this.name), Buffer.alloc(9))
    await this.ticks()
  }

  move (x, y, z) { this.send(0x0b, double(x), double(y), double(y + 1.62), double(z), byte(0)) }
  dig (status, x, y, z) { this.send(0x0e, byte(status), int(x), byte(y), int(z), byte(1)) }
  use (x, y, z, held = NOTHING) { this.send(0x0f, int(x), byte(y), int(z), byte(1), held) }

  // Returns the height of the first free block above a place, which the server knows once it is loaded.
  async ground (x, z) {
    while (true) {
      this.move(x + 0.5, 100, z + 0.5)
      this.send(0x03, text('/pos'))
      await this.says('§aBlock:§r ')
      const start = this.position
      await this.says('§aSky light:§r ')
      const answers = this.heard.subarray(start, this.position).toString('latin1').replaceAll('\0', '')
      const found = answers.match(/Height:\xa7r (\d+)/)
      if (found) return Number(found[1])
      await sleep(250)
    }
  }

  // Puts an item into the first slot, and uses it on the ground.
  async place (id, x, z) {
    const y = await this.ground(x, z)
    this.move(x + 1.5, y, z + 0.5)
    this.send(0x03, text(`/give ${id} 1`))
    await this.says('§aGiving §r')
    this.use(x, y - 1, z, item(id, 1, 0))
    await this.done()
    return y
  }
}

async function play (port) {
  const steve = new Player(port, 'Steve')
  await steve.login()
  // Nothing moves by itself while the chunks come.
  await steve.command('/tick freeze', 'World ticking:')
  const height = await steve.ground(0, 0)
  tell({ event: 'ground', height })
  await steve.command('/tick auto', 'World ticking:')
  const alex = new Player(port, 'Alex')
  await alex.login()

  // Moves, and what others see.
  steve.move(0.5, height, 0.5)
  steve.send(0x0c, float(90), float(-12.5), byte(1))
  steve.send(0x0d, double(0.75), double(height), double(height + 1.62), double(0.25), float(180), float(45), byte(1))
  steve.send(0x0a, byte(1))
  steve.send(0x10, short(2))
  steve.send(0x10, short(0))
  steve.send(0x12, int(0), byte(1))
  steve.send(0x13, int(0), byte(1))
  steve.send(0x13, int(0), byte(2))
  await steve.done()

  // Blocks with windows, a sign, and one that is played.
  const chest = await steve.place(54, 4, 0)
  steve.use(4, chest, 0)
  await steve.done()
  steve.send(0x66, byte(1), short(0), byte(0), short(1), byte(0), NOTHING)
  steve.send(0x65, byte(1))
  await steve.place(61, 4, 2)
  const sign = await steve.place(323, 4, 4)
  steve.send(0x82, int(4), short(sign), int(4), ...['mitmcraft', 'Grüße', '', '☃'].map(text))
  const note = await steve.place(25, 4, 6)
  steve.use(4, note, 6)
  await steve.done()

  // Digging, and what falls out.
  const top = await steve.ground(-3, -3)
  steve.move(-1.5, top, -2.5)
  steve.dig(0, -3, top - 1, -3)
  // Dirt takes 15 ticks.
  for (const start = await steve.ticks(); await steve.ticks() < start + 20;) await sleep(250)
  steve.dig(2, -3, top - 1, -3)
  await steve.done()

  // Entities. In a world that stands still, none looks for a player: mc173 0.2.0 can loop for ever in that.
  await steve.command('/tick freeze', 'World ticking:')
  for (const kind of ['pig', 'sheep', 'creeper', 'slime', 'boat', 'minecart']) {
    const id = Number(await steve.command(`/spawn ${kind}`, 'Entity spawned:'))
    if (kind === 'boat' || kind === 'pig') steve.send(0x07, int(0), int(id), byte(kind === 'pig' ? 1 : 0))
  }
  await steve.command('/weather rain', 'Weather set to:')
  await steve.command('/weather clear', 'Weather set to:')
  await steve.command('/effect record_13', 'Played effect:')
  steve.move(8.5, await steve.ground(8, 8), 8.5)
  await steve.command('/explode', 'Explode at:')
  await steve.command('/clean', 'Cleaned entities:')
  await alex.ticks()
  for (const player of [alex, steve]) {
    player.send(0xff, text('bye ☃'))
    player.socket.end()
  }
}

play(process.argv[2])
