'use strict'
// A client of an unframed version that writes packets by hand, and waits for bytes: it needs no description of
// the server's packets.

const crypto = require('crypto')
const { connect } = require('net')

const tell = event => console.log(JSON.stringify(event))
const fail = error => {
  tell({ event: 'fault', error: error.stack ?? String(error) })
  process.exit(1)
}
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)

// Fields of packets.
const number = (size, write) => value => {
  const bytes = Buffer.alloc(size)
  bytes[write](value)
  return bytes
}
const utf16 = value => Buffer.from(value, 'utf16le').swap16()
const fields = {
  byte: number(1, 'writeInt8'),
  short: number(2, 'writeInt16BE'),
  int: number(4, 'writeInt32BE'),
  float: number(4, 'writeFloatBE'),
  double: number(8, 'writeDoubleBE'),
  text: value => Buffer.concat([fields.short(value.length), utf16(value)]),
  bytes: value => Buffer.concat([fields.short(value.length), value])
}

class Client {
  constructor (port, name) {
    this.name = name
    // Of what is sent and received, decrypted.
    this.hashes = { received: crypto.createHash('sha1'), sent: crypto.createHash('sha1') }
    this.heard = Buffer.alloc(0)
    this.position = 0
    this.wake = () => {}
    this.socket = connect(Number(port), '127.0.0.1')
    this.socket.on('data', bytes => {
      if (this.decipher) bytes = this.decipher.update(bytes)
      this.hashes.received.update(bytes)
      this.heard = Buffer.concat([this.heard, bytes])
      this.wake()
    })
    this.socket.on('close', () => {
      this.over = true
      this.wake()
      const { received, sent } = this.hashes
      tell({ event: 'over', name, received: received.digest('hex'), sent: sent.digest('hex') })
    })
  }

  send (id, ...fields) {
    const packet = Buffer.concat([Buffer.from([id]), ...fields])
    this.hashes.sent.update(packet)
    this.socket.write(this.cipher ? this.cipher.update(packet) : packet)
  }

  // Waits until so many bytes after those that were waited for before are there.
  async wait (count, what) {
    while (this.heard.length < this.position + count) {
      if (this.over) throw new Error(`closed by the server before ${what}`)
      await new Promise(resolve => { this.wake = resolve })
    }
  }

  // Waits for bytes after those that were waited for before.
  async until (bytes, what) {
    let at
    while ((at = this.heard.indexOf(bytes, this.position)) < 0) await this.wait(this.heard.length - this.position + 1, what)
    this.position = at + bytes.length
  }

  says (words) { return this.until(utf16(words), words) }

  // The key exchange of 1.3 to 1.6, which follows the handshake.
  async encrypt () {
    const { short, bytes } = fields
    await this.until(Buffer.from([0xfd]), 'the request')
    const field = async () => {
      await this.wait(2, 'a length')
      const length = this.heard.readInt16BE(this.position)
      this.position += 2
      return length
    }
    const take = async length => {
      await this.wait(length, 'the request')
      this.position += length
      return this.heard.subarray(this.position - length, this.position)
    }
    await take(2 * await field())
    const key = crypto.createPublicKey({ key: await take(await field()), format: 'der', type: 'spki' })
    const token = await take(await field())
    const secret = crypto.randomBytes(16)
    const seal = value => bytes(crypto.publicEncrypt({ key, padding: crypto.constants.RSA_PKCS1_PADDING }, value))
    // What is sent is compared without it: the proxy has a secret of its own.
    this.hashes.sent = crypto.createHash('sha1')
    this.socket.write(Buffer.concat([Buffer.from([0xfc]), seal(secret), seal(token)]))
    await this.until(Buffer.concat([Buffer.from([0xfc]), short(0), short(0)]), 'the confirmation')
    this.hashes.received = crypto.createHash('sha1')
    const late = this.heard.subarray(this.position)
    if (late.length) throw new Error('the server has not waited for the first encrypted packet')
    this.cipher = crypto.createCipheriv('aes-128-cfb8', secret, secret)
    this.decipher = crypto.createDecipheriv('aes-128-cfb8', secret, secret)
  }
}

module.exports = { Client, fields, tell, utf16 }
