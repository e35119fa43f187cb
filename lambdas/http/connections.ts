/**
 * Limits the number of connections and the memory of incomplete request heads. A head is the URL with the headers.
 * Above the maximum of connections, a new one replaces the longest idle one, or is closed if none is idle.
 * Above the maximum of bytes, the longest heads are rejected.
 * Requests of one connection run one after the other. So a client that sends requests without awaiting responses gets no larger share of
 * the server.
 */
import type { IncomingMessage } from 'node:http'
import { yieldNow } from '../interactions/time-slices.ts'

type Socket = IncomingMessage['socket']

/** `most`: maximum connections. `heads`: maximum bytes of incomplete heads. `tick`: milliseconds between two checks of the heads. */
export type ConnectionLimits = { readonly most: number; readonly heads: number; readonly tick: number }

/**
 * `latest`: settles when the newest request is answered; undefined if none is running. `waiting`: requests queued behind others. `from`:
 * bytes read up to the end of the latest finished request.
 */
type Connection = { latest: Promise<void> | undefined; waiting: number; from: number }

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #giveUp: (socket: Socket) => void
  /** Open connections, with the connection that finished a request last at the end. */
  readonly #open = new Map<Socket, Connection>()
  #timer: NodeJS.Timeout | undefined

  /** `giveUp`: called to reject a connection with a long incomplete head, if all heads together exceed the limit. */
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
    // Yield before each request, even a short one. Otherwise a client that sends 20,000 at once would occupy the thread.
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
