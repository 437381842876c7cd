'use strict'
// A server in online mode and players who log in to it at the same time, on node-minecraft-protocol.
// Says where the server listens, and reads from stdin the port to which the players connect (the
// proxy's) and the session service of their games (the proxy's). Exits 0 when all have left.

const crypto = require('crypto')
const mc = require('minecraft-protocol')
const minecraftData = require('minecraft-data')
const readline = require('readline')
require('./tables')
const { args, emit, die } = require('./common')

const opt = args({
  version: '1.8.8',
  'session-server': '', // verifies players for the server
  players: '[]' // [{ name, id, token, as, service }]: the name that the player claims and the
  // session service of their game, if not their own and the proxy's
})
const data = minecraftData(opt.version)

// nmp's server knows no other session server than Mojang's: it is named here, where nmp asks for it.
const yggdrasil = require('yggdrasil')
const { server: ask } = yggdrasil
yggdrasil.server = options => ask({ host: opt['session-server'], ...options })

const server = mc.createServer({
  host: '127.0.0.1',
  port: 0,
  version: opt.version,
  keepAlive: false,
  'online-mode': true,
  enforceSecureProfile: false,
  registryCodec: data.registryCodec ?? data.loginPacket?.dimensionCodec,
  errorHandler: (client, error) => console.error(error.message)
})
server.on('error', die)
// What Login Success says since 26.2, and nmp's server does not.
server.on('connection', client => {
  const { write } = client
  client.write = (packet, params) => {
    if (packet === 'success') params.sessionId = crypto.randomUUID()
    write.call(client, packet, params)
  }
})
server.on('playerJoin', client => {
  emit('joined', { name: client.username, id: client.uuid.replaceAll('-', ''), encrypted: client.cipher !== null })
  client.end('bye')
})
server.on('listening', () => emit('listening', { port: server.socketServer.address().port }))

readline.createInterface({ input: process.stdin }).once('line', async line => {
  const { port, endpoint } = JSON.parse(line)
  const players = JSON.parse(opt.players)
  await Promise.all(players.map(player => visit(player, port, endpoint)))
  process.exit(0)
})

function visit ({ name, id, token, as = name, service }, port, endpoint) {
  return new Promise(resolve => {
    let told = null
    const client = mc.createClient({
      version: opt.version,
      host: '127.0.0.1',
      port,
      username: as,
      sessionServer: service ?? endpoint,
      disableChatSigning: true,
      // An account that is logged in already.
      auth: (client, options) => {
        client.username = as
        client.session = { accessToken: token, selectedProfile: { id, name } }
        options.accessToken = token
        options.haveCredentials = true
        options.connect(client)
      }
    })
    const tell = ({ reason }) => { told ??= JSON.stringify(reason) }
    client.on('disconnect', tell)
    client.on('kick_disconnect', tell)
    client.on('error', error => { told ??= error.message; client.end('failed') })
    client.on('end', () => {
      emit('left', { name, told })
      resolve()
    })
  })
}
