// A server or a client of an old release of node-minecraft-protocol, which has tables of its own.
//   node play.js RELEASE server|client [PORT] [SERVICES]
// With the address of the services that know of accounts, the server verifies players, and the client has an
// account.
// Each prints JSON lines: what it does, and the id of every packet that it receives.
'use strict';

const [release, role, port, services] = process.argv.slice(2);
const mc = require(`peer-${release}`);

// Their addresses stand in the code.
const superagent = require('superagent');
for (const method of ['get', 'post']) {
  const request = superagent[method];
  superagent[method] = (url) => request(url.replace(/^https?:\/\/\w+\.minecraft\.net/, services));
}

const tell = (event) => console.log(JSON.stringify(event));
process.on('uncaughtException', (error) => {
  tell({ event: 'fault', error: error.stack });
  process.exit(1);
});

const CLIENT_COMMAND = 0xcd, LOGIN = 0x01, CHAT = 0x03, SPAWN = 0x06, HEALTH = 0x08, POSITION = 0x0d, KICK = 0xff;
const listen = (peer) => peer.on('packet', (packet) => tell({ event: 'got', id: packet.id }));

if (role === 'server') {
  const server = mc.createServer({ 'online-mode': services !== undefined, host: '127.0.0.1', port: 0 });
  server.on('listening', () => tell({ event: 'listening', port: server.socketServer.address().port }));
  // Their clients read what comes in one piece with the end of the key exchange as if it were not encrypted,
  // so they have to speak first.
  server.on('login', (client) => {
    tell({ event: 'login', name: client.username });
    client.isIn = true;
    if (client.hasAsked) begin(client);
  });
  server.on('connection', (client) => {
    listen(client);
    client.on('packet', (packet) => {
      if (packet.id !== CLIENT_COMMAND) return;
      client.hasAsked = true;
      if (client.isIn) begin(client);
    });
  });
  const begin = (client) => {
    const login = { entityId: client.id, levelType: 'default', gameMode: 1, dimension: 0, difficulty: 2 };
    client.write(LOGIN, Object.assign(login, { maxPlayers: 20 }));
    client.write(SPAWN, { x: -5, y: 64, z: 7 });
    client.write(HEALTH, { health: 19, food: 18, foodSaturation: 2.5 });
    const position = { x: 0, y: 1.62, stance: 65.62, z: 0, yaw: 90, pitch: -10, onGround: true };
    client.write(POSITION, position);
    client.on(CHAT, (packet) => client.write(CHAT, { message: `you said ${packet.message}` }));
    client.on('end', () => process.exit(0));
  };
} else {
  const account = services ? { username: 'Steve', password: 'secret' } : { username: 'Bot' };
  const client = mc.createClient(Object.assign(account, { host: '127.0.0.1', port: Number(port) }));
  listen(client);
  client.on(LOGIN, () => client.write(CHAT, { message: 'hello ☃' }));
  client.on(CHAT, (packet) => {
    tell({ event: 'heard', message: packet.message });
    client.write(KICK, { reason: 'bye' });
    client.socket.end();
  });
  client.on('end', () => process.exit(0));
}
