// Connects to `--control` with one of the WebSocket libraries of Node: `node programs.js LIBRARY URL`. Prints
// `welcome` once it may do everything, and the code with which the proxy closes the connection.
'use strict'

const [library, url] = process.argv.slice(2)
const [address, token] = url.split('#')
const heard = (text) => console.log('hello' in JSON.parse(text) ? 'welcome' : text)
const closed = (code) => console.log(`closed ${code}`)
const login = JSON.stringify({ token })

// The interface of browsers.
function plain (socket) {
  socket.onopen = () => socket.send(login)
  socket.onmessage = ({ data }) => !data.includes('"push"') && heard(data)
  socket.onerror = (error) => console.log(`error: ${error.message}`)
  socket.onclose = ({ code }) => closed(code)
}

switch (library) {
  case 'own':
    plain(new WebSocket(address))
    break
  case 'ws':
    plain(new (require('ws'))(address))
    break
  case 'faye-websocket':
    plain(new (require('faye-websocket').Client)(address))
    break
  case 'websocket':
    plain(new (require('websocket').w3cwebsocket)(address))
    break
  default:
    throw new Error(`unknown library: ${library}`)
}
