'use strict'
// The services that know of accounts, as small as they can be: a session service (join, hasJoined,
// profile), Minecraft's own profile, and the way from Microsoft's device code to an access token.
// Each call is an event, without its secrets.

const crypto = require('crypto')
const fs = require('fs')
const http = require('http')
const https = require('https')
const path = require('path')
const { args, emit } = require('./common')

const opt = args({
  port: 0,
  accounts: '[]', // [{ name, id (32 hex digits), token }]
  prefix: '', // what stands before /session/minecraft
  down: 0, // answer so many calls of the session service with 503 first; -1: all
  status: 0, // answer join with this status
  expired: '', // the token that has expired
  untrusted: false, // over TLS, with a certificate that nobody trusts
  slow: '', // answer a join with this token only when all other accounts have joined a server
  pending: 1, // polls before the user has typed the code
  lives: 86400 // seconds that an access token lives
})
const accounts = JSON.parse(opt.accounts)
const joined = new Map()
let logins = 0

const pem = () => fs.readFileSync(path.join(__dirname, 'untrusted.pem'))
const create = handle => opt.untrusted ? https.createServer({ key: pem(), cert: pem() }, handle) : http.createServer(handle)
const services = create((request, response) => {
  let text = ''
  request.on('data', chunk => { text += chunk })
  request.on('end', () => {
    const url = new URL(request.url, 'http://localhost')
    const reply = () => {
      const [status, body] = answer(request.method, url, text, request.headers)
      emit('call', { path: url.pathname, status })
      const plain = typeof body === 'string'
      response.writeHead(status, { 'content-type': plain ? 'text/plain' : 'application/json', 'retry-after': '0' })
      response.end(body === undefined || plain ? body : JSON.stringify(body))
    }
    if (opt.slow && text.includes(opt.slow) && verified.size < accounts.length - 1) held.push(reply)
    else reply()
    if (verified.size >= accounts.length - 1) held.splice(0).forEach(reply => reply())
  })
})
const held = []
const verified = new Set()
services.listen(opt.port, '127.0.0.1', () => emit('listening', { port: services.address().port }))

const profile = ({ name, id }) => ({ name, id, properties: [] })

function answer (method, url, text, headers) {
  const session = opt.prefix + '/session/minecraft/'
  if (url.pathname.startsWith(session)) {
    if (opt.down !== 0) {
      opt.down--
      return [503]
    }
    return sessions(method, url, text, url.pathname.slice(session.length))
  }
  const said = old(url, new URLSearchParams(text))
  if (said) return said
  // What authlib-injector asks for first.
  if (url.pathname === '/') return [200, { meta: { serverName: 'test' }, skinDomains: ['.example.org'] }]
  if (url.pathname === '/minecraft/profile') {
    const found = accounts.find(({ token }) => headers.authorization === 'Bearer ' + token)
    return found ? [200, profile(found)] : [401]
  }
  if (url.pathname === '/minecraftservices/publickeys') {
    const publicKey = servicesKey().publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
    return [200, { profilePropertyKeys: [{ publicKey }], playerCertificateKeys: [{ publicKey }] }]
  }
  if (method === 'POST' && url.pathname === '/minecraftservices/player/certificates') {
    const found = accounts.find(({ token }) => headers.authorization === 'Bearer ' + token)
    return found ? [200, certificates(found)] : [401]
  }
  return method === 'POST' ? chain(url.pathname, text) : [404]
}

// The services of the games up to 1.6, which knew of the same players: a login, and who has joined a server.
function old (url, form) {
  const name = url.searchParams.get('user')
  const found = accounts.find(account => account.name === (name ?? form.get('user')))
  switch (url.pathname) {
    case '/game/joinserver.jsp':
      if (found?.token !== url.searchParams.get('sessionId')) return [200, 'Bad login']
      joined.set(name, url.searchParams.get('serverId'))
      return [200, 'OK']
    case '/game/checkserver.jsp':
      return [200, joined.get(name) === url.searchParams.get('serverId') ? 'YES' : 'NO']
    case '/':
      return form.has('password') && found ? [200, ['1', '-', found.name, found.token, found.id].join(':')] : undefined
  }
}

function sessions (method, url, text, call) {
  if (method === 'POST' && call === 'join') {
    if (opt.status) return [opt.status, { error: 'InsufficientPrivilegesException' }]
    const { accessToken, selectedProfile, serverId } = JSON.parse(text)
    if (accessToken === opt.expired) return [401, { path: url.pathname, error: 'Unauthorized' }]
    const found = accounts.find(({ token, id }) => token === accessToken && id === selectedProfile)
    if (!found) return [403, { error: 'ForbiddenOperationException', errorMessage: 'Invalid token' }]
    joined.set(found.name, serverId)
    return [204]
  }
  if (method === 'GET' && call === 'hasJoined') {
    const name = url.searchParams.get('username')
    const found = accounts.find(account => account.name === name)
    if (!found || joined.get(name) !== url.searchParams.get('serverId')) return [204]
    verified.add(name)
    return [200, profile(found)]
  }
  const found = accounts.find(({ id }) => call === 'profile/' + id)
  return found ? [200, profile(found)] : [404]
}

// A key with which a player signs chat, signed by the services in both forms: that of 1.19 and the later one.
function certificates ({ id }) {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const pem = kind => `-----BEGIN RSA ${kind} KEY-----\n`
  const lines = (kind, der, width) => `${pem(kind)}${der.toString('base64').match(RegExp(`.{1,${width}}`, 'g')).join('\n')}\n${pem(kind).replace('BEGIN', 'END')}`
  const expires = Date.now() + 48 * 3600 * 1000
  const when = Buffer.alloc(8)
  when.writeBigInt64BE(BigInt(expires))
  const signed = bytes => crypto.sign('RSA-SHA1', bytes, servicesKey().privateKey).toString('base64')
  return {
    keyPair: { publicKey: lines('PUBLIC', spki, 76), privateKey: lines('PRIVATE', privateKey.export({ type: 'pkcs8', format: 'der' }), 76) },
    publicKeySignature: signed(Buffer.from(expires + lines('PUBLIC', spki, 76))),
    publicKeySignatureV2: signed(Buffer.concat([Buffer.from(id, 'hex'), when, spki])),
    expiresAt: new Date(expires).toISOString(),
    refreshedAfter: new Date(expires - 3600 * 1000).toISOString()
  }
}

let key
function servicesKey () {
  key ??= crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
  return key
}

// Microsoft, Xbox Live, XSTS, Minecraft: each wants what the one before gave.
function chain (path, text) {
  const form = new URLSearchParams(text)
  const says = word => text.includes(word)
  switch (path) {
    case '/devicecode':
      return [200, { device_code: 'device-secret', user_code: 'WXYZ-1234', verification_uri: 'https://login.example/link', interval: 0, expires_in: 600 }]
    case '/token':
      if (form.get('grant_type') === 'refresh_token') {
        if (form.get('refresh_token') !== `refresh-secret-${logins}`) return [400, { error: 'invalid_grant' }]
      } else if (form.get('device_code') !== 'device-secret') {
        return [400, { error: 'bad_verification_code' }]
      } else if (opt.pending-- > 0) {
        return [400, { error: 'authorization_pending' }]
      }
      return [200, { access_token: 'microsoft-secret', refresh_token: `refresh-secret-${++logins}` }]
    case '/xbox':
      return says('d=microsoft-secret') ? [200, { Token: 'xbox-secret', DisplayClaims: { xui: [{ uhs: 'user' }] } }] : [401]
    case '/xsts':
      return says('xbox-secret') ? [200, { Token: 'xsts-secret', DisplayClaims: { xui: [{ uhs: 'user' }] } }] : [401]
    case '/game':
      return says('XBL3.0 x=user;xsts-secret') ? [200, { access_token: accounts[0].token, expires_in: opt.lives }] : [401]
    default:
      return [404]
  }
}
