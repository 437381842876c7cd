'use strict'
// Three servers and two clients that follow transfers, on node-minecraft-protocol,
// which follows none itself. The first server sends each client to another one,
// in the state that --from says, with a cookie in its luggage; the other asks for
// the cookie at login. Reads the proxy's port from stdin.

const mc = require('minecraft-protocol')
const minecraftData = require('minecraft-data')
const { args, emit, die } = require('./common')

const opt = args({ version: '1.20.6', from: 'play' })
const data = minecraftData(opt.version)
const COOKIE = 'test:luggage'

function serve (name, greet) {
  const server = mc.createServer({
    host: '127.0.0.1',
    port: 0,
    version: opt.version,
    keepAlive: false,
    'online-mode': false,
    registryCodec: data.registryCodec ?? data.loginPacket.dimensionCodec,
    errorHandler: (client, error) => die(`${name}: ${error.stack}`)
  })
  server.on('error', die)
  server.on('connection', client => {
    client.prependOnceListener('set_protocol', packet => {
      emit('handshake', { server: name, host: packet.serverHost, port: packet.serverPort, next: packet.nextState })
      packet.nextState = 2 // nmp knows no 3
    })
    greet(client)
  })
  return new Promise(resolve => server.once('listening', () => resolve(server)))
}

const portOf = server => server.socketServer.address().port
const cookieOf = name => Buffer.from(`the luggage of ${name}`)

// Sends a client on: Left to the second server, Right to the third.
function sendOn (client, ports) {
  client.write('store_cookie', { key: COOKIE, value: cookieOf(client.username) })
  client.write('transfer', { host: '127.0.0.1', port: ports[client.username] })
}

// Takes a client that was sent on, and asks for its luggage.
function welcome (name, client) {
  const [proceed] = client.listeners('login_start')
  client.removeAllListeners('login_start')
  client.once('login_start', packet => {
    client.once('cookie_response', ({ value }) => {
      emit('arrived', { server: name, player: packet.username, cookie: value?.toString() })
      proceed(packet)
    })
    client.write('cookie_request', { cookie: COOKIE })
  })
  client.once('login_acknowledged', () => setImmediate(() => client.end('welcome')))
}

// A client of the game: keeps its cookies when it is sent on.
function visit (name, host, port, nextState = 2, cookies = {}) {
  const client = mc.createClient({ host, port, version: opt.version, username: name, auth: 'offline' })
  const { write } = client
  client.write = (packet, params) => write.call(client, packet, packet === 'set_protocol' ? { ...params, nextState } : params)
  client.on('error', die)
  client.on('store_cookie', ({ key, value }) => { cookies[key] = value })
  client.on('cookie_request', ({ cookie }) => client.write('cookie_response', { key: cookie, value: cookies[cookie] }))
  client.on('transfer', ({ host, port }) => {
    emit('transfer', { player: name, host, port })
    client.end('transfer')
    visit(name, host, port, 3, cookies)
  })
  client.on('end', () => {
    if (nextState === 3 && ++done === 2) process.exit(0)
  })
}
let done = 0

async function main () {
  const [left, right] = await Promise.all(['left', 'right'].map(name => serve(name, client => welcome(name, client))))
  const ports = { Left: portOf(left), Right: portOf(right) }
  const first = await serve('first', client => {
    if (opt.from !== 'configuration') return
    const { write } = client
    client.write = (packet, params) => {
      if (packet === 'finish_configuration') sendOn(client, ports)
      else write.call(client, packet, params)
    }
  })
  if (opt.from === 'play') {
    first.on('playerJoin', client => {
      client.write('login', data.loginPacket)
      sendOn(client, ports)
    })
  }
  emit('listening', { port: portOf(first), ...ports })
}

process.stdin.once('data', bytes => {
  visit('Left', '127.0.0.1', Number(bytes))
  visit('Right', '127.0.0.1', Number(bytes))
})
main().catch(die)
