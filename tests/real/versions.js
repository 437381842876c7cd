'use strict'
// A server of every version and one client after another for it, on
// node-minecraft-protocol. Says where the server listens, reads from stdin the
// port to which the clients are to connect (the proxy's), and plays one session
// a protocol number: into the game, chat both ways, out by a kick. Exits 0 when
// all sessions have ended as they should.

const crypto = require('crypto')
const constants = require('minecraft-protocol/src/server/constants')
// Instead of Mojang's key, which nmp takes from here when it is loaded: so the server believes
// the players' keys that are signed with it.
const authority = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
constants.mojangPublicKeyPem = authority.publicKey.export({ type: 'spki', format: 'pem' })
const mc = require('minecraft-protocol')
const nbt = require('prismarine-nbt')
const minecraftData = require('minecraft-data')
const { pc: known } = require('minecraft-data/data')
const { newestLoginPacket } = require('./tables')
const world = require('./world')
const { args, emit, die, settle, witness, verifyThere } = require('./common')

const opt = args({
  numbers: '', // protocol numbers, separated by commas
  encrypt: '', // those of them whose sessions are encrypted
  sign: '', // those whose clients have a key of their own and sign what they say
  again: 0, // serve so many players of other programs after its own clients, as it served these
  guests: 0, // serve so many players of other programs, instead of clients of its own
  visits: 0, // serve so many players who do as they like, instead of clients of its own
  'session-server': '', // verify the players there, as a server in online mode does
  world: false, // a whole configuration, and a world: for sessions since 1.20.2
  small: false, // small payloads, and packets that the rules in `examples` match: for captures to keep
  log: ''
})
// Sessions that have ended.
let ended = 0
const list = text => text.split(',').filter(text => text).map(Number)
const encrypted = new Set(list(opt.encrypt))
const signed = new Set(list(opt.sign))
witness(opt.log)
if (opt['session-server']) verifyThere(opt['session-server'])

// Numbers of which minecraft-data has no tables, and whose they share: the two
// say the number in the handshake, and speak the other.
const SHARED = { 4: '1.7', 485: '1.14.1', 204: '16w20a' }
const versions = Object.fromEntries(Object.keys(known).reverse().map(name => [minecraftData(name)?.version.version, name]))
// A number that nobody knows yet is the newest's.
const gameVersion = number => SHARED[number] ?? versions[number] ?? '26.3'
const AT_ONCE = 4
const LINES = ['hello from a real client', 'Grüße, 你好, мир 🎮🧱 ☃', ...(opt.small ? ['!ping'] : [])]
const COOKIE = 'test:kept'

const server = mc.createServer({
  host: '127.0.0.1',
  port: 0,
  version: false,
  fallbackVersion: '1.8',
  keepAlive: false,
  'online-mode': opt['session-server'] !== '',
  errorHandler: (client, error) => die(`${client.number}: ${error.stack}`)
})
server.on('error', die)
server.on('listening', () => emit('listening', { port: server.socketServer.address().port }))
server.on('connection', client => {
  // nmp looks the number up, and takes what it does not find for `fallbackVersion`. It is to have
  // the tables that the client's end has, by the name under which that has them compiled.
  let version = client.version
  Object.defineProperty(client, 'version', {
    get: () => version,
    set: () => { version = gameVersion(client.number) }
  })
  client.prependOnceListener('set_protocol', ({ protocolVersion }) => { client.number = protocolVersion })
  client.prependOnceListener('login_acknowledged', () => {
    server.options.registryCodec = features(client).registryCodec ?? features(client).loginPacket?.dimensionCodec
    if (opt.world) world.configure(client, age(client), '\x03nmp')
  })
  // What a login can have beside nmp's steps comes before them.
  const [proceed] = client.listeners('login_start')
  client.removeAllListeners('login_start')
  client.once('login_start', packet => {
    if (age(client) >= 776) tellSession(client)
    if (encrypted.has(client.number)) askForEncryption(client, packet.username.toLowerCase())
    if (opt.guests || opt.visits) return proceed(packet)
    askMore(client, () => proceed(packet))
  })
})
server.on('playerJoin', opt.visits ? host : play)

function features (client) {
  return minecraftData(gameVersion(client.number))
}

// The number by which versions are older or newer. The only snapshot of the newer kind is one of 1.17.
function age (client) {
  const { version: { version } } = features(client)
  return version < 1 << 30 ? version : 754
}

// nmp asks for encryption exactly where it will ask the session server next:
// for players that are online-mode exceptions. It looks the exception up once
// for each step, so the player is one until the key came back.
function askForEncryption (client, name) {
  server.onlineModeExceptions[name] = true
  client.prependOnceListener('encryption_begin', () => { delete server.onlineModeExceptions[name] })
  const { write } = client
  client.write = (packet, params) => {
    // What a server in offline mode says that encrypts nonetheless (1.20.5 on).
    if (packet === 'encryption_begin') params.shouldAuthenticate = false
    write.call(client, packet, params)
  }
}

// What Login Success says since 26.2.
function tellSession (client) {
  const { write } = client
  client.write = (packet, params) => {
    if (packet === 'success') params.sessionId = crypto.randomUUID()
    write.call(client, packet, params)
  }
}

// Waits for each answer: the next packet can start the compression.
function askMore (client, done) {
  const version = age(client)
  const askCookie = () => {
    if (version < 766) return done()
    client.once('cookie_response', done)
    client.write('cookie_request', { cookie: COOKIE })
  }
  if (version < 393) return askCookie()
  client.once('login_plugin_response', askCookie)
  client.write('login_plugin_request', { messageId: 300, channel: 'test:login', data: Buffer.from('are you there?') })
}

function loginPacket (client) {
  const data = features(client)
  const version = age(client)
  if (version >= 776) return newestLoginPacket(data.loginPacket, version)
  if (data.loginPacket) return data.loginPacket
  const dimension = nbt.comp({
    name: nbt.string('minecraft:overworld'),
    piglin_safe: nbt.byte(0),
    natural: nbt.byte(1),
    ambient_light: nbt.float(0),
    infiniburn: nbt.string(''),
    respawn_anchor_works: nbt.byte(0),
    has_skylight: nbt.byte(1),
    bed_works: nbt.byte(1),
    has_raids: nbt.byte(1),
    logical_height: nbt.int(256),
    shrunk: nbt.byte(0),
    ultrawarm: nbt.byte(0),
    has_ceiling: nbt.byte(0)
  })
  return {
    entityId: 1,
    gameMode: 1,
    previousGameMode: 255,
    worldNames: ['minecraft:overworld'],
    dimensionCodec: { name: '', type: 'compound', value: { dimension: { type: 'list', value: { type: 'compound', value: [dimension.value] } } } },
    dimension: version >= 709 ? 'minecraft:overworld' : 0,
    worldName: 'minecraft:overworld',
    difficulty: 2,
    hashedSeed: [0, 0],
    maxPlayers: 20,
    levelType: 'default',
    viewDistance: 10,
    reducedDebugInfo: false,
    enableRespawnScreen: true,
    isDebug: false,
    isFlat: false
  }
}

function say (client, text) {
  const data = features(client)
  const component = data.supportFeature('chatPacketsUseNbtComponents')
    ? nbt.comp({ text: nbt.string(text), color: nbt.string('gold') })
    : JSON.stringify({ text, color: 'gold' })
  if (data.supportFeature('signedChat')) {
    return ['system_chat', { content: component, type: 1, isActionBar: false }]
  }
  return ['chat', { message: component, position: 0, sender: '069a79f4-44e9-4726-a5be-fca90e38aaf5' }]
}

function play (client) {
  emit('join', { number: client.number, conn: client.witnessId })
  const data = features(client)
  let bye = false
  client.write('login', loginPacket(client))
  if (opt.world) return world.show(client, chunkVersion(client), age(client), () => client.end('see you'))
  client.write('keep_alive', { keepAliveId: 123456 })
  // Mostly one byte over and over, and one that does not get smaller.
  const channel = age(client) >= 385 ? name => `test:${name}` : name => `test|${name}`
  client.write('custom_payload', { channel: channel('big'), data: Buffer.alloc(opt.small ? 64 : 30000, 'payload ') })
  client.write('custom_payload', { channel: channel('noise'), data: crypto.createHash('shake256', { outputLength: opt.small ? 64 : 20000 }).update('noise').digest() })
  if (data.supportFeature('hasBundlePacket')) {
    client.writeBundle([say(client, 'first of a bundle'), say(client, 'last of a bundle')])
  }
  if (opt.guests) showAround(client)
  const chat = data.supportFeature('signedChat') ? 'chat_message' : 'chat'
  client.on(chat, ({ message }) => {
    if (message !== 'bye') return client.write(...say(client, `heard: ${message}`))
    bye = true
    if (!data.supportFeature('hasConfigurationState')) return client.end('see you')
    configureAgain(client, () => client.end('see you'))
  })
  client.on('end', () => {
    if (!bye) die(`${client.number}: left without a "bye"`)
    if (opt.guests && --opt.guests === 0) settle(() => process.exit(0))
    // Its own clients' sessions may end here after those clients have seen the end.
    if (opt.again && ++ended === list(opt.numbers).length + Number(opt.again)) settle(() => process.exit(0))
  })
}

// The version whose chunks those of a client are.
function chunkVersion (client) {
  return age(client) > 775 ? '26.1' : gameVersion(client.number)
}

// Does what a player asks for that an operator may: `/tp`, `/kill`, and respawns.
function host (client) {
  emit('join', { number: client.number, name: client.username, id: client.uuid, encrypted: client.cipher !== null })
  const login = loginPacket(client)
  const flags = age(client) >= 768 ? {} : 0
  let teleports = 0
  const teleport = y => client.write('position', { x: 0.5, y, z: 0.5, dx: 0, dy: 0, dz: 0, yaw: 0, pitch: 0, flags, teleportId: ++teleports, dismountVehicle: false, onGround: false })
  client.write('login', login)
  teleport(64)
  client.write('keep_alive', { keepAliveId: age(client) >= 340 ? [0, 7] : 7 })
  const obey = command => {
    if (command.startsWith('tp ')) teleport(65)
    if (command === 'kill') client.write('update_health', { health: 0, food: 20, foodSaturation: 5 })
  }
  const hear = message => message.startsWith('/') ? obey(message.slice(1)) : client.write(...say(client, `heard: ${message}`))
  client.on('chat', ({ message }) => hear(message))
  client.on('chat_message', ({ message }) => hear(message))
  client.on('chat_command', ({ command }) => obey(command))
  client.on('client_command', () => {
    const world = { gamemode: login.gameMode, previousGamemode: 255, death: undefined, portalCooldown: 0, ...login.worldState }
    client.write('respawn', { ...login, dimension: login.dimension ?? login.worldType, difficulty: 2, copyMetadata: age(client) >= 766 ? 0 : false, ...world, worldState: login.worldState })
    client.write('update_health', { health: 20, food: 20, foodSaturation: 5 })
    teleport(64)
  })
  client.on('end', () => {
    emit('left', { number: client.number })
    if (--opt.visits === 0) settle(() => process.exit(0))
  })
}

// What a program with layouts of its own has to understand (26.2).
function showAround (client) {
  const position = { x: -1.5, y: 64.25, z: 300 }
  client.write('position', { teleportId: 300, ...position, dx: 0, dy: 0, dz: 0, yaw: 90, pitch: -12.5, flags: {} })
  client.write('update_health', { health: 7.5, food: 300, foodSaturation: 0.5 })
  client.write('block_change', { location: { x: -7, y: -60, z: 1000 }, type: 4711 })
  client.write('rel_entity_move', { entityId: 4711, dX: 4096, dY: -2048, dZ: 0, onGround: true })
  client.write('entity_destroy', { entityIds: [4711, 5] })
}

// Back to the configuration state and into the game again.
function configureAgain (client, done) {
  const version = age(client)
  client.once('configuration_acknowledged', () => {
    client.state = mc.states.CONFIGURATION
    if (version >= 766) client.write('store_cookie', { key: COOKIE, value: Buffer.from('a cookie') })
    client.write('ping', { id: 5 })
    client.once('finish_configuration', () => {
      client.state = mc.states.PLAY
      client.write('login', loginPacket(client))
      done()
    })
    client.write('finish_configuration', {})
  })
  client.write('start_configuration', {})
}

// One session of a client.
function visit (port, number) {
  return new Promise(resolve => {
    const version = gameVersion(number)
    const fail = why => die(`client of ${number} (${version}): ${why.stack ?? why}`)
    const missing = new Set(LINES)
    const options = { host: '127.0.0.1', port, version, username: `Tester${number}`, auth: 'offline' }
    const client = mc.createClient(options)
    options.protocolVersion = number
    if (signed.has(number)) giveKey(client)
    let byeSaid = false
    let kicked = false
    client.on('error', fail)
    client.on('disconnect', ({ reason }) => fail(`disconnected at login: ${JSON.stringify(reason)}`))
    client.on('cookie_request', ({ cookie }) => client.write('cookie_response', { key: cookie, value: undefined }))
    client.on('ping', ({ id }) => client.write('pong', { id }))
    if (opt.world) {
      missing.clear()
      world.answer(client, number, () => { byeSaid = true })
    }
    client.once('login', () => {
      emit('login', { number, conn: client.witnessId })
      if (opt.world) return
      const stone = { blockId: 1, itemCount: 64, itemDamage: 0 }
      if (opt.small && number === 340) client.write('set_creative_slot', { slot: 36, item: stone })
      for (const line of LINES) client.chat(line)
    })
    for (const name of ['chat', 'system_chat']) {
      client.on(name, packet => {
        const text = JSON.stringify(packet)
        for (const line of missing) {
          if (text.includes(`heard: ${line}`) && missing.delete(line)) emit('echo', { number, message: line })
        }
        if (missing.size || byeSaid) return
        byeSaid = true
        client.chat('bye')
      })
    }
    client.on('kick_disconnect', () => { kicked = true })
    client.on('end', reason => settle(() => {
      if (!byeSaid || !kicked) fail(`ended (${reason}), bye ${byeSaid}, kicked ${kicked}, not heard: ${[...missing]}`)
      emit('left', { number })
      resolve()
    }))
  })
}

// A key as a player with an account has it, signed in both of the ways that versions want.
function giveKey (client) {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
  const der = publicKey.export({ type: 'spki', format: 'der' })
  const expires = BigInt(Date.now() + 3600 * 1000)
  const pem = `-----BEGIN RSA PUBLIC KEY-----\n${der.toString('base64').replace(/.{1,76}/g, '$&\n')}-----END RSA PUBLIC KEY-----\n`
  const time = Buffer.alloc(8)
  time.writeBigInt64BE(expires)
  const id = client.uuid.replaceAll('-', '')
  const sign = bytes => crypto.sign('RSA-SHA1', bytes, authority.privateKey)
  client.session = { selectedProfile: { id } }
  client.profileKeys = {
    public: publicKey,
    private: privateKey,
    expiresOn: new Date(Number(expires)),
    signature: sign(Buffer.from(expires + pem)),
    signatureV2: sign(Buffer.concat([Buffer.from(id, 'hex'), time, der]))
  }
}

async function visitAll (port) {
  const waiting = list(opt.numbers)
  const visitNext = async () => { while (waiting.length) await visit(port, waiting.shift()) }
  await Promise.all(Array.from({ length: AT_ONCE }, visitNext))
  if (opt.again) {
    return emit('visited', {})
  }
  server.close()
  process.exit(0)
}

let input = ''
process.stdin.on('data', bytes => {
  input += bytes
  if (input.includes('\n')) visitAll(Number(input)).catch(die)
})
