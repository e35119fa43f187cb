/**
 * Answers on their way to clients, in memory that is bounded for all of them together: a client that asks and does not read costs only
 * itself. Where there are too many bytes, the answer that has kept most of them for longest is cut off.
 */
import type { ServerResponse } from 'node:http'

type Sending = { readonly outgoing: ServerResponse; readonly size: number; readonly since: number }

export class Answers {
  readonly #most: number
  readonly #sending = new Set<Sending>()
  #held = 0

  /** `most`: bytes of all answers that clients have not taken yet. */
  constructor(most: number) {
    this.#most = most
  }

  /** Ends the answer, piece by piece as its client takes them. Its bytes count until the machine has taken the last, or the client is gone. */
  end(outgoing: ServerResponse, pieces: readonly Uint8Array[]): void {
    const size = lengthOf(pieces)
    if (size > 0 && !outgoing.closed) this.#hold(outgoing, size)
    if (pieces.length > 1) void send(outgoing, pieces)
    else outgoing.end(pieces[0])
    while (this.#held > this.#most && this.#cutOff());
  }

  #hold(outgoing: ServerResponse, size: number): void {
    const sending = { outgoing, size, since: performance.now() }
    this.#sending.add(sending)
    this.#held += size
    outgoing.once('close', () => this.#letGo(sending))
  }

  #letGo(sending: Sending): void {
    if (this.#sending.delete(sending)) this.#held -= sending.size
  }

  /** False: there is one answer, however large. */
  #cutOff(): boolean {
    if (this.#sending.size < 2) return false
    const now = performance.now()
    const weightOf = ({ size, since }: Sending): number => size * (now - since)
    const heaviest = [...this.#sending].reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a))
    this.#letGo(heaviest)
    heaviest.outgoing.destroy()
    return true
  }
}

export const lengthOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

async function send(outgoing: ServerResponse, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    if (outgoing.destroyed) return
    if (!outgoing.write(piece)) await taken(outgoing)
  }
  outgoing.end()
}

/** There is room for more, or nobody there to take it. */
const taken = (outgoing: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done).off('close', done)
      resolve()
    }
    outgoing.on('drain', done).on('close', done)
  })
