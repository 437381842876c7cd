'use strict'
// A server in online mode and players who log in to it at the same time, on node-minecraft-protocol.
// Says where the server listens, and reads from stdin the port to which the players connect (the
// proxy's) and the session service of their games (the proxy's). Exits 0 when all have left.
//
// With `--signed`, the server enforces signed chat and believes the keys that the account services have
// signed; each game gets its key from the services beside its session service, says a line and leaves.

const crypto = require('crypto')
const constants = require('minecraft-protocol/src/server/constants')
const minecraftData = require('minecraft-data')
const readline = require('readline')
const { newestLoginPacket } = require('./tables')
const { args, emit, die, verifyThere } = require('./common')

const opt = args({
  version: '1.8.8',
  'session-server': '', // verifies players for the server
  signed: false,
  says: '', // what the status says about signed chat, `true` or `false`; nothing in nmp's own
  players: '[]' // [{ name, id, token, as, service, forged }]: the name that the player claims and the
  // session service of their game, if not their own and the proxy's; with `forged`, the game makes up a key
})
const data = minecraftData(opt.version)
let authority

start().catch(die)

async function start () {
  if (opt.signed) {
    // Where a server's authlib asks for the keys that it believes.
    const answer = await (await fetch(opt['session-server'] + '/minecraftservices/publickeys')).json()
    const key = Buffer.from(answer.playerCertificateKeys[0].publicKey, 'base64')
    authority = crypto.createPublicKey({ key, format: 'der', type: 'spki' })
    // nmp has Mojang's key built in, and takes it from here when it is loaded.
    constants.mojangPublicKeyPem = authority.export({ type: 'spki', format: 'pem' })
  }
  const mc = require('minecraft-protocol')
  verifyThere(opt['session-server'])

  const server = mc.createServer({
    host: '127.0.0.1',
    port: 0,
    version: opt.version,
    keepAlive: false,
    'online-mode': true,
    enforceSecureProfile: opt.signed,
    beforePing: status => opt.says ? { ...status, enforcesSecureChat: opt.says === 'true' } : status,
    registryCodec: data.registryCodec ?? data.loginPacket?.dimensionCodec,
    errorHandler: (client, error) => { console.error(error.message); client.end(error.message) }
  })
  server.on('error', die)
  const ended = []
  // What Login Success says since 26.2, and nmp's server does not.
  server.on('connection', client => {
    const { write } = client
    client.write = (packet, params) => {
      if (packet === 'success') params.sessionId = crypto.randomUUID()
      write.call(client, packet, params)
    }
    // The first reason that the server gives: what it handles after that fails for others.
    let why = null
    const { end } = client
    client.end = (...reason) => { why ??= reason[0]; end.apply(client, reason) }
    ended.push(new Promise(resolve => client.on('end', () => {
      emit('dismissed', { name: client.username, why })
      resolve()
    })))
  })
  server.on('playerJoin', client => {
    emit('joined', { name: client.username, id: client.uuid.replaceAll('-', ''), encrypted: client.cipher !== null })
    if (opt.signed) hear(client)
    else client.end('bye')
  })
  server.on('listening', () => emit('listening', { port: server.socketServer.address().port }))

  readline.createInterface({ input: process.stdin }).once('line', async line => {
    const { port, endpoint } = JSON.parse(line)
    const players = JSON.parse(opt.players)
    await Promise.all(players.map(player => visit(mc, player, port, endpoint)))
    await Promise.all(ended)
    process.exit(0)
  })
}

// Waits for what the player says. nmp's server verifies it, and ends the connection if the key or the
// signature is wrong; the signature of the first message is verified here once more, from the bytes.
function hear (client) {
  const { loginPacket, version: { version } } = data
  // nmp's server reads the session's id under a name that no version has.
  client.prependListener('chat_session_update', packet => { packet.sessionUuid = packet.sessionUUID })
  client.on('chat_message', ({ message, timestamp, salt, signature }) => {
    if (client.ended) return
    const id = Buffer.from(client.uuid.replaceAll('-', ''), 'hex')
    const seconds = timestamp / 1000n
    const signed = data.supportFeature('useChatSessions')
      ? [int(1), id, Buffer.from(client._session.uuid.replaceAll('-', ''), 'hex'), int(0), long(salt), long(seconds), int(Buffer.byteLength(message)), message, int(0)]
      : [id, sha256([long(salt), long(seconds), message, Buffer.from([70])])]
    const bytes = Buffer.concat(signed.map(part => Buffer.from(part)))
    const verified = crypto.verify('RSA-SHA256', bytes, client.profileKeys.public, signature)
    emit('heard', { name: client.username, message, verified, signature: signature.toString('base64') })
    client.end('bye')
  })
  client.write('login', version >= 776 ? newestLoginPacket(loginPacket, version) : loginPacket)
}

const int = value => { const bytes = Buffer.alloc(4); bytes.writeInt32BE(value); return bytes }
const long = value => { const bytes = Buffer.alloc(8); bytes.writeBigInt64BE(value); return bytes }
const sha256 = parts => crypto.createHash('sha256').update(Buffer.concat(parts.map(part => Buffer.from(part)))).digest()

async function visit (mc, player, port, endpoint) {
  const { name, id, token, as = name, service } = player
  const keys = opt.signed ? await profileKeys(player, endpoint) : null
  return new Promise(resolve => {
    let told = null
    const client = mc.createClient({
      version: opt.version,
      host: '127.0.0.1',
      port,
      username: as,
      sessionServer: service ?? endpoint,
      disableChatSigning: !opt.signed,
      // An account that is logged in already.
      auth: (client, options) => {
        client.username = as
        client.session = { accessToken: token, selectedProfile: { id, name } }
        if (keys) client.profileKeys = keys
        options.accessToken = token
        options.haveCredentials = true
        options.connect(client)
      }
    })
    client.once('login', () => { if (opt.signed) client.chat(`I am ${name}`) })
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

// The player's key, as authlib asks for it.
async function profileKeys ({ token, forged }, endpoint) {
  // The proxy's endpoint, or the account services themselves.
  const url = endpoint.endsWith('/session')
    ? endpoint.replace(/session$/, 'services/player/certificates')
    : `${endpoint}/minecraftservices/player/certificates`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers })
  if (!answer.ok) die(`no key: ${answer.status} ${await answer.text()}`)
  const { keyPair, publicKeySignature, publicKeySignatureV2, expiresAt } = await answer.json()
  const read = (text, type, create) => create({ key: Buffer.from(text.split('-----')[2], 'base64'), format: 'der', type })
  const made = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    public: forged ? made.publicKey : read(keyPair.publicKey, 'spki', crypto.createPublicKey),
    private: forged ? made.privateKey : read(keyPair.privateKey, 'pkcs8', crypto.createPrivateKey),
    expiresOn: new Date(expiresAt),
    signature: Buffer.from(publicKeySignature, 'base64'),
    signatureV2: Buffer.from(publicKeySignatureV2, 'base64')
  }
}
