'use strict'
// A player: joins the server at the port that is given, types `/home`, waits for the answer, leaves.

const bot = require('mineflayer').createBot({
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  username: 'Tester',
  version: '1.8.8',
  auth: 'offline'
})
const fail = why => { console.error(why); process.exit(2) }
bot.on('error', fail)
bot.on('kicked', fail)
bot.once('spawn', () => {
  bot.on('message', message => { if (message.toString().includes('Welcome home!')) bot.quit() })
  bot.chat('/home')
})
bot.on('end', () => process.exit(0))
