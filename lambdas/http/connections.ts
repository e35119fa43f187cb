/**
 * The connections there are, in files and memory that have an end: where there are too many the one that asked nothing for longest is
 * closed for the new one, and where heads that are not whole are too many bytes, the longest is given up. What comes on one connection is
 * answered one after the other, as on many: a client that does not wait for its answers has no more of the server than others.
 */
import type { IncomingMessage } from 'node:http'
import { yieldNow } from '../interactions/time-slices.ts'

type Socket = IncomingMessage['socket']

/** `most`: connections; `heads`: bytes of URLs and headers that are not whole; `tick`: milliseconds between two looks at them. */
export type ConnectionLimits = { readonly most: number; readonly heads: number; readonly tick: number }

/** `latest`: the request that came last, while it is under way; `waiting`: requests behind others; `from`: bytes that were read of what is done. */
type Connection = { latest: Promise<void> | undefined; waiting: number; from: number }

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #giveUp: (socket: Socket) => void
  /** Those that asked last are last. */
  readonly #open = new Map<Socket, Connection>()
  #timer: NodeJS.Timeout | undefined

  /** `giveUp`: tells a client that its head is not waited for. */
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

  /** Works on a request when those before it are answered; on none whose client is gone by then. `work` never fails. */
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
    // Until then no more is read than has come.
    socket.pause()
    connection.waiting++
    await before
    // However short it is: a client that sends 20,000 requests at once has no more of the thread than others.
    await yieldNow()
    if (--connection.waiting === 0) socket.resume()
    if (!socket.destroyed) await work()
  }

  #rests(socket: Socket, connection: Connection): void {
    connection.latest = undefined
    connection.from = socket.bytesRead
    if (this.#open.delete(socket)) this.#open.set(socket, connection)
  }

  /** An answer on its way is not cut off as long as there is another. */
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
