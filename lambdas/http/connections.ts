/**
 * Limits the number of connections and the memory of incomplete request heads. A head is the URL with the headers.
 * Above the maximum of connections, the longest idle one is closed for the new one.
 * Above the maximum of bytes, the longest heads are rejected.
 * Requests of one connection run one after the other.
 * A client that does not wait for its responses thus gets no larger share of the server.
 */
import type { IncomingMessage } from 'node:http'
import { yieldNow } from '../interactions/time-slices.ts'

type Socket = IncomingMessage['socket']

/** `most`: maximum connections. `heads`: maximum bytes of incomplete heads. `tick`: milliseconds between two checks of the heads. */
export type ConnectionLimits = { readonly most: number; readonly heads: number; readonly tick: number }

/** `latest`: newest request, until it is answered. `waiting`: requests queued behind others. `from`: bytes that finished requests took. */
type Connection = { latest: Promise<void> | undefined; waiting: number; from: number }

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #giveUp: (socket: Socket) => void
  /** Open connections. The most recently used one is last. */
  readonly #open = new Map<Socket, Connection>()
  #timer: NodeJS.Timeout | undefined

  /** `giveUp`: rejects a connection when its incomplete head takes too much memory. */
  constructor(limits: ConnectionLimits, giveUp: (socket: Socket) => void) {
    this.#limits = limits
    this.#giveUp = giveUp
  }

  take(socket: Socket): void {
    if (this.#open.size >= this.#limits.most) this.#closeOne()
    if (this.#open.size >= this.#limits.most) return void socket.destroy()
    this.#open.set(socket, { latest: undefined, waiting: 0, from: 0 })
    this.#timer ??= setInterval(() => this.#look(), this.#limits.tick).unref()
    socket.once('close', () => this.#open.delete(socket))
  }

  /** Runs `work` after earlier requests of the connection are answered. Skips it if the client is gone by then. `work` must not reject. */
  inTurn(socket: Socket, work: () => Promise<void>): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    const latest = connection.latest === undefined ? work() : this.#after(socket, connection, connection.latest, work)
    connection.latest = latest
    void latest.then(() => {
      if (connection.latest === latest) this.#rests(socket, connection)
    })
  }

  async #after(socket: Socket, connection: Connection, before: Promise<void>, work: () => Promise<void>): Promise<void> {
    // Read nothing more from the client until the earlier requests are answered.
    socket.pause()
    connection.waiting++
    await before
    // Yield even for short requests. A client that sends 20,000 at once gets no more of the thread than others.
    await yieldNow()
    if (--connection.waiting === 0) socket.resume()
    if (!socket.destroyed) await work()
  }

  #rests(socket: Socket, connection: Connection): void {
    connection.latest = undefined
    connection.from = socket.bytesRead
    if (this.#open.delete(socket)) this.#open.set(socket, connection)
  }

  /** Closes the longest idle connection. Prefers one that has no response bytes left to send. */
  #closeOne(): void {
    let found: Socket | undefined
    for (const [socket, { latest }] of this.#open) {
      if (latest !== undefined) continue
      found ??= socket
      if (socket.writableLength > 0) continue
      found = socket
      break
    }
    if (found === undefined) return
    this.#open.delete(found)
    found.destroy()
  }

  #look(): void {
    const heads = [...this.#open]
      .filter(([, { latest }]) => latest === undefined)
      .map(([socket, { from }]) => ({ socket, size: socket.bytesRead - from }))
    const held = heads.reduce((sum, { size }) => sum + size, 0)
    if (held > this.#limits.heads) this.#giveUpLongest(heads, held - this.#limits.heads)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #giveUpLongest(heads: readonly { readonly socket: Socket; readonly size: number }[], bytes: number): void {
    let tooMany = bytes
    for (const { socket, size } of heads.toSorted((a, b) => b.size - a.size)) {
      if (tooMany <= 0) return
      tooMany -= size
      this.#open.delete(socket)
      this.#giveUp(socket)
    }
  }
}
