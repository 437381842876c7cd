'use strict'
// A player of a version from 1.2.5 to 1.6.4 for Cuberite, in creative mode.
//   node cuberite.js PROTOCOL PORT
// Prints JSON lines, at the end the hashes of the player's bytes in both directions since they are encrypted.

const { Client, fields, tell } = require('./raw')
const sleep = require('util').promisify(setTimeout)

const { byte, short, int, float, double, text } = fields
const [version, port] = process.argv.slice(2).map(Number)
const NBT = [259, 261, 346, 359].concat([...Array(36).keys()].map(it => it + 267), [256, 257, 258])
const NOTHING = short(-1)
// What can wear out has NBT in 1.2, everything since 1.3.
const item = (id, count, damage) => Buffer.concat([
  short(id), byte(count), short(damage), version > 29 || NBT.includes(id) ? short(-1) : Buffer.alloc(0)
])

class Player extends Client {
  async login () {
    const { name } = this
    if (version > 29) {
      this.send(0x02, byte(version), text(name), text('localhost'), int(port))
      await this.encrypt()
      this.send(0xcd, byte(0))
      this.send(0xcc, text('en_GB'), byte(2), byte(0), byte(2), version >= 47 ? byte(1) : Buffer.alloc(0))
    } else {
      this.send(0x02, text(`${name};localhost:${port}`))
      await this.until(Buffer.concat([Buffer.from([0x02]), text('-')]), 'the answer to the handshake')
      this.send(0x01, int(version), text(name), text(''), int(0), int(0), byte(0), byte(0), byte(0))
    }
  }

  // Says something, and waits until the server has repeated it, after everything before.
  async say (words) {
    this.send(0x03, text(words))
    await this.says(words)
  }

  move (x, y, z) { this.send(0x0b, double(x), double(y), double(y + 1.62), double(z), byte(1)) }
  dig (x, y, z) { this.send(0x0e, byte(0), int(x), byte(y), int(z), byte(1)) }
  hold (id, damage = 0) { this.send(0x6b, short(36), item(id, 1, damage)) }
  use (x, y, z, held = NOTHING) {
    this.send(0x0f, int(x), byte(y), int(z), byte(1), held, version > 29 ? Buffer.from([8, 16, 8]) : Buffer.alloc(0))
  }

  place (id, x, y, z, damage = 0) {
    this.hold(id, damage)
    this.use(x, y, z, item(id, 1, damage))
  }
}

async function play () {
  const steve = new Player(port, 'Steve')
  await steve.login()
  // The place where the player is comes with the chunks around it.
  await sleep(4000)
  await steve.say('first ☃')
  const alex = new Player(port, 'Alex')
  await alex.login()
  await sleep(2000)
  await alex.say('Alex here')
  const y = 65
  steve.move(8.5, y, 8.5)
  steve.send(0x0c, float(90), float(-12.5), byte(1))
  steve.send(0x0d, double(8.75), double(y), double(y + 1.62), double(8.25), float(180), float(45), byte(1))
  steve.send(0x0a, byte(1))
  steve.send(0x10, short(0))
  steve.send(0x12, int(1), byte(1))
  await steve.say('moved')
  // To 1.6.1 it would send a packet of 1.6.2, which opens the sign.
  if (version !== 73) steve.place(323, 10, y - 1, 10)
  steve.send(0x82, int(10), short(y), int(10), ...['mitmcraft', 'Grüße', '', '☃'].map(text))
  steve.place(25, 10, y - 1, 6)
  steve.use(10, y, 6)
  await steve.say('signs')
  for (const mob of [90, 91, 93, 50, 55, 95]) {
    steve.place(383, 6, y - 1, 10, mob)
    await steve.say(`mob ${mob}`)
  }
  steve.place(54, 10, y - 1, 8)
  steve.use(10, y, 8)
  await steve.until(text('Chest'), 'the chest')
  const window = steve.heard[steve.position - text('Chest').length - 2]
  await steve.say('a chest')
  steve.send(0x65, byte(window))
  for (const z of [6, 8, 10]) steve.dig(10, y, z)
  for (let x = 4; x < 7; x++) steve.dig(x, y - 1, 4)
  await steve.say('dug')
  await sleep(3000)
  await alex.say('bye')
  for (const player of [alex, steve]) {
    player.send(0xff, text('bye ☃'))
    player.socket.end()
  }
}

tell({ event: 'version', version })
play()
