// As much of a browser's document as the modules of the page use, without layout: tests set heights.

export class FakeNode extends EventTarget {
  parentElement = null

  get textContent () { return '' }
  get nextSibling () { return this.parentElement?.childNodes[this.parentElement.childNodes.indexOf(this) + 1] ?? null }

  remove () {
    if (!this.parentElement) return
    this.parentElement.childNodes = this.parentElement.childNodes.filter(it => it !== this)
    this.parentElement = null
  }
}

class FakeText extends FakeNode {
  constructor (data) {
    super()
    this.data = data
  }

  nodeName = '#text'
  get textContent () { return this.data }
  set textContent (text) { this.data = text }
}

class FakeElement extends FakeNode {
  attributes = new Map()
  childNodes = []
  style = {}
  clientHeight = 0
  scrollTop = 0
  classList = {
    has: name => this.classes().includes(name),
    add: (...names) => { this.className = [...new Set([...this.classes(), ...names])].join(' ') },
    toggle: (name, on) => { this.className = [...this.classes().filter(it => it !== name), ...(on ? [name] : [])].join(' ') }
  }

  dataset = new Proxy({}, {
    get: (_, key) => this.attributes.get(dashed(key)),
    set: (_, key, value) => { this.setAttribute(dashed(key), value); return true },
    deleteProperty: (_, key) => { this.removeAttribute(dashed(key)); return true }
  })

  constructor (name) {
    super()
    this.localName = name
  }

  classes () { return this.className.split(' ').filter(Boolean) }
  getAttribute (name) { return this.attributes.get(name) ?? null }
  setAttribute (name, value) { this.attributes.set(name, String(value)) }
  hasAttribute (name) { return this.attributes.has(name) }
  getAttributeNames () { return [...this.attributes.keys()] }
  get nodeName () { return this.localName.toUpperCase() }
  get firstChild () { return this.childNodes[0] ?? null }
  removeChild (node) { node.remove() }
  contains (node) { return node === this || (node?.parentElement ? this.contains(node.parentElement) : false) }

  insertBefore (node, place) {
    node.remove()
    node.parentElement = this
    const at = place ? this.childNodes.indexOf(place) : this.childNodes.length
    this.childNodes.splice(at, 0, node)
  }

  removeAttribute (name) { this.attributes.delete(name) }
  get className () { return this.getAttribute('class') ?? '' }
  set className (value) { this.setAttribute('class', value) }
  get id () { return this.getAttribute('id') ?? '' }
  set id (value) { this.setAttribute('id', value) }
  get hidden () { return this.attributes.has('hidden') }
  set hidden (value) { this.flag('hidden', value) }
  get disabled () { return this.attributes.has('disabled') }
  set disabled (value) { this.flag('disabled', value) }

  flag (name, on) {
    if (on) this.setAttribute(name, '')
    else this.removeAttribute(name)
  }

  get children () { return this.childNodes.filter(it => it instanceof FakeElement) }
  get textContent () { return this.childNodes.map(it => it.textContent).join('') }
  set textContent (text) { this.replaceChildren(...(text ? [text] : [])) }

  after (...nodes) {
    for (const it of nodes) this.parentElement?.append(it)
  }

  append (...nodes) {
    for (const it of nodes) {
      const node = it instanceof FakeNode ? it : new FakeText(String(it))
      node.remove()
      node.parentElement = this
      this.childNodes.push(node)
    }
  }

  replaceChildren (...nodes) {
    for (const it of this.childNodes) it.parentElement = null
    this.childNodes = []
    this.append(...nodes)
  }

  /** `name`, `.class`, `[attribute]`, `[attribute="value"]`, each also with `:not(..)`, and a list of them. */
  matches (selector) {
    if (selector.includes(', ')) return selector.split(', ').some(it => this.matches(it))
    const [, wanted, unwanted] = /^(.+):not\((.+)\)$/.exec(selector) ?? []
    if (wanted) return this.matches(wanted) && !this.matches(unwanted)
    const [, name, value] = /^\[([\w-]+)(?:="(.*)")?\]$/.exec(selector) ?? []
    if (name) return this.attributes.has(name) && (value === undefined || this.getAttribute(name) === value)
    return selector.startsWith('.') ? this.classList.has(selector.slice(1)) : this.localName === selector
  }

  closest (selector) { return this.matches(selector) ? this : this.parentElement?.closest(selector) ?? null }
  querySelector (selector) { return this.querySelectorAll(selector)[0] ?? null }

  querySelectorAll (selector) {
    return this.children.flatMap(it => [...(it.matches(selector) ? [it] : []), ...it.querySelectorAll(selector)])
  }

  // An event goes on to the elements around its target, as in a browser.
  dispatchEvent (event) {
    for (let it = this; it; it = it.parentElement) {
      const copy = new Proxy(event, { get: (event, key) => key === 'target' ? this : bound(event, key) })
      for (const listener of it.listeners?.get(event.type) ?? []) listener(copy)
      if (event.cancelBubble) break
    }
    return !event.defaultPrevented
  }

  addEventListener (type, listener) {
    this.listeners ??= new Map()
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener])
  }

  click () { this.dispatchEvent(new Event('click')) }
  focus () { document.activeElement = this }
  scrollIntoView () {}
  getBoundingClientRect () { return { left: 0, top: 0, width: 0, height: 0 } }
  get scrollHeight () { return this.children.reduce((sum, it) => sum + (parseFloat(it.style.height) || 0), 0) }
}

class FakeInput extends FakeElement {
  get value () { return this.typed ?? this.getAttribute('value') ?? '' }

  set value (value) {
    this.typed = String(value)
    this.selectionStart = this.selectionEnd = this.typed.length
  }

  get checked () { return this.ticked ?? this.attributes.has('checked') }
  set checked (checked) { this.ticked = checked }

  setRangeText (text, start, end) {
    const { value } = this
    this.value = value.slice(0, start) + text + value.slice(end)
    this.selectionStart = this.selectionEnd = start + text.length
  }
}

class FakeTextArea extends FakeInput {
  get value () { return this.typed ?? this.textContent }
  set value (value) { super.value = value }
}

class FakeSelect extends FakeElement {
  get options () { return this.querySelectorAll('option') }
  get value () {
    // An option that goes is chosen no more.
    const has = this.chosen === '' || this.options.some(it => it.value === this.chosen)
    return (has ? this.chosen : this.options[0]?.value) ?? ''
  }

  set value (value) { this.chosen = this.options.some(it => it.value === String(value)) ? String(value) : '' }
}

class FakeOption extends FakeElement {
  get value () { return this.getAttribute('value') }
}

const KINDS = { input: FakeInput, option: FakeOption, textarea: FakeTextArea, select: FakeSelect }
const dashed = key => `data-${key.replace(/[A-Z]/g, it => `-${it.toLowerCase()}`)}`

function bound (object, key) {
  const value = object[key]
  return typeof value === 'function' ? value.bind(object) : value
}

/** Makes the globals of a new, empty document. */
export function openDocument () {
  const body = new FakeElement('body')
  const frames = []
  const storage = () => {
    const stored = new Map()
    return { getItem: key => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, String(value)) }
  }
  Object.assign(globalThis, {
    document: {
      body,
      activeElement: body,
      adoptedStyleSheets: [],
      addEventListener () {},
      querySelector: selector => body.querySelector(selector),
      createTextNode: text => new FakeText(text),
      createElement: name => new (KINDS[name] ?? FakeElement)(name),
      getSelection: () => null,
      getElementById: id => body.querySelector(`[id="${id}"]`)
    },
    addEventListener () {},
    innerWidth: 1280,
    innerHeight: 800,
    Node: FakeNode,
    Element: FakeElement,
    HTMLElement: FakeElement,
    HTMLInputElement: FakeInput,
    HTMLTextAreaElement: FakeTextArea,
    HTMLSelectElement: FakeSelect,
    CSSStyleSheet: class { replaceSync (text) { this.text = text } },
    ResizeObserver: class { observe () {} },
    getComputedStyle: () => ({ fontSize: '' }),
    requestAnimationFrame: callback => frames.push(callback),
    localStorage: storage(),
    sessionStorage: storage()
  })
  // Draws what waits for the next frame.
  return { frame: () => frames.splice(0).forEach(callback => callback()) }
}

/** Makes an event of a key or a wheel, with the properties that the page reads. */
export function event (type, properties) {
  return Object.assign(new Event(type, { cancelable: true }), properties)
}

/** Types a value, as a person who then leaves the field. */
export function enter (input, value) {
  input.value = value
  input.dispatchEvent(new Event('change'))
}
