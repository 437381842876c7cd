'use strict'
// A mineflayer bot: spawns, chats, walks a block, quits. With --columns, it waits for so many chunks instead of walking:
// there may be a hill in its way.

const { once } = require('events')
const mineflayer = require('mineflayer')
const { args, emit, die, settle, witness } = require('./common')

const opt = args({ version: '1.8.8', host: '127.0.0.1', port: 25565, name: 'Bot', log: '', columns: 0 })
witness(opt.log)

const bot = mineflayer.createBot({ host: opt.host, port: opt.port, username: opt.name, version: opt.version, auth: 'offline' })
let done = false

bot.on('error', die)
bot.on('kicked', reason => die(`kicked: ${JSON.stringify(reason)}`))
bot.once('spawn', async () => {
  // 'spawn' may come before the ground under the bot does: no physics, no walk till then.
  while (!bot.blockAt(bot.entity.position)) await once(bot, 'chunkColumnLoad')
  const from = bot.entity.position.clone()
  emit('spawn', { position: from })
  bot.chat('hello from a bot ☃')
  while (bot.world.getColumns().length < opt.columns) await once(bot, 'chunkColumnLoad')
  bot.setControlState('forward', !opt.columns)
  while (!opt.columns && bot.entity.position.distanceTo(from) < 1) await once(bot, 'move')
  bot.setControlState('forward', false)
  emit('walked', { distance: bot.entity.position.distanceTo(from) })
  done = true
  bot.quit()
})
bot.on('end', reason => settle(() => {
  if (!done) die(`connection ended early: ${reason}`)
  emit('end', { reason })
  process.exit(0)
}))
